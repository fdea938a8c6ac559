"""The real TensorBoard serves what we write: each kind of summary, the graph and the traces of steps."""

import importlib.util
import json
import re
import struct
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import pytest

from programs import printed
from tasks import DEADLINE

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None,
    reason="no TensorBoard: remove build/tensorflow and run tools/tensorflow, which brings it",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("board")


@pytest.fixture(scope="module")
def losses(folder):
    return [float(line) for line in printed("board_program.py", "millrace", folder).split()]


class Board:
    def __init__(self, address):
        self._address = address

    def bytes_of(self, path, **query):
        text = urllib.parse.urlencode(query)
        with urllib.request.urlopen(
            f"{self._address}data/{path}?{text}", timeout=DEADLINE
        ) as answer:
            return answer.read()

    def of(self, path, **query):
        return json.loads(self.bytes_of(path, **query))


@pytest.fixture(scope="module")
def board(folder, losses):
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port=0"]
    # Reading in its own process, not by a helper: it has read all there is before it serves.
    command += ["--host=localhost", "--load_fast=false", "--reload_interval=0"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        said, impatience = [], threading.Timer(DEADLINE, process.kill)
        impatience.start()
        try:
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"at (http://localhost:\d+/)", line):
                    break
            else:
                pytest.fail("TensorBoard did not begin to serve:\n" + "".join(said)[-3000:])
            impatience.cancel()
            yield Board(found[1])
        finally:
            impatience.cancel()
            process.kill()


def tags(board, plugin):
    """The tags of the only run that there is."""
    ((run, found),) = board.of(f"plugin/{plugin}/tags").items()
    assert run == "."
    return set(found)


def test_scalars_are_the_values_that_the_program_had(board, losses):
    assert tags(board, "scalars") == {"loss"}
    series = board.of("plugin/scalars/scalars", run=".", tag="loss")
    assert [step for _, step, _ in series] == [0, 1, 2]
    assert [value for _, _, value in series] == pytest.approx(losses)
    assert losses[0] == pytest.approx(14.0)


def test_histograms_have_their_buckets(board):
    assert tags(board, "histograms") == {"errors"}
    series = board.of("plugin/histograms/histograms", run=".", tag="errors")
    assert [step for _, step, _ in series] == [0, 1, 2]
    _, _, buckets = series[0]
    assert sum(count for _, _, count in buckets) == pytest.approx(4)


def test_pictures_sounds_and_texts_are_shown(board):
    (picture,) = tags(board, "images")
    assert picture == "picture/image/0"
    shown = board.of("plugin/images/images", run=".", tag=picture, sample=0)
    query = dict(urllib.parse.parse_qsl(shown[0]["query"]))
    png = board.bytes_of("plugin/images/individualImage", **query)
    assert png.startswith(b"\x89PNG") and struct.unpack(">II", png[16:24]) == (4, 4)
    (tone,) = tags(board, "audio")
    sounds = board.of("plugin/audio/audio", run=".", tag=tone, sample=0)
    assert sounds[0]["contentType"] == "audio/wav"
    query = dict(urllib.parse.parse_qsl(sounds[0]["query"]))
    assert board.bytes_of("plugin/audio/individualAudio", **query).startswith(b"RIFF")
    (note,) = tags(board, "text")
    texts = board.of("plugin/text/text", run=".", tag=note)
    assert texts[0]["text"] == "<p>a <em>line</em></p>"


def test_the_graph_is_there_and_what_each_step_took(board):
    ((run, info),) = board.of("plugin/graphs/info").items()
    assert run == "." and info["run_graph"]
    graph = board.bytes_of("plugin/graphs/graph", run=".").decode()
    assert 'name: "fit/loss"' in graph and 'op: "VariableV2"' in graph
    assert {name for name in info["tags"]} == {"step 0", "step 1", "step 2"}
    traced = board.bytes_of("plugin/graphs/run_metadata", run=".", tag="step 2").decode()
    assert 'node_name: "fit/loss"' in traced and "all_end_rel_micros" in traced
