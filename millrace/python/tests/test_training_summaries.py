"""What training tells in files of events: by hooks, by a Supervisor, by queues of input."""

import pytest

import millrace as tf
from millrace._summaries.file_writer import summary_iterator


@pytest.fixture
def step():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def events_in(folder):
    """The events of all files in a folder, in the order of the files' names."""
    return [
        event
        for file in sorted(folder.glob("events.out.*"))
        for event in summary_iterator(str(file))
    ]


def values_of(events, tag):
    """[(step, number)] of a tag."""
    return [
        (event.step, value.simple_value)
        for event in events
        for value in event.summary.value
        if value.tag == tag
    ]


def test_a_training_session_writes_what_it_does(step, tmp_path):
    tf.summary.scalar("double", 2 * step)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_summaries_steps=1,
        save_checkpoint_steps=100,
        save_checkpoint_secs=None,
        log_step_count_steps=2,
        hooks=[tf.train.StopAtStepHook(last_step=5)],
    ) as session:
        while not session.should_stop():
            session.run(step)
    events = events_in(tmp_path)
    # Which steps are told depends on when hooks read the global step; each has its own number.
    told = values_of(events, "double")
    assert told and all(number == 2 * at for at, number in told)
    assert values_of(events, "global_step/sec")
    (graph,) = [event.graph_def for event in events if event.graph_def]
    assert tf.GraphDef.FromString(graph) == tf.get_default_graph().as_graph_def()
    assert any(event.meta_graph_def for event in events)
    logs = [event.session_log for event in events if event.HasField("session_log")]
    assert [log.status for log in logs].count(tf.summary.SessionLog.CHECKPOINT) == 2
    assert tf.summary.SessionLog.START in [log.status for log in logs]


def test_a_supervisor_writes_what_it_does(tmp_path):
    tf.train.get_or_create_global_step()
    tf.summary.scalar("seven", tf.constant(7.0))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), saver=None, save_summaries_secs=3600)
    with supervisor.managed_session() as session:
        supervisor.summary_computed(session, session.run(supervisor.summary_op), global_step=3)
    events = events_in(tmp_path)
    assert (3, 7.0) in values_of(events, "seven")
    statuses = [event.session_log.status for event in events if event.HasField("session_log")]
    assert statuses[0] == tf.summary.SessionLog.START
    assert statuses[-1] == tf.summary.SessionLog.STOP


def test_queues_tell_how_full_they_are(session):
    queue = tf.train.range_input_producer(5, name="numbers")
    tf.train.shuffle_batch([queue.dequeue()], 2, capacity=10, min_after_dequeue=2)
    found = tf.summary.Summary.FromString(session.run(tf.summary.merge_all()))
    assert {value.tag: value.simple_value for value in found.value} == {
        "numbers/fraction_of_32_full": 0.0,
        "shuffle_batch/fraction_over_2_of_8_full": 0.0,
    }
