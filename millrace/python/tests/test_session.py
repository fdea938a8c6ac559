import collections
import threading

import numpy as np
import pytest

import millrace as tf


def test_fetching_a_constant(session):
    assert session.run(tf.constant(2.5)) == 2.5


def test_values_come_as_numpy_has_them(session):
    assert isinstance(session.run(tf.constant(1)), np.int32)
    assert session.run(tf.constant("a")) == b"a"
    assert session.run(tf.constant(["a", "b"])).tolist() == [b"a", b"b"]
    value = session.run(tf.constant([[1.0, 2.0]]))
    assert value.dtype == np.float32 and value.shape == (1, 2)


def test_fetched_arrays_belong_to_the_program(session):
    for size in (3, 5000, 200_000):
        c = tf.constant(np.zeros(size, np.float32))
        first = session.run(c)
        first += 1
        assert session.run(c).max() == 0


Pair = collections.namedtuple("Pair", ["a", "b"])


def test_fetches_keep_their_structure(session):
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    op = tf.group(a, b)
    assert session.run([a, b]) == [1, 2]
    assert session.run((a, b)) == (1, 2)
    assert session.run({"x": a, "y": [b, a]}) == {"x": 1, "y": [2, 1]}
    assert session.run(Pair(a, (b,))) == Pair(1, (2,))
    assert session.run(op) is None
    assert session.run([op, a]) == [None, 1]
    assert session.run(["a:0", "b"]) == [1, None]
    assert session.run([]) == []
    assert session.run([a, a]) == [1, 1]
    ordered = collections.OrderedDict([("z", a), ("b", b)])
    assert list(session.run(ordered).items()) == [("z", 1), ("b", 2)]


def test_a_mutated_list_of_fetches_is_seen_as_it_is(session):
    a, b = tf.constant(1), tf.constant(2)
    fetches = [a]
    assert session.run(fetches) == [1]
    fetches.append(b)
    assert session.run(fetches) == [1, 2]


@pytest.mark.parametrize(
    "fetch, error", [(None, TypeError), (3, TypeError), ("nothing:0", ValueError)]
)
def test_fetches_that_make_no_sense_say_so(session, fetch, error):
    tf.constant(1)
    with pytest.raises(error, match="Fetch argument"):
        session.run(fetch)


def test_a_fetch_of_another_graph_is_refused(session):
    tf.constant(1)
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
        session.run(other)


# ---- Sessions ------------------------------------------------------------------------------------


def test_the_graph_may_grow_between_runs(session):
    a = tf.constant(1)
    assert session.run(a) == 1
    b = a + 1
    assert session.run(b) == 2
    v = tf.Variable(5)
    session.run(tf.global_variables_initializer())
    assert session.run(v + b) == 7


def test_a_closed_session_refuses_to_run():
    c = tf.constant(1)
    session = tf.Session()
    session.run(c)
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(c)
    with pytest.raises(RuntimeError, match="closed"):
        session.list_devices()


