import pytest

import millrace as tf


@pytest.fixture
def step():
    """An Operation's Tensor that counts the global step up."""
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


class Recorder(tf.train.SessionRunHook):
    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        assert isinstance(coord, tf.train.Coordinator)
        self.calls.append("create")

    def before_run(self, run_context):
        self.calls.append("before")

    def after_run(self, run_context, run_values):
        self.calls.append("after")

    def end(self, session):
        session.run(tf.get_default_graph().get_operations()[0])
        self.calls.append("end")


# ---- Hooks ---------------------------------------------------------------------------------------


def test_hooks_are_called_around_steps(step):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(step) == 1
        assert session.run({"a": [step]}) == {"a": [2]}
    assert hook.calls == ["begin", "create", *["before", "after"] * 2, "end"]


def test_an_error_ends_the_session_without_the_hooks_end(step):
    hook = Recorder()
    with pytest.raises(ZeroDivisionError):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(step)
            raise ZeroDivisionError
    assert hook.calls[-1] == "after" and session.should_stop()


@pytest.mark.parametrize("kind", [StopIteration, tf.errors.OutOfRangeError])
def test_the_end_of_the_input_is_no_error(step, kind):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]):
        raise StopIteration if kind is StopIteration else kind(None, None, "no more")
    assert hook.calls == ["begin", "create", "end"]


class Asking(tf.train.SessionRunHook):
    def __init__(self, fetches=None, feed_dict=None, options=None):
        self.asked = tf.train.SessionRunArgs(fetches, feed_dict, options)
        self.values = []

    def before_run(self, run_context):
        self.original = run_context.original_args
        return self.asked

    def after_run(self, run_context, run_values):
        self.values.append(run_values)


def test_hooks_add_fetches_and_feeds(step):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    ten = x * 10
    first, second = Asking({"sum": x + y}, {x: 1.0}), Asking(None, {y: 2.0})
    with tf.train.MonitoredSession(hooks=[first, second]) as session:
        assert session.run(ten) == 10
    assert first.original == (ten, None, None)
    assert first.values[0].results == {"sum": 3.0} and second.values[0].results is None


def test_no_value_is_fed_twice(step):
    x = tf.placeholder(tf.float32)
    with tf.train.MonitoredSession(
        hooks=[Asking(None, {x: 1.0}), Asking(None, {x: 2.0})]
    ) as session:
        with pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"):
            session.run(x)
    with tf.train.MonitoredSession(hooks=[Asking(None, {x: 1.0})]) as session:
        with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
            session.run(x, {x: 3.0})
        assert session.run(step, {}) == 1


def test_a_step_is_traced_if_a_hook_wants_it(step):
    quiet, tracing = Asking(), Asking(options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
    with tf.train.MonitoredSession(hooks=[quiet, tracing]) as session:
        session.run(step, options=tf.RunOptions(timeout_in_ms=70_000))
    told = quiet.values[0]
    assert told.options.trace_level == tf.RunOptions.FULL_TRACE
    assert told.options.timeout_in_ms == 70_000
    assert told.run_metadata.step_stats.dev_stats


def test_no_step_runs_after_a_hook_asked_for_the_end(step):
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=2)]) as session:
        while not session.should_stop():
            last = session.run(step)
        with pytest.raises(RuntimeError, match="Run called even after should_stop"):
            session.run(step)
    assert last == 2


# ---- The graph and the end -----------------------------------------------------------------------


def test_the_graph_is_read_only_until_the_session_is_closed(step):
    session = tf.train.MonitoredSession()
    assert session.graph is tf.get_default_graph()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)
    session.close()
    tf.constant(1)
    assert session.graph is None
    with pytest.raises(RuntimeError, match="already closed"):
        session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(step)


def test_a_graph_that_was_read_only_before_stays_so(step):
    scaffold = tf.train.Scaffold().finalize()
    tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)).close()
    assert tf.get_default_graph().finalized


def test_the_session_is_not_the_default_one(step):
    with tf.train.MonitoredSession():
        assert tf.get_default_session() is None


def test_queues_are_filled_and_their_threads_ended(step):
    queue = tf.train.range_input_producer(3, shuffle=False, num_epochs=1)
    element, seen = queue.dequeue(), []
    with tf.train.MonitoredSession() as session:
        assert tf.train.start_queue_runners(session) == []
        while not session.should_stop():
            seen.append(session.run(element))
    assert seen == [0, 1, 2]


