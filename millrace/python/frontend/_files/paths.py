"""What os, os.path and glob do, for remote paths too: "s3://bucket/key", "hdfs://host/path"."""

import contextlib
import glob
import os
import re
import shutil

from millrace import _millrace
from millrace._files import refusals, remote

_SCHEME = re.compile(r"[A-Za-z0-9+.-]+://")


def is_remote(path):
    """Whether a path has a scheme: then Python's own functions know nothing of it."""
    return isinstance(path, str) and _SCHEME.match(path) is not None


def _named(path):
    """A path as Python has it; one of bytes that has a scheme, as a session gives names, as text."""
    path = os.fspath(path)
    if isinstance(path, bytes) and is_remote(text := os.fsdecode(path)):
        return text
    return path


def open_file(path, mode="r", encoding=None, newline=None):
    """As Python's `open`. OSError."""
    path = _named(path)
    if is_remote(path):
        return remote.opened(path, mode, encoding, newline)
    return open(path, mode, encoding=encoding, newline=newline)


def facts(path):
    """(bytes, whether it is a folder, nanoseconds since 1970). OSError."""
    path = _named(path)
    if not is_remote(path):
        found = os.stat(path)
        return found.st_size, os.path.isdir(path), found.st_mtime_ns
    with refusals.as_both():
        size, is_folder, micros = _millrace.files.facts(path)
    return size, is_folder, micros * 1000


def _remote_facts(path):
    """None if nothing is there; what a store says else is raised: that it can't be asked is no answer."""
    try:
        return facts(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def exists(path):
    path = _named(path)
    return _remote_facts(path) is not None if is_remote(path) else os.path.exists(path)


def isdir(path):
    path = _named(path)
    if not is_remote(path):
        return os.path.isdir(path)
    found = _remote_facts(path)
    return found is not None and found[1]


def isfile(path):
    path = _named(path)
    if not is_remote(path):
        return os.path.isfile(path)
    found = _remote_facts(path)
    return found is not None and not found[1]


def isabs(path):
    """Whether it names a place wherever one is."""
    return is_remote(path) or os.path.isabs(path)


def join(folder, name):
    """The path of a name in a folder; of an absolute path that itself."""
    return name if is_remote(name) else os.path.join(folder, name)


def relpath(path, folder):
    """A path from a folder on; of one that is not below a remote folder itself."""
    if not is_remote(path) and not is_remote(folder):
        return os.path.relpath(path, folder)
    inside = folder.rstrip("/") + "/"
    return path[len(inside) :] if path.startswith(inside) else path


def listdir(path):
    path = _named(path)
    if not is_remote(path):
        return os.listdir(path)
    with refusals.as_both():
        return _millrace.files.list(path)


def mkdir(path):
    """Makes a folder in one that exists; remote ones come with those around them."""
    path = _named(path)
    (makedirs if is_remote(path) else os.mkdir)(path)


def makedirs(path):
    """Makes a folder and those around it; nothing if it is there."""
    path = _named(path)
    if not is_remote(path):
        os.makedirs(path, exist_ok=True)
        return
    with refusals.as_both():
        _millrace.files.make_directories(path)


def remove(path):
    path = _named(path)
    if not is_remote(path):
        os.remove(path)
        return
    with refusals.as_both():
        _millrace.files.remove(path)


def remove_tree(path):
    """A folder with all that is in it."""
    path = _named(path)
    if not is_remote(path):
        shutil.rmtree(path)
        return
    for folder, _, names in walk(path, topdown=False):
        for name in names:
            remove(join(folder, name))
        try:
            with refusals.as_both():
                _millrace.files.remove_directory(folder)
        except FileNotFoundError:
            pass  # where a folder is only what is in it


def replace(old, new):
    """Renames a file over another."""
    old, new = _named(old), _named(new)
    if not is_remote(old) and not is_remote(new):
        os.replace(old, new)
        return
    with refusals.as_both():
        _millrace.files.rename(old, new)


def copy(old, new):
    """Copies the bytes of a file."""
    old, new = _named(old), _named(new)
    if not is_remote(old) and not is_remote(new):
        shutil.copyfile(old, new)
        return
    with open_file(old, "rb") as source, open_file(new, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


def matching(pattern):
    """The paths that match a pattern, sorted."""
    pattern = _named(pattern)
    if not is_remote(pattern):
        return sorted(glob.glob(pattern))
    with refusals.as_both():
        return _millrace.files.matching(pattern)


def literal(path):
    """A pattern that means this path alone."""
    path = _named(path)
    return re.sub(r"([*?\[\\])", r"\\\1", path) if is_remote(path) else glob.escape(path)


def walk(top, topdown=True):
    """(folder, names of folders in it, names of files in it) of a folder and all below it, as os.walk."""
    top = _named(top)
    if not is_remote(top):
        yield from os.walk(top, topdown=topdown)
    elif isdir(top):
        yield from _remote_walk(top, topdown)


def _remote_walk(top, topdown):
    folders, names = [], []
    try:
        for name in sorted(listdir(top)):
            (folders if isdir(join(top, name)) else names).append(name)
    except FileNotFoundError:
        return  # removed meanwhile
    if topdown:
        yield top, folders, names
    for folder in folders:
        yield from _remote_walk(join(top, folder), topdown)
    if not topdown:
        yield top, folders, names


def write_whole(path, data):
    """Replaces a file by bytes, so that nobody ever sees a part of them."""
    path = _named(path)
    if path.startswith("s3://"):  # an object is whole or not there
        with open_file(path, "wb") as file:
            file.write(data)
        return
    unfinished = f"{path}.tmp{os.urandom(8).hex()}"
    try:
        with open_file(unfinished, "wb") as file:
            file.write(data)
            file.flush()
            if not is_remote(path):
                os.fsync(file.fileno())
        replace(unfinished, path)
    except OSError:
        with contextlib.suppress(OSError):
            remove(unfinished)
        raise
