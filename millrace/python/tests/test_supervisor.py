import logging
import os
import threading

import pytest

import millrace as tf
from millrace._supervised import basic_loop, events, session_manager


@pytest.fixture
def step():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


@pytest.fixture
def pauses(monkeypatch):
    """The pauses of whatever waits, which take no time here."""
    taken = []
    monkeypatch.setattr(basic_loop.time, "sleep", taken.append)
    return taken


class Saver:
    """A Saver that sets one variable, and notes what it is asked."""

    saver_def = None

    def __init__(self, variable=None, value=None):
        self._set = variable.assign(value) if variable is not None else None
        self.restored, self.recovered, self.saved = [], [], []
        self.was_saved = threading.Event()

    def restore(self, session, path):
        self.restored.append(path)
        session.run(self._set)

    def recover_last_checkpoints(self, paths):
        self.recovered.append(list(paths))

    def save(self, session, path, global_step=None):
        self.saved.append(path)
        self.was_saved.set()


def with_checkpoint(folder, name="model.ckpt-7"):
    """The path of a checkpoint that the folder's state file names."""
    path = os.path.join(folder, name)
    tf.train.update_checkpoint_state(str(folder), path)
    return path


# ---- SessionManager ------------------------------------------------------------------------------


def test_without_a_checkpoint_the_model_is_initialized(tmp_path):
    variable = tf.Variable(1.0)
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    with manager.prepare_session(
        "", init_op=variable.initializer, saver=Saver(), checkpoint_dir=str(tmp_path)
    ) as session:
        assert session.run(variable) == 1.0


def test_with_a_checkpoint_it_is_restored(tmp_path):
    variable = tf.Variable(1.0)
    path = with_checkpoint(tmp_path)
    saver = Saver(variable, 7.0)
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    with manager.prepare_session(
        "", init_op=variable.initializer, saver=saver, checkpoint_dir=str(tmp_path)
    ) as session:
        assert session.run(variable) == 7.0
    assert saver.restored == [path] and saver.recovered == [[path]]
    with manager.prepare_session(
        "", variable.initializer, saver, checkpoint_filename_with_path="another"
    ) as session:
        assert saver.restored[-1] == "another"
    with pytest.raises(ValueError, match="both checkpoint_dir and checkpoint_filename_with_path"):
        manager.prepare_session("", None, saver, str(tmp_path), "another")


def test_the_first_checkpoint_may_be_waited_for(tmp_path, monkeypatch):
    variable = tf.Variable(1.0)
    manager = tf.train.SessionManager(recovery_wait_secs=5)
    waited = []

    def appear(seconds):
        waited.append(seconds)
        if len(waited) == 8:
            with_checkpoint(tmp_path)

    monkeypatch.setattr(session_manager.time, "sleep", appear)
    session, restored = manager.recover_session(
        "", Saver(variable, 7.0), str(tmp_path), wait_for_checkpoint=True
    )
    assert restored and session.run(variable) == 7.0
    assert waited == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5])


def test_recovering_tells_whether_it_could(tmp_path, caplog):
    caplog.set_level(logging.INFO, "millrace")
    first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second")
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    saver = Saver(first, 7.0)
    assert manager.recover_session("", saver, str(tmp_path))[1] is False
    with_checkpoint(tmp_path)
    assert manager.recover_session("", saver, str(tmp_path))[1] is False
    assert "did not make model ready: Variables not initialized: second" in caplog.text
    assert second.op.name == "second"


def test_a_model_that_nothing_makes_ready_is_an_error():
    tf.Variable(1.0, name="a")
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager.prepare_session("")
    with pytest.raises(
        RuntimeError, match="did not make model ready.  .*Variables not initialized: a"
    ):
        manager.prepare_session("", init_op=tf.no_op())
    local = tf.train.SessionManager(
        local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables()
    )
    with pytest.raises(RuntimeError, match="ready for local_init.  .*not initialized: a"):
        local.prepare_session("", init_op=tf.no_op())
    with pytest.raises(ValueError, match="must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=tf.no_op())


def test_ready_may_also_be_an_operation_that_fails(session):
    variable = tf.Variable(1.0, name="a")
    manager = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
    with pytest.raises(tf.errors.DeadlineExceededError, match="uninitialized"):
        manager.wait_for_session("", max_wait_secs=0)
    assert manager.prepare_session("", init_op=variable.initializer).run(variable) == 1.0


def test_who_waits_for_long_is_told_what_is_missing(monkeypatch, caplog):
    monkeypatch.setattr(session_manager, "_LONG_WAIT", 0.0)
    tf.get_variable("lonely", [2])
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    with pytest.raises(tf.errors.DeadlineExceededError):
        manager.wait_for_session("", max_wait_secs=0.3)
    warnings = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(warnings) == 1 and "lonely" in warnings[0].getMessage()


# ---- Supervisor ----------------------------------------------------------------------------------


def test_a_supervisor_prepares_a_session_and_ends_it(step):
    tf.Variable(3.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="mine")
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        assert [session.run(step) for _ in range(3)] == [1, 2, 3]
        assert session.run("mine:0") == 3.0
        supervisor.request_stop()
        assert supervisor.should_stop()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(step)
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)


def test_what_it_uses_joins_the_collections(step):
    supervisor = tf.train.Supervisor()
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [supervisor.init_op]
    assert tf.get_collection(tf.GraphKeys.READY_OP) == [supervisor.ready_op]
    assert supervisor.global_step is tf.train.get_global_step()
    with tf.Graph().as_default():
        given = tf.no_op()
        tf.add_to_collection(tf.GraphKeys.INIT_OP, given)
        supervisor = tf.train.Supervisor(local_init_op=None, ready_op=None, saver=None)
        assert supervisor.init_op is given
        assert (supervisor.ready_op, supervisor.saver, supervisor.global_step) == (None, None, None)


