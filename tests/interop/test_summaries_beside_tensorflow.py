"""Summaries have the bytes that TensorFlow's have, and its reader reads our files of events."""

import json

import pytest

from beside import quiet
from programs import printed


def results_of(*arguments):
    return json.loads(printed("summary_programs.py", *arguments))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def both(folder):
    return results_of("tensorflow"), results_of("millrace", folder)


def test_summaries_have_the_same_bytes(both):
    theirs, ours = both
    assert theirs.keys() == ours.keys() and len(theirs) > 40
    assert [name for name in theirs if theirs[name] != ours[name]] == []


def test_its_reader_reads_our_files(both, folder):
    quiet()
    import tensorflow.compat.v1 as tf

    (path,) = folder.glob("events.out.tfevents.*")
    events = list(tf.train.summary_iterator(str(path)))
    assert events[0].file_version == "brain.Event:2"
    graph = tf.GraphDef.FromString(events[1].graph_def)
    assert {"h-float32", "Merge/MergeSummary"} <= {node.name for node in graph.node}
    _, ours = both
    read = [event.summary.SerializeToString().hex() for event in events[2:]]
    assert [event.step for event in events[2:]] == list(range(len(ours)))
    # Metadata is written once per tag; no tag is there twice, but for those that were merged.
    assert read == list(ours.values())
