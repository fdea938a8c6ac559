"""tf.train.Server with a witness: a second server takes over what the first one has acknowledged."""

import re
import time

import millrace as tf
import pytest

from started_tasks import free_ports

WITNESS = "/job:chief/task:0"
PS = "/job:ps/task:0"


def run_until_answered(graph, target, fetch):
    end = time.monotonic() + 60
    while True:
        try:
            with tf.Session(target, graph=graph) as session:
                return session.run(fetch)
        except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError):
            assert time.monotonic() < end, "nobody serves"
            time.sleep(0.05)


def test_a_server_that_stands_by_has_what_the_first_one_acknowledged(tmp_path, capfd):
    chief, first, second = (f"127.0.0.1:{port}" for port in free_ports(3))
    cluster = {"chief": [chief], "ps": [first]}

    def serve(job, folder, **more):
        return tf.train.Server(cluster, job, 0, state=tmp_path / folder, witness=WITNESS, **more)

    witness = serve("chief", "chief")
    owner = serve("ps", "first")
    standby = tf.train.Server(
        cluster, state=tmp_path / "second", witness=WITNESS, stands_by_for=PS, at=second
    )
    assert standby.target == f"grpc://{second}"
    with tf.Graph().as_default() as graph, tf.device(PS):
        total = tf.Variable(40, name="total")
        add = tf.assign_add(total, 2)
    run_until_answered(graph, witness.target, total.initializer)
    assert run_until_answered(graph, witness.target, add) == 42
    told = ""
    end = time.monotonic() + 60
    while not re.search(r"owns since \d+, \d+ stands by", told):
        assert time.monotonic() < end, f"they were never a pair:\n{told}"
        time.sleep(0.05)
        told += capfd.readouterr().err
    owner.stop()
    assert run_until_answered(graph, witness.target, total) == 42
    for server in (standby, witness):
        server.stop()


def test_what_is_said_wrongly_of_a_standby_is_refused_with_the_word(tmp_path):
    (port,) = free_ports(1)
    cluster = {"ps": [f"127.0.0.1:{port}"]}
    with pytest.raises(ValueError, match="say for whom in `stands_by_for`"):
        tf.train.Server(cluster, at="127.0.0.1:1")
    with pytest.raises(TypeError, match="`witness` is to be text, got 3"):
        tf.train.Server(cluster, witness=3)
    with pytest.raises(ValueError, match="'ps' names no task"):
        tf.train.Server(cluster, stands_by_for="ps", at="127.0.0.1:1")
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs a witness"):
        tf.train.Server(cluster, state=tmp_path, stands_by_for=PS, at="127.0.0.1:1")
    with pytest.raises(tf.errors.InvalidArgumentError, match="the witness needs a folder"):
        tf.train.Server(cluster, witness=PS)