def test_an_error_in_the_block_is_raised_at_its_end(step):
    supervisor = tf.train.Supervisor()
    with pytest.raises(ZeroDivisionError):
        with supervisor.managed_session() as session:
            session.run(step)
            raise ZeroDivisionError
    with supervisor.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "the input has ended")


def test_the_error_of_a_thread_is_raised_too(step):
    supervisor = tf.train.Supervisor()

    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        with supervisor.managed_session():
            supervisor.loop(None, fail)
            supervisor.wait_for_stop()


def test_a_function_is_called_again_and_again(step):
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        enough = threading.Event()

        def count(by):
            if session.run(step) * by >= 10:
                enough.set()

        supervisor.loop(0, count, args=(2,))
        assert enough.wait(60)


def test_its_session_fills_queues(step):
    queue = tf.train.range_input_producer(4, shuffle=False)
    element = queue.dequeue()
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        assert [session.run(element) for _ in range(6)] == [0, 1, 2, 3, 0, 1]


def test_the_chief_restores_and_saves(step, tmp_path):
    variable = tf.Variable(1.0)
    path = with_checkpoint(tmp_path)
    saver = Saver(variable, 7.0)
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path),
        saver=saver,
        save_model_secs=3600,
        init_fn=lambda session: 1 / 0,
        init_op=tf.global_variables_initializer(),
        local_init_op=tf.train.get_global_step().initializer,  # what is written of a step is its number
        ready_op=None,
    )
    with supervisor.managed_session() as session:
        assert session.run(variable) == 7.0
        assert saver.was_saved.wait(60)
    assert saver.restored == [path]
    assert saver.saved == [str(tmp_path / "model.ckpt")] == [supervisor.save_path]
    assert (tmp_path / "graph.pbtxt").exists()


def test_only_a_chief_has_services(step, caplog):
    supervisor = tf.train.Supervisor(saver=None)
    with supervisor.managed_session(start_standard_services=False) as session:
        assert supervisor.start_standard_services(session) is None
        assert "need a 'logdir'" in caplog.text
        with pytest.raises(RuntimeError, match="requires a summary writer"):
            supervisor.summary_computed(session, b"")
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            tf.Variable(1.0)
        worker = tf.train.Supervisor(is_chief=False, logdir="unused")
        assert worker.save_path is None
        with pytest.raises(RuntimeError, match="Only chief supervisor"):
            worker.start_standard_services(None)


def test_variables_of_replicas_have_a_device(step):
    with pytest.raises(ValueError, match="must have their device set.*global_step"):
        tf.train.Supervisor(is_chief=False)


class Writer:
    def __init__(self):
        self.written, self.was_written = [], threading.Event()

    def reopen(self):
        self.written.append("reopen")

    def add_graph(self, graph):
        self.written.append("graph")

    def add_meta_graph(self, meta_graph_def):
        assert meta_graph_def.graph().node
        self.written.append("meta graph")

    def add_session_log(self, log, step=None):
        self.written.append((log, step))

    def add_summary(self, summary, step):
        self.written.append((summary, step))
        self.was_written.set()

    def close(self):
        self.written.append("close")


def test_a_supervisor_writes_summaries(step, tmp_path, monkeypatch):
    monkeypatch.setattr(events, "session_log", lambda status, path=None: status)
    monkeypatch.setattr(events, "scalar_value", lambda tag, value: tag)
    writer = Writer()
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path), saver=None, summary_writer=writer, summary_op=tf.constant("s")
    )
    with supervisor.managed_session() as session:
        assert writer.was_written.wait(60)
        supervisor.summary_computed(session, b"mine")
    assert writer.written[:4] == ["reopen", "graph", "meta graph", ("START", 0)]
    assert (b"s", 0) in writer.written and (b"mine", 0) in writer.written
    assert writer.written[-2:] == [("STOP", None), "close"]


def test_a_worker_waits_for_the_chief(step):
    server = tf.train.Server.create_local_server()
    graph = tf.Graph()
    with graph.as_default(), tf.device("/job:local/task:0"):
        counter = tf.train.get_or_create_global_step()
        worker = tf.train.Supervisor(is_chief=False, recovery_wait_secs=0.01)
        with pytest.raises(tf.errors.DeadlineExceededError):
            worker.prepare_or_wait_for_session(server.target, max_wait_secs=0)
    with tf.Graph().as_default(), tf.device("/job:local/task:0"):
        tf.assign_add(tf.train.get_or_create_global_step(), 41, name="add")
        chief = tf.train.Supervisor(saver=None)
        with chief.managed_session(server.target) as session:
            session.run("add")
            with worker.managed_session(server.target) as mine:
                assert mine.run(counter) == 41
    server.stop()


# ---- basic_train_loop ----------------------------------------------------------------------------


def test_steps_are_made_until_somebody_asks_for_the_end(step):
    supervisor = tf.train.Supervisor(saver=None)
    seen = []

    def train(session, limit, more=0):
        seen.append(int(session.run(step)))
        if seen[-1] == limit + more:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train, args=(2,), kwargs={"more": 1})
    assert seen == [1, 2, 3]


def test_after_a_loss_they_go_on_in_another_session(step, pauses):
    supervisor = tf.train.Supervisor(saver=None)
    seen = []

    def train(session):
        seen.append(int(session.run(step)))
        if len(seen) in (2, 3):
            raise tf.errors.AbortedError(None, None, "a task restarted")
        if len(seen) == 5:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train)
    assert seen == [1, 2, 1, 1, 2]
    assert pauses == [0.0, 0.5]
