import pytest

import millrace as tf
from millrace._supervised import monitored_session
from millrace._supervised.patience import Patience


@pytest.fixture
def pauses(monkeypatch):
    """The pauses between tries, which take no time here."""
    taken = []
    monkeypatch.setattr(monitored_session.time, "sleep", taken.append)
    return taken


@pytest.fixture
def step():
    """An Operation's Tensor that counts the global step up."""
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def aborted():
    return tf.errors.AbortedError(None, None, "a task restarted")


class Counting(tf.train.SessionRunHook):
    """Counts how often it is called at the start, and with a new session."""

    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("create")


class Failing(tf.train.SessionRunHook):
    """Raises errors after the steps of these numbers, counted from 0."""

    def __init__(self, errors):
        self.errors = errors
        self.steps = 0

    def after_run(self, run_context, run_values):
        self.steps += 1
        error = self.errors.get(self.steps - 1)
        if error is not None:
            raise error


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_session_is_made_anew(step, pauses, caplog, kind):
    hook = Failing({2: kind(None, None, "worker:1 is gone")})
    recorder = Counting()
    with tf.train.MonitoredSession(hooks=[recorder, hook]) as session:
        # In this process a new session has new variables: the step counts from the start.
        assert [session.run(step) for _ in range(4)] == [1, 2, 1, 2]
    assert recorder.calls.count("create") == 2 and recorder.calls.count("begin") == 1
    assert pauses == [0.0]
    assert f"the session was lost: {kind.__name__}: worker:1 is gone" in caplog.text
    assert "the model did not outlast the session" in caplog.text


def test_pauses_grow_until_a_step_goes_well(step, pauses):
    hook = Failing({number: aborted() for number in (0, 1, 2, 3, 5)})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(step)
        assert pauses == [0.0, 0.5, 1.0, 2.0]
        session.run(step)
        assert pauses[4:] == [0.0]


def test_losses_without_end_are_told_to_the_program(step, pauses):
    creator = tf.train.ChiefSessionCreator()
    creator.max_wait_secs = 0
    with pytest.raises(tf.errors.AbortedError, match="a task restarted"):
        with tf.train.MonitoredSession(creator, hooks=[Failing({1: aborted()})]) as session:
            session.run(step)
            session.run(step)


def test_patience_has_an_end():
    now = [0.0]
    patience = Patience(limit_secs=100, clock=lambda: now[0])
    waited = []
    while (pause := patience.failed()) is not None:
        waited.append(pause)
        now[0] += pause
    assert waited == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    patience.succeeded()
    assert patience.failed() == 0


def test_a_session_that_can_not_be_made_is_tried_again(step, pauses):
    class Creator(tf.train.SessionCreator):
        def __init__(self):
            self.left = 3

        def create_session(self):
            self.left -= 1
            if self.left:
                raise tf.errors.UnavailableError(None, None, "no master yet")
            return tf.train.ChiefSessionCreator().create_session()

    with tf.train.MonitoredSession(Creator()) as session:
        assert session.run(step) == 1
    assert pauses == [0.0, 0.5]


def test_a_thread_that_finds_the_session_lost_brings_a_new_one(step, pauses):
    class Thread(tf.train.SessionRunHook):
        created = 0

        def after_create_session(self, session, coord):
            self.created += 1
            if self.created == 1:
                coord.request_stop(aborted())

    hook = Thread()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert not session.should_stop()
        assert hook.created == 2
        assert session.run(step) == 1


def test_a_consequence_does_not_hide_that_the_session_was_lost(step, pauses):
    class Consequence(tf.train.SessionRunHook):
        created = 0

        def after_create_session(self, session, coord):
            self.created += 1
            self.coord, self.session = coord, session

        def before_run(self, run_context):
            if self.created == 1:
                run_context.session.close()
                # As a thread does that fails while the step runs.
                self.coord._error = aborted()

    hook = Consequence()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(step) == 1
    assert hook.created == 2


def test_other_errors_are_the_programs(step, pauses):
    error = tf.errors.InvalidArgumentError(None, None, "bad")
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        with tf.train.MonitoredSession(hooks=[Failing({0: error})]) as session:
            session.run(step)
    assert pauses == []


def test_a_singular_session_is_not_made_anew(step, pauses):
    session = tf.train.SingularMonitoredSession(hooks=[Failing({1: aborted()})])
    assert session.raw_session().run(step) == 1
    assert session.run(step) == 2
    with pytest.raises(tf.errors.AbortedError):
        session.run(step)
    session.close()
    assert session.raw_session() is None and pauses == []


def test_a_step_function_is_called_again_after_a_loss(step, pauses):
    sessions = []

    def once(step_context):
        sessions.append(step_context.session)
        return step_context.run_with_hooks(step)

    with tf.train.MonitoredSession(hooks=[Failing({0: aborted()})]) as session:
        assert session.run_step_fn(once) == 1
    assert len(set(sessions)) == 2


def test_a_model_that_outlasts_its_chiefs_session_loses_no_step(step, pauses, caplog):
    server = tf.train.Server.create_local_server()
    with tf.train.MonitoredTrainingSession(
        server.target, hooks=[Failing({2: aborted()})]
    ) as session:
        assert [session.run(step) for _ in range(2)] == [1, 2]
        assert session.run(step) == 4  # the third one counted, though its end was lost
    assert "training goes on with them" in caplog.text
    # A new chief knows nothing of it: that the values are lost is told.
    caplog.clear()
    with tf.train.MonitoredTrainingSession(server.target) as session:
        assert session.run(step) == 1
    assert "has values already, and there is no checkpoint to restore" in caplog.text
    server.stop()


def test_a_queue_outlasts_the_session_that_filled_it(pauses):
    """Its threads go on in the next session, where a queue that was closed would end the input."""
    server = tf.train.Server.create_local_server()
    tf.train.get_or_create_global_step()
    element = tf.train.range_input_producer(5, shuffle=False).dequeue()
    with tf.train.MonitoredTrainingSession(
        server.target, hooks=[Failing({3: aborted()})]
    ) as session:
        seen = [session.run(element) for _ in range(12)]
    assert len(seen) == 12 and set(seen) == set(range(5))
    server.stop()
