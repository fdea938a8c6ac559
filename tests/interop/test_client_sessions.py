"""The life of TensorFlow's sessions on a Millrace server: devices, sharing, reset, closing."""

import re

import pytest
import tensorflow as tf

from threads import Background, in_threads

tf1 = tf.compat.v1
errors = tf.errors


def counter(shared_name="", container="", use_resource=False):
    """A fresh graph with a counter: (graph, the variable, its step by one)."""
    with tf.Graph().as_default() as graph, tf1.container(container):
        v = tf1.get_variable(
            shared_name or "counter",
            initializer=0,
            dtype=tf.int32,
            use_resource=use_resource,
        )
        return graph, v, v.assign_add(1)


def blocked_step(graph):
    """A step that says in queue `started` that it runs, then waits on an empty queue for ever."""
    started = tf1.FIFOQueue(1, [tf.int32], shapes=[()], shared_name="started")
    never = tf1.FIFOQueue(1, [tf.int32], shapes=[()], shared_name="never")
    runs = started.dequeue()
    with tf.control_dependencies([started.enqueue(1)]):
        return never.dequeue(name="blocked"), runs


def test_list_devices_before_and_after_the_first_step(target, graph):
    x = tf.constant(5) + 1
    with tf1.Session(target) as session:
        before = session.list_devices()
        assert session.run(x) == 6
        after = session.list_devices()
    assert [d.name for d in before] == ["/job:worker/replica:0/task:0/device:CPU:0"]
    assert [d.device_type for d in before] == ["CPU"]
    assert all(d.memory_limit_bytes > 0 and d.incarnation != 0 for d in before)
    assert [(d.name, d.incarnation) for d in before] == [(d.name, d.incarnation) for d in after]


def test_list_devices_names_every_task_once(cluster, graph):
    three = cluster(ps=1, worker=2)
    tf.constant(0)
    with tf1.Session(three.target("worker:1")) as session:
        devices = session.list_devices()
    assert sorted(d.name for d in devices if d.device_type == "CPU") == [
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:1/device:CPU:0",
    ]
    assert len({d.incarnation for d in devices}) == len(devices)


def test_a_restarted_server_has_another_incarnation(cluster, graph):
    one = cluster(worker=1)

    def incarnations():
        with tf1.Session(one.target("worker")) as session:
            return {d.incarnation for d in session.list_devices()}

    before = incarnations()
    one.tasks["worker:0"].kill()
    one.start("worker:0")
    assert not before & incarnations()


@pytest.mark.parametrize("use_resource", [False, True])
def test_sessions_share_variables_by_name(target, use_resource):
    first, v, step = counter(use_resource=use_resource)
    second, w, other_step = counter(use_resource=use_resource)
    with tf1.Session(target, graph=first) as a, tf1.Session(target, graph=second) as b:
        a.run(v.initializer)
        a.run(step)
        b.run(other_step)
        assert (a.run(v), b.run(w)) == (2, 2)


def test_variables_outlive_the_session_that_made_them(target):
    graph, v, step = counter()
    with tf1.Session(target, graph=graph) as session:
        session.run(v.initializer)
        session.run(step)
    with tf1.Session(target, graph=graph) as session:
        assert session.run(step) == 2


def test_containers_keep_variables_of_one_name_apart(target):
    made = [counter(container=name) for name in ["", "red", "blue"]]
    for number, (graph, v, step) in enumerate(made):
        with tf1.Session(target, graph=graph) as session:
            session.run(v.initializer)
            for _ in range(number):
                session.run(step)
    for number, (graph, v, _) in enumerate(made):
        with tf1.Session(target, graph=graph) as session:
            assert session.run(v) == number


def test_reset_of_a_container_drops_what_is_in_it_and_nothing_else(target):
    made = {name: counter(container=name) for name in ["", "red", "blue"]}
    for graph, v, _ in made.values():
        with tf1.Session(target, graph=graph) as session:
            session.run(v.initializer)
    tf1.Session.reset(target, ["red"])
    for name, (graph, v, _) in made.items():
        with tf1.Session(target, graph=graph) as session:
            assert session.run(tf1.is_variable_initialized(v)) == (name != "red")


def test_reset_without_names_drops_the_default_container(target):
    made = {name: counter(container=name) for name in ["", "red"]}
    for graph, v, _ in made.values():
        with tf1.Session(target, graph=graph) as session:
            session.run(v.initializer)
    tf1.Session.reset(target)
    for name, (graph, v, _) in made.items():
        with tf1.Session(target, graph=graph) as session:
            assert session.run(tf1.is_variable_initialized(v)) == (name == "red")


def test_the_default_container_bears_the_name_of_the_job(cluster):
    one = cluster(trainer=1)
    graph, v, _ = counter()
    with tf1.Session(one.target("trainer"), graph=graph) as session:
        session.run(v.initializer)
    tf1.Session.reset(one.target("trainer"), ["localhost"])
    with tf1.Session(one.target("trainer"), graph=graph) as session:
        assert session.run(tf1.is_variable_initialized(v))
    tf1.Session.reset(one.target("trainer"), ["trainer"])
    with tf1.Session(one.target("trainer"), graph=graph) as session:
        assert not session.run(tf1.is_variable_initialized(v))