def test_the_error_of_a_thread_ends_the_loop_and_is_raised(step):
    queue = tf.FIFOQueue(10, tf.int32)
    bad = tf.placeholder_with_default(-1, [])
    fill = queue.enqueue(tf.gather(tf.constant([1, 2]), bad))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [fill]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                pass


# ---- Functions of several steps ------------------------------------------------------------------


def test_a_step_function_runs_with_and_without_hooks(step):
    hook = Recorder()

    def twice(step_context):
        step_context.session.run(step)
        return step_context.run_with_hooks(step)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run_step_fn(twice) == 2
        with pytest.raises(ValueError, match="step_context"):
            session.run_step_fn(lambda x: x)
        session.run_step_fn(lambda step_context: step_context.request_stop())
    assert hook.calls.count("before") == 1 and hook.calls[-1] == "end"


# ---- Training sessions ---------------------------------------------------------------------------


def test_a_chief_trains_with_its_hooks(step):
    mine, everybodys = Recorder(), Recorder()
    with tf.train.MonitoredTrainingSession(hooks=[everybodys], chief_only_hooks=[mine]) as session:
        session.run(step)
    assert mine.calls == everybodys.calls


def test_a_worker_waits_until_the_chief_is_ready(step):
    """Both on one server in this process, so that they share the variables."""
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as chief:
        with pytest.raises(tf.errors.DeadlineExceededError, match="global_step"):
            tf.train.MonitoredTrainingSession(server.target, is_chief=False, max_wait_secs=0)
        tf.get_default_graph().unfinalize()
        chief.run(tf.global_variables_initializer())
        mine = Recorder()
        with tf.train.MonitoredTrainingSession(
            server.target, is_chief=False, chief_only_hooks=[mine], max_wait_secs=60
        ) as session:
            assert session.run(step) == 1
        assert mine.calls == []
    server.stop()


# ---- Scaffolds -----------------------------------------------------------------------------------


def test_a_scaffold_makes_what_it_was_not_given(step):
    tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="mine")
    scaffold = tf.train.Scaffold()
    assert scaffold.init_op is None
    scaffold.finalize()
    with tf.Session() as session:
        assert list(session.run(scaffold.ready_op)) == [b"global_step", b"mine"]
        assert list(session.run(scaffold.ready_for_local_init_op)) == [b"global_step"]
        session.run(scaffold.init_op)
        session.run(scaffold.local_init_op)
        assert len(session.run(scaffold.ready_op)) == 0
    for key, made in (
        (tf.GraphKeys.INIT_OP, scaffold.init_op),
        (tf.GraphKeys.READY_OP, scaffold.ready_op),
        (tf.GraphKeys.LOCAL_INIT_OP, scaffold.local_init_op),
    ):
        assert tf.get_collection(key) == [made]
    # Another one finds it there.
    assert tf.train.Scaffold().finalize().ready_op is scaffold.ready_op


def test_a_scaffold_refuses_to_choose(step):
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match="More than one item in the collection"):
        tf.train.Scaffold().finalize()


def test_a_scaffold_copies_another(step):
    seen = []
    first = tf.train.Scaffold(init_op=tf.no_op(), init_fn=lambda *args: seen.append(args))
    second = tf.train.Scaffold(local_init_op=tf.no_op(), copy_from_scaffold=first)
    assert second.init_op is first.init_op and first.local_init_op is None
    second.init_fn("session")
    assert seen == [(second, "session")]
    with pytest.raises(TypeError, match="not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=3)


def test_a_model_is_initialized_from_feeds_and_functions(caplog):
    start = tf.placeholder(tf.float32, [])
    variable, other = tf.Variable(start), tf.placeholder_with_default(0.0, [])
    local = tf.Variable(other, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    scaffold = tf.train.Scaffold(
        init_feed_dict={start: 3.0},
        local_init_feed_dict={other: 4.0},
        init_fn=lambda scaffold, session: seen.append(session.run(variable)),
    )
    seen = []
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as session:
        assert session.run([variable, local]) == [3.0, 4.0]
    assert seen == [3.0]
