"""Which checkpoints a folder has: the file `checkpoint`, a CheckpointState in protocol text.

    model_checkpoint_path: "model.ckpt-200"
    all_model_checkpoint_paths: "model.ckpt-100"
    all_model_checkpoint_paths: "model.ckpt-200"

Paths are absolute, or relative to the folder. The file is replaced as a whole: who reads it meanwhile, or
after a crash, finds the old or the new one.
"""

import concurrent.futures
import logging
import os
import re

from millrace._files import paths
from millrace._values import message_text
from millrace._values.messages import Message, double, many

_log = logging.getLogger("millrace")
# As many as there are shards that were written side by side.
_MOST_REMOVERS = 4


class CheckpointState(Message):
    """The newest checkpoint, and all that are kept, oldest first."""

    _fields = {
        "model_checkpoint_path": (1, str),
        "all_model_checkpoint_paths": (2, many(str)),
        "all_model_checkpoint_timestamps": (3, many(double)),
        "last_preserved_timestamp": (4, double),
    }


# ---- As text -------------------------------------------------------------------------------------

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_FIELD = re.compile(
    r"""\s*(?:\#[^\n]*\n\s*)*(\w+)\s*:\s*("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[-+.\w]+)\s*[;,]?"""
)
_NOTHING = re.compile(r"\s*(?:#[^\n]*\n?\s*)*")


def _unquoted(text):
    def plain(match):
        octal, hexadecimal, char = match.groups()
        if octal or hexadecimal:
            return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 255])
        return _ESCAPES.get(char.decode(), char.decode()).encode()

    return _ESCAPE.sub(plain, text[1:-1].encode()).decode()


def from_text(text):
    """The CheckpointState of protocol text. ValueError if it is none."""
    state = CheckpointState()
    at = 0
    while True:
        match = _FIELD.match(text, at)
        if match is None:
            break
        name, value = match.groups()
        kinds = {"model_checkpoint_path": "one path", "all_model_checkpoint_paths": "paths"}
        numbers = {"last_preserved_timestamp": "one", "all_model_checkpoint_timestamps": "many"}
        if name in kinds and value[0] in "\"'":
            path = _unquoted(value)
            if kinds[name] == "paths":
                state.all_model_checkpoint_paths.append(path)
            else:
                state.model_checkpoint_path = path
        elif name in numbers and value[0] not in "\"'":
            if numbers[name] == "many":
                state.all_model_checkpoint_timestamps.append(float(value))
            else:
                state.last_preserved_timestamp = float(value)
        else:
            raise ValueError(f"'{name}: {value}' is no field of a CheckpointState")
        at = match.end()
    if _NOTHING.match(text, at).end() != len(text):
        raise ValueError(f"line {text.count(chr(10), 0, at) + 1} is no field: {text[at:at + 40]!r}")
    return state


# ---- The file ------------------------------------------------------------------------------------


def _state_file(folder, latest_filename):
    return paths.join(folder, latest_filename or "checkpoint")


def generate_checkpoint_state_proto(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):
    """A CheckpointState whose paths are relative to `save_dir` if that is relative.

    Raises:
      ValueError: if there are times, and not one for each path.
    """
    kept = list(all_model_checkpoint_paths or [])
    if not kept or kept[-1] != model_checkpoint_path:
        kept.append(model_checkpoint_path)
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(kept):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{kept} and timestamps {times})"
        )
    if not paths.isabs(save_dir):
        kept, [model_checkpoint_path] = (
            [path if paths.isabs(path) else paths.relpath(path, save_dir) for path in group]
            for group in (kept, [model_checkpoint_path])
        )
    state = CheckpointState(
        model_checkpoint_path=model_checkpoint_path,
        all_model_checkpoint_paths=kept,
        all_model_checkpoint_timestamps=times,
    )
    if last_preserved_timestamp is not None:
        state.last_preserved_timestamp = last_preserved_timestamp
    return state