def test_reset_reaches_every_task(cluster, graph):
    both = cluster(ps=1, worker=1)
    with tf1.container("red"):
        variables = []
        for job in ["ps", "worker"]:
            with tf.device(f"/job:{job}/task:0"):
                variables.append(tf1.Variable(1, use_resource=False))
    known = [tf1.is_variable_initialized(v) for v in variables]
    with tf1.Session(both.target("worker")) as session:
        session.run(tf1.global_variables_initializer())
        assert session.run(known) == [True, True]
    tf1.Session.reset(both.target("worker"), ["red"])
    with tf1.Session(both.target("worker")) as session:
        assert session.run(known) == [False, False]


def test_reset_ends_the_sessions_that_were_there(target, connect):
    graph, v, step = counter()
    session = connect(target, graph=graph)
    session.run(v.initializer)
    tf1.Session.reset(target, ["nothing in it"])
    with pytest.raises(errors.AbortedError, match="Session .* is not found"):
        session.run(step)


def test_reset_ends_a_blocked_step(target, graph, connect):
    blocked, started = blocked_step(graph)
    session, other = connect(target), connect(target)
    running = Background(session.run, blocked)
    assert other.run(started) == 1
    tf1.Session.reset(target, ["nothing in it"])
    assert isinstance(running.error(), (errors.CancelledError, errors.AbortedError))


def test_closing_a_session_ends_its_blocked_step(target, graph, connect):
    blocked, started = blocked_step(graph)
    session, other = connect(target), connect(target)
    running = Background(session.run, blocked)
    assert other.run(started) == 1
    Background(session.close).result()
    assert isinstance(running.error(), errors.CancelledError)
    other.close()


def test_closing_a_session_ends_steps_blocked_on_other_tasks(cluster, graph, connect):
    both = cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        blocked, started = blocked_step(graph)
    session, other = connect(both.target("worker")), connect(both.target("worker"))
    running = Background(session.run, blocked)
    assert other.run(started) == 1
    Background(session.close).result()
    assert isinstance(running.error(), errors.CancelledError)
    with tf1.Session(both.target("ps")) as third:
        assert third.run(tf.constant("alive")) == b"alive"


def test_closing_one_session_leaves_the_steps_of_others(target, graph, connect):
    blocked, started = blocked_step(graph)
    never = tf1.FIFOQueue(1, [tf.int32], shapes=[()], shared_name="never")
    wake = never.enqueue(42)
    session, other = connect(target), connect(target)
    running = Background(session.run, blocked)
    assert other.run(started) == 1
    other.close()
    with tf1.Session(target) as third:
        third.run(wake)
    assert running.result() == 42
    session.close()


def test_a_closed_session_refuses_to_run(target, graph, connect):
    x = tf.constant(1)
    session = connect(target)
    session.run(x)
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)
    session.close()


def test_a_session_that_never_ran_closes(target, graph, connect):
    connect(target).close()


def test_a_session_of_a_restarted_server_is_aborted_and_a_new_one_works(cluster, graph, connect):
    one = cluster(worker=1)
    x = tf.constant(3)
    session = connect(one.target("worker"))
    assert session.run(x) == 3
    one.tasks["worker:0"].kill()
    one.start("worker:0")
    with pytest.raises((errors.AbortedError, errors.UnavailableError)):
        session.run(x)
    with tf1.Session(one.target("worker")) as again:
        assert again.run(x) == 3


def test_many_sessions_come_and_go_at_once(target):
    def work(number):
        with tf.Graph().as_default():
            x = tf.constant(number) * 2
            values = []
            for _ in range(10):
                with tf1.Session(target) as session:
                    values.append(session.run(x))
            return values

    for number, got in enumerate(in_threads(work, range(6))):
        assert got == [number * 2] * 10


def test_a_session_waits_for_a_task_that_is_not_up_yet(cluster, graph, connect):
    both = cluster(ps=1, worker=1)
    both.tasks["ps:0"].kill()
    with tf.device("/job:ps/task:0"):
        x = tf.constant(1) + 1
    session = connect(both.target("worker"))
    running = Background(session.run, x)
    both.start("ps:0")
    assert running.result() == 2
    session.close()


def test_session_handles_of_one_server_differ(target, graph, connect):
    """What tells sessions apart is in the error of one that the server has forgotten."""
    sessions = [connect(target) for _ in range(2)]
    x = tf.constant(1)
    for session in sessions:
        session.run(x)
    tf1.Session.reset(target, ["nothing in it"])
    handles = set()
    for session in sessions:
        with pytest.raises(errors.AbortedError) as raised:
            session.run(x)
        handles.add(re.search(r"Session (\S+) is not found", raised.value.message)[1])
    assert len(handles) == 2
