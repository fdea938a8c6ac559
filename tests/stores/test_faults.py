"""A store that is slow, breaks or lies ends what is asked of it with an error, in time, and in little memory."""

import pytest

from faulty_store import CONTENT, FaultyStore
from store_programs import run

READING = """
import time
began = time.monotonic()
code_of(lambda: print(len(tf.gfile.GFile("s3://bucket/object", "rb").read())))
print("in time" if time.monotonic() - began < 60 else "late")
"""
LISTING = """
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
code_of(lambda: tf.gfile.Glob("s3://bucket/d/*"))
print("small" if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000 else "large")
"""


@pytest.fixture
def store():
    made = FaultyStore()
    yield made
    made.stop()


def said_by(program, store, **variables):
    usual = {
        "AWS_ENDPOINT_URL": store.address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "never-shown",
        "MILLRACE_REMOTE_SILENCE_MS": "1000",
        "MILLRACE_REMOTE_TRIES": "3",
    }
    return run(program, **{**usual, **variables}).splitlines()


@pytest.mark.parametrize("fault", ["busy", "reset", "cut", "silent", "nonsense"])
def test_what_fails_for_now_is_asked_again(store, fault):
    store.faults = ["right", fault, fault]
    assert said_by(READING, store) == [str(len(CONTENT)), "OK", "in time"]
    assert [line.split()[0] for line in store.requests] == ["HEAD", "GET", "GET", "GET"]


@pytest.mark.parametrize("fault", ["busy", "reset", "cut", "silent", "nonsense"])
def test_what_goes_on_failing_is_unavailable_and_says_of_what(store, fault):
    store.faults, store.usual = ["right"], fault
    [error, time] = said_by(READING, store)
    place = f"s3://bucket/object; GET {store.address}/bucket/object: "
    assert error.startswith(f"UnavailableError | {place}"), error
    assert error.endswith("after 3 tries"), error
    assert "never-shown" not in error
    assert time == "in time"
    # libcurl asks once more itself, by a new connection, where one that was used before is reset.
    assert len(store.requests) in (4, 5)


@pytest.mark.parametrize("fault", ["short", "long"])
def test_a_body_that_is_of_another_length_than_was_asked_for_is_data_loss(store, fault):
    store.faults, store.usual = ["right"], fault
    assert said_by(READING, store)[0].startswith("DataLossError | s3://bucket/object; ")


def test_a_refusal_comes_once(store):
    store.usual = "denied"
    assert said_by(READING, store)[0].startswith("PermissionDeniedError | s3://bucket/object; ")
    assert len(store.requests) == 1


def test_nobody_is_followed_round_and_round(store):
    store.usual = "round"
    assert said_by(READING, store)[0].startswith("InvalidArgumentError | s3://bucket/object; ")
    assert len(store.requests) == 1


@pytest.mark.parametrize("fault", ["endless", "headers", "listed"])
def test_an_answer_without_an_end_is_left_before_it_fills_memory(store, fault):
    store.faults, store.usual = ["absent"], fault  # there is no object "d", and what is below it?
    [error, memory] = said_by(LISTING, store)
    assert error.startswith("DataLossError | ") and "s3://bucket/d/" in error, error
    assert memory == "small"
    assert store.sent < 100 << 20


def test_a_write_that_the_store_refuses_is_told_when_the_file_is_closed(store):
    store.usual = "denied"
    program = """
    file = tf.gfile.GFile("s3://bucket/object", "wb")
    file.write(b"x")
    code_of(file.close)
    """
    assert said_by(program, store)[0].startswith("PermissionDeniedError | s3://bucket/object; PUT ")


def test_a_checkpoint_that_can_not_be_asked_for_is_not_taken_for_none(store):
    store.usual = "busy"
    program = """
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        code_of(lambda: tf.train.Saver().save(session, "s3://bucket/d/model"))
    """
    # A kernel that says UNAVAILABLE would speak of its task.
    [error, *_] = said_by(program, store)
    assert error.startswith("InternalError | ") and "503 SlowDown: Later., after 3 tries" in error


def test_a_program_that_is_ended_does_not_wait_for_a_silent_store(store):
    store.usual = "silent"
    program = """
    import os, signal, threading, time
    with tf.Session() as session:
        read = tf.read_file("s3://bucket/object")
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            session.run(read)
        except KeyboardInterrupt:
            print("interrupted")
    print("in time" if time.monotonic() - began < 60 else "late")
    """
    # Longer than a test may take: nothing but the interrupt ends the wait, and then the process.
    lines = said_by(program, store, MILLRACE_REMOTE_SILENCE_MS="600000")
    assert lines == ["interrupted", "in time"]


def test_settings_that_are_wrong_are_told_by_whoever_looks_for_files(store):
    program = """
    code_of(lambda: print(tf.gfile.Glob("s3://bucket/d/*")))
    code_of(lambda: print(list(tf.gfile.Walk("s3://bucket/d"))))
    with tf.Session() as session:
        code_of(lambda: print(session.run(tf.matching_files("s3://bucket/d/*"))))
    """
    said = "\n".join(said_by(program, store, AWS_PROFILE="nobody"))
    assert said.count("FailedPreconditionError | ") == 3, said
    assert said.count("no profile 'nobody'") == 3, said