def update_checkpoint_state(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    latest_filename=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
    save_relative_paths=False,
):
    """Writes which checkpoints a folder has.

    Args:
      save_dir: the folder.
      model_checkpoint_path: the newest checkpoint.
      all_model_checkpoint_paths: all that are kept, oldest first.
      latest_filename: the name of the file; "checkpoint" if None.
      all_model_checkpoint_timestamps: seconds since the epoch, one per path.
      last_preserved_timestamp: when one was last kept for good.
      save_relative_paths: True for paths relative to `save_dir`, so that the folder may be moved.

    Raises:
      RuntimeError: if the file would replace the checkpoint itself.
    """
    if save_relative_paths:
        folder = save_dir or "."
        model_checkpoint_path, *all_model_checkpoint_paths = (
            paths.relpath(path, folder) if paths.isabs(path) else path
            for path in [model_checkpoint_path, *(all_model_checkpoint_paths or [])]
        )
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    file = _state_file(save_dir, latest_filename)
    if file == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  "
            "Please use a different save path."
        )
    paths.write_whole(file, message_text.to_text(state).encode())


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """Which checkpoints a folder has, by full paths; None if there is no such file, or it can't be read.

    Raises:
      ValueError: if the file names no newest checkpoint.
    """
    checkpoint_dir = os.fspath(checkpoint_dir)
    file = _state_file(checkpoint_dir, latest_filename)
    try:
        with paths.open_file(file, encoding="utf-8") as opened:
            state = from_text(opened.read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        _log.warning("%s: Checkpoint ignored: %s", file, error)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    # What is absolute stays as it is.
    state.model_checkpoint_path = paths.join(checkpoint_dir, state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [
        paths.join(checkpoint_dir, path) for path in state.all_model_checkpoint_paths
    ]
    return state


# ---- The checkpoints -----------------------------------------------------------------------------


def _first_file(prefix):
    """The file that a checkpoint begins with: of the second format, or of the first; None if none."""
    for pattern in (prefix + ".index", prefix):
        found = [pattern] if paths.isfile(pattern) else paths.matching(pattern)
        found = [path for path in found if paths.isfile(path)]
        if found:
            return found[0]
    return None


def checkpoint_exists(checkpoint_prefix):
    """True if there is a checkpoint of either format under this prefix."""
    return _first_file(os.fspath(checkpoint_prefix)) is not None


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of the newest checkpoint of a folder; None if it has none, or its files are gone."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    _log.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def get_checkpoint_mtimes(checkpoint_prefixes):
    """When checkpoints were written, in seconds since the epoch; those that are gone are left out."""
    files = (_first_file(prefix) for prefix in checkpoint_prefixes)
    return [paths.facts(file)[2] / 1e9 for file in files if file is not None]


def meta_graph_filename(checkpoint_filename, meta_graph_suffix="meta"):
    """Where the MetaGraph of a checkpoint is."""
    return re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename) + "." + meta_graph_suffix


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    """Removes the files of a checkpoint; those that are gone already are no error."""
    # The index goes first: what is left without it is no checkpoint, and nobody takes it for one.
    first = [checkpoint_prefix + ".index"]
    if checkpoint_format_version != 2:
        first = paths.matching(checkpoint_prefix)  # a sharded one goes by a pattern
    for path in first:
        _remove_if_there(path)
    _remove_side_by_side(paths.matching(paths.literal(checkpoint_prefix) + ".data-?????-of-?????"))
    _remove_if_there(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))


def _remove_side_by_side(files):
    """A large checkpoint has several, and to let go of its pages takes a disk a quarter of a second for each GB."""
    if len(files) < 2:
        for path in files:
            _remove_if_there(path)
        return
    with concurrent.futures.ThreadPoolExecutor(min(len(files), _MOST_REMOVERS)) as threads:
        removals = [threads.submit(_remove_if_there, path) for path in files]
    for removal in removals:
        removal.result()  # raises what it has raised


def _remove_if_there(path):
    try:
        paths.remove(path)
    except FileNotFoundError:
        pass
