"""Collective ops over devices of one session and over sessions of several servers; AllReduceOptimizer."""

import functools
import socket

import numpy as np
import pytest

import millrace as tf
from millrace.python.distribute import all_reduce as graphs
from millrace.python.ops import collective_ops
from on_threads import together


def devices(count):
    return [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(count)]


@pytest.fixture
def running_servers(monkeypatch):
    """running_servers(n): the servers of a cluster of n workers, in this process."""
    running = []

    def start(count):
        # Bound beforehand and handed over, as a launcher does, so that every address is known.
        sockets = [socket.socket() for _ in range(count)]
        for bound in sockets:
            bound.bind(("localhost", 0))
        spec = {"worker": ["localhost:%d" % bound.getsockname()[1] for bound in sockets]}
        for index, bound in enumerate(sockets):
            monkeypatch.setenv("MILLRACE_LISTEN_FD", str(bound.detach()))
            monkeypatch.setenv("MILLRACE_LISTEN_ADDRESS", spec["worker"][index])
            running.append(tf.train.Server(spec, "worker", index))
        return running

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def run_on(running_servers):
    """run_on(n, fetches): their values in a session over n workers."""

    def run(count, fetches):
        with tf.Session(running_servers(count)[0].target) as session:
            return session.run(fetches)

    return run


def on_each(count, make):
    """What make(rank) gives on each device."""
    made = []
    for rank, name in enumerate(devices(count)):
        with tf.device(name):
            made.append(make(rank))
    return made


@pytest.mark.parametrize(
    ("merge_op", "final_op", "expected"),
    [("Add", "Id", [6, 9]), ("Add", "Div", [2, 3]), ("Mul", "Id", [6, 24])]
    + [("Max", "Id", [3, 4]), ("Min", "Id", [1, 2])],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.int32, tf.int64])
def test_all_reduce_merges_what_all_devices_have(merge_op, final_op, expected, dtype, run_on):
    given = on_each(
        3,
        lambda rank: collective_ops.all_reduce(
            tf.constant([rank + 1, rank + 2], dtype), 3, 1, 1, merge_op, final_op
        ),
    )
    for value in run_on(3, given):
        assert value.tolist() == expected


def test_all_gather_is_in_order_of_devices(run_on):
    given = on_each(
        3, lambda rank: collective_ops.all_gather(tf.constant([[rank, 10 * rank]]), 3, 1, 1)
    )
    for value in run_on(3, given):
        assert value.tolist() == [[0, 0], [1, 10], [2, 20]]


def test_broadcast_brings_one_tensor_to_all(run_on):
    def make(rank):
        if rank == 1:
            return collective_ops.broadcast_send(tf.constant([1.5, 2.5]), [2], tf.float32, 3, 1, 1)
        return collective_ops.broadcast_recv([2], tf.float32, 3, 1, 1)

    for value in run_on(3, on_each(3, make)):
        assert value.tolist() == [1.5, 2.5]


def test_what_makes_no_sense_is_refused_when_it_is_built():
    with pytest.raises(
        ValueError, match="`group_size` to all_reduce must be at least 1. Received: 0"
    ):
        collective_ops.all_reduce(tf.constant(1.0), 0, 1, 1)
    with pytest.raises(ValueError, match="`group_size` to broadcast_send must be at least 2"):
        collective_ops.broadcast_send(tf.constant(1.0), [], tf.float32, 1, 1, 1)
    with pytest.raises(ValueError, match="not equal to delivered shape"):
        collective_ops.broadcast_send(tf.constant([1.0]), [2], tf.float32, 2, 1, 1)
    with pytest.raises(ValueError, match="not equal to delivered type"):
        collective_ops.broadcast_send(tf.constant([1.0]), [1], tf.int32, 2, 1, 1)


def test_a_group_of_one_needs_nobody():
    alone = collective_ops.all_reduce(tf.constant([4.0]), 1, 1, 1, final_op="Div")
    with tf.Session() as session:
        assert session.run(alone).tolist() == [4.0]


def test_the_second_versions_take_scatter_and_exchange(run_on):
    gen = tf.raw_ops

    def make(rank):
        x = tf.constant([rank + 1, 10 * (rank + 1)])
        keys = {"group_size": 2, "group_key": 1}
        return (
            gen.CollectiveReduceV2(
                input=x, instance_key=1, merge_op="Add", final_op="Id", ordering_token=[], **keys
            ),
            gen.CollectiveReduceScatterV2(
                input=x, instance_key=2, merge_op="Add", final_op="Id", ordering_token=[], **keys
            ),
            gen.CollectiveAllToAllV2(input=x, instance_key=3, ordering_token=[], **keys),
        )

    first, second = run_on(2, on_each(2, make))
    assert [value.tolist() for value in first] == [[3, 30], [3], [1, 2]]
    assert [value.tolist() for value in second] == [[3, 30], [30], [10, 20]]


BUILDERS = {
    "ring": lambda x: graphs.build_ring_all_reduce(x, 1, 2, [0, 1, 2, 3], tf.add),
    "ring over two": lambda x: graphs.build_ring_all_reduce(x, 2, 1, [1, 0], tf.add),
    "halving": lambda x: graphs.build_recursive_hd_all_reduce(x, tf.add),
    "shuffle": lambda x: graphs.build_shuffle_all_reduce(x, devices(2), tf.add_n),
    "nccl": lambda x: graphs.build_nccl_all_reduce(x, tf.add),
    "nccl, shuffle": lambda x: graphs.build_nccl_then_shuffle(x, devices(2), tf.add, tf.add_n),
    "two shuffles": lambda x: graphs.build_shuffle_then_shuffle(
        x, devices(2), devices(1), tf.add_n
    ),
}