def test_what_a_first_run_raises_is_not_the_end_of_a_chain(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(ValueError) as caught:
        session.run(x + 1, {x: [1, 2, 3]})
    assert caught.value.__context__ is None
    session.close()
    with pytest.raises(RuntimeError) as caught:
        session.run(x * 2)
    assert caught.value.__context__ is None


def test_an_empty_graph_is_refused(session):
    with pytest.raises(RuntimeError, match="graph is empty"):
        session.run([])


def test_a_with_block_makes_the_session_and_its_graph_the_default():
    with tf.Graph().as_default() as other:
        c = tf.constant(3)
    with tf.Session(graph=other) as session:
        assert tf.get_default_session() is session
        assert tf.get_default_graph() is other
        assert c.eval() == 3
        d = tf.constant(4)
    assert d.graph is other
    assert tf.get_default_session() is None
    with pytest.raises(ValueError, match="No default session"):
        c.eval()


def test_a_default_session_may_stay_open():
    session = tf.Session()
    op = tf.no_op()
    with session.as_default():
        op.run()
    session.run(op)
    session.close()


def test_an_interactive_session_is_the_default_until_closed():
    session = tf.InteractiveSession()
    assert tf.constant(1).eval() == 1
    session.close()
    assert tf.get_default_session() is None


def test_the_default_session_must_run_the_same_graph(session):
    with tf.Graph().as_default():
        c = tf.constant(1)
    with pytest.raises(ValueError, match="another graph"):
        c.eval()


def test_devices_are_listed(session):
    (device,) = session.list_devices()
    assert device.name == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert device.device_type == "CPU" and device.incarnation != 0


def test_targets_of_another_form_are_refused():
    with pytest.raises(ValueError, match="grpc://"):
        tf.Session("localhost:2222")
    with pytest.raises(TypeError):
        tf.Session(7)
    with pytest.raises(TypeError):
        tf.Session(config={"allow_soft_placement": True})
    with pytest.raises(TypeError):
        tf.Session(graph=3)


def test_a_session_is_used_by_many_threads(session):
    x = tf.placeholder(tf.int32)
    y = x * 2
    results = {}

    def work(number):
        results[number] = [session.run(y, {x: number}) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [2 * number] * 50 for number in range(8)}


def test_closing_a_session_ends_runs_that_wait():
    q = tf.FIFOQueue(1, tf.int32)
    take = q.dequeue()
    session = tf.Session()
    session.run(q.size())
    ended = []

    def wait():
        try:
            session.run(take)
        except (tf.errors.CancelledError, RuntimeError) as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    session.close()
    thread.join(30)
    assert not thread.is_alive() and len(ended) == 1


# ---- Options, callables, partial runs ------------------------------------------------------------


def test_a_timeout_ends_a_run(session):
    q = tf.FIFOQueue(1, tf.int32)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(q.dequeue(), options=tf.RunOptions(timeout_in_ms=20))
    assert session.run(tf.constant(1)) == 1


def test_a_session_may_have_a_timeout_for_all_runs():
    q = tf.FIFOQueue(1, tf.int32)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20)) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(q.dequeue())


def test_a_trace_tells_which_nodes_ran_when(session):
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(x, x, name="product")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(y, {x: np.eye(2)}, options=options, run_metadata=metadata)
    nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    (product,) = [node for node in nodes if node.node_name == "product"]
    assert product.timeline_label == "product = MatMul"
    assert product.all_start_micros > 0 and product.all_end_rel_micros >= 0


def test_options_have_the_fields_of_the_messages_and_no_others():
    with pytest.raises(AttributeError):
        tf.RunOptions(timeout=3)
    config = tf.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    config.device_filters.append("/job:ps")
    other = tf.ConfigProto()
    other.CopyFrom(config)
    assert other == config and other.gpu_options.allow_growth
    assert other.device_filters == ["/job:ps"]
    with pytest.raises(AttributeError):
        config.no_such_field = 1


def test_a_callable_takes_its_feeds_in_order(session):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    divide = session.make_callable(x / y, [x, y])
    assert divide(6, 3) == 2
    both = session.make_callable({"sum": x + y, "x": x}, [y, x])
    assert both(1, 2) == {"sum": 3, "x": 2}
    with pytest.raises(TypeError):
        divide(1)


def test_a_partial_run_feeds_and_fetches_bit_by_bit(session):
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    r1 = a + b
    r2 = r1 * c
    handle = session.partial_run_setup([r1, r2], [a, b, c])
    assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3
    assert session.partial_run(handle, r2, {c: 10}) == 30


def test_resetting_drops_variables():
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v) == 1
    # A local session is a cluster of its own: resetting another one changes nothing.
    tf.Session.reset("")


def test_numbers_too_small_for_the_usual_form_are_zero_in_steps_alone(session):
    x = tf.placeholder(tf.float32)
    small = np.full(100_000, 1.5e-38, np.float32)  # a half of it is a denormal
    assert not session.run(x * 0.5, {x: small}).any()
    assert not session.run(tf.matmul([x], x[:, tf.newaxis] * 0.5) * 1e38, {x: small[:9]}).any()
    assert (small * np.float32(0.5)).all()  # Python's own are as they were


def test_where_nodes_are_placed_is_told_when_asked_for(capfd):
    product = tf.multiply(tf.constant(2.0), 3.0, name="told")
    for asked in (False, True):
        with tf.Session(config=tf.ConfigProto(log_device_placement=asked)) as session:
            session.run(product)
        lines = capfd.readouterr().err.splitlines()
        ends = ["told: (Mul): /job:localhost/replica:0/task:0/device:CPU:0"] if asked else []
        assert [line.partition(" I ")[2] for line in lines if "(Mul)" in line] == ends