@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS.keys())
@pytest.mark.parametrize("shape", [[1], [7], [3, 5]])
def test_graphs_of_sums_reduce_over_devices(builder, shape, run_on):
    values = [
        np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * (i + 1) for i in range(4)
    ]
    given = builder(on_each(4, lambda rank: tf.constant(values[rank])))
    assert [tensor.device for tensor in given] == devices(4)
    for value in run_on(4, given):
        np.testing.assert_array_equal(value, sum(values))


def test_a_unary_op_is_applied_once_to_the_sum(run_on):
    def halved(x):
        return x * 0.5

    builders = (
        lambda x: graphs.build_ring_all_reduce(x, 1, 1, [0, 1], tf.add, halved),
        lambda x: graphs.build_recursive_hd_all_reduce(x, tf.add, halved),
        lambda x: graphs.build_shuffle_all_reduce(x, devices(2), tf.add_n, halved),
    )
    given = [
        build(on_each(2, lambda rank: tf.constant([1.0, 2.0, 3.0]) * (rank + 1.0)))
        for build in builders
    ]
    for values in run_on(2, given):
        for value in values:
            np.testing.assert_array_equal(value, [1.5, 3.0, 4.5])


# ---- AllReduceOptimizer ------------------------------------------------------------------------------


def inputs(samples, seed=3):
    random = np.random.RandomState(seed)
    x = random.randn(samples, 4).astype(np.float32)
    return x, (x @ np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32)).astype(np.float32)


def model(optimizer):
    """(x, y, what trains, the variables): a small network, from the same weights each time."""
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
    hidden = tf.layers.dense(x, 5, tf.tanh, kernel_initializer=tf.random_normal_initializer(seed=1))
    out = tf.layers.dense(hidden, 1, kernel_initializer=tf.random_normal_initializer(seed=2))
    loss = tf.reduce_mean(tf.square(out - y))
    step = tf.train.get_or_create_global_step()
    return x, y, optimizer.minimize(loss, global_step=step), tf.trainable_variables()


def trained_alone(batches):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, train, variables = model(tf.train.MomentumOptimizer(0.1, 0.9))
        session.run(tf.global_variables_initializer())
        for batch_x, batch_y in batches:
            session.run(train, {x: batch_x, y: batch_y})
        return session.run(variables)


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_equal_one_process_with_a_batch_as_large_as_all_of_theirs(
    replicas, running_servers
):
    steps = 10
    x_all, y_all = inputs(steps * replicas * 8)
    x_all, y_all = (v.reshape(steps, replicas, 8, -1) for v in (x_all, y_all))
    expected = trained_alone(
        [(x_all[i].reshape(-1, 4), y_all[i].reshape(-1, 1)) for i in range(steps)]
    )
    results = [None] * replicas
    made = running_servers(replicas)

    def train_one(rank):
        with tf.Graph().as_default():
            optimizer = tf.train.AllReduceOptimizer(
                tf.train.MomentumOptimizer(0.1, 0.9), replicas, timeout=50
            )
            x, y, train, variables = model(optimizer)
            hook = optimizer.make_session_run_hook(rank == 0)
            # Only the chief's values count.
            scramble = [v.assign(v * 0 + rank) for v in variables] if rank else tf.no_op()
            hook.begin()
            with tf.Session(made[rank].target) as session:
                session.run(tf.global_variables_initializer())
                session.run(scramble)
                hook.after_create_session(session, None)
                for i in range(steps):
                    session.run(train, {x: x_all[i, rank], y: y_all[i, rank]})
                results[rank] = session.run(variables)

    together([functools.partial(train_one, rank) for rank in range(replicas)])
    for result in results:
        for value, other, right in zip(result, results[0], expected):
            np.testing.assert_array_equal(value, other)
            np.testing.assert_allclose(value, right, rtol=1e-4, atol=1e-6)


def test_gradients_go_in_few_buckets_of_one_type():
    optimizer = tf.train.AllReduceOptimizer(
        tf.train.GradientDescentOptimizer(1.0), 1, bucket_bytes=40
    )
    variables = [tf.Variable(tf.zeros([4])) for _ in range(5)]
    variables.append(tf.Variable(tf.zeros([2], tf.float64)))
    gradients = [tf.ones([4])] * 4 + [None, tf.ones([2], tf.float64)]
    means = optimizer.means(gradients, variables)
    assert means[4] is None
    ops = [op for op in tf.get_default_graph().get_operations() if op.type == "CollectiveReduce"]
    assert [op.outputs[0].shape.as_list() for op in ops] == [[2], [8], [8]]
    with tf.Session() as session:
        assert session.run(means[0]).tolist() == [1] * 4


def test_sparse_gradients_are_reduced_whole():
    table = tf.Variable(tf.zeros([3, 2]))
    optimizer = tf.train.AllReduceOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    train = optimizer.minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, [2, 0, 2])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(table).tolist() == [[-1, -1], [0, 0], [-2, -2]]


def test_an_optimizer_of_no_replicas_is_refused():
    with pytest.raises(ValueError, match="num_replicas must be positive, but is 0"):
        tf.train.AllReduceOptimizer(tf.train.GradientDescentOptimizer(1.0), 0)
