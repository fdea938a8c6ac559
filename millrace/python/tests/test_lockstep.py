"""LockstepOptimizer: workers on threads with sessions of their own, as one; what is late is dropped and counted."""

import numpy as np
import pytest

import millrace as tf
from on_threads import together


@pytest.fixture
def server():
    made = tf.train.Server.create_local_server()
    yield made
    made.stop()


class Worker:
    """A graph and a session of one worker; all share the variables of one server."""

    def __init__(self, target, replica, replicas, wanted=None, make=None):
        self.graph = tf.Graph()
        with self.graph.as_default():
            make = make or (lambda: tf.train.MomentumOptimizer(0.1, 0.9))
            self.optimizer = tf.train.LockstepOptimizer(make(), replicas, replica, wanted)
            self.x = tf.placeholder(tf.float32, [None, 3])
            self.y = tf.placeholder(tf.float32, [None, 1])
            self.weights = tf.get_variable("weights", initializer=tf.ones([3, 1]))
            loss = tf.reduce_mean(tf.square(tf.matmul(self.x, self.weights) - self.y))
            self.step = tf.train.get_or_create_global_step()
            self.train = self.optimizer.minimize(loss, global_step=self.step)
            first = tf.global_variables_initializer() if replica == 0 else tf.no_op()
            self.session = tf.Session(target)
            self.session.run(first)
            self.session.run(tf.local_variables_initializer())

    def run(self, x, y):
        self.session.run(self.train, {self.x: x, self.y: y})

    def now(self):
        return self.session.run([self.weights, self.step, self.optimizer.dropped])


def batches(steps, replicas):
    random = np.random.RandomState(5)
    x = random.randn(steps, replicas, 4, 3).astype(np.float32)
    return x, (x @ np.array([[1.0], [-1.0], [2.0]])).astype(np.float32)


def trained_alone(x, y):
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.Variable(tf.ones([3, 1]))
        px, py = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
        loss = tf.reduce_mean(tf.square(tf.matmul(px, weights) - py))
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        session.run(tf.global_variables_initializer())
        for each_x, each_y in zip(x, y):
            session.run(train, {px: each_x.reshape(-1, 3), py: each_y.reshape(-1, 1)})
        return session.run(weights)


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_replicas_equal_one_process_with_a_batch_as_large_as_all_of_theirs(server, replicas):
    steps = 12
    x, y = batches(steps, replicas)
    workers = [Worker(server.target, i, replicas) for i in range(replicas)]

    def train(worker, i):
        for step in range(steps):
            worker.run(x[step, i], y[step, i])

    together([lambda w=w, i=i: train(w, i) for i, w in enumerate(workers)])
    weights, step, dropped = workers[0].now()
    assert (step, dropped) == (steps, 0)
    np.testing.assert_allclose(weights, trained_alone(x, y), rtol=1e-5)


def test_what_comes_too_late_is_dropped_and_counted(server):
    x, y = batches(6, 2)
    quick, slow = (Worker(server.target, i, 2, wanted=1) for i in range(2))
    for step in range(5):
        quick.run(x[step, 0], y[step, 0])
    before, step, dropped = quick.now()
    assert (step, dropped) == (5, 0)
    slow.run(x[5, 1], y[5, 1])  # of step 0
    after, step, dropped = slow.now()
    assert (step, dropped) == (5, 1)
    np.testing.assert_array_equal(before, after)
    slow.run(x[5, 1], y[5, 1])  # of the present step, by now
    assert slow.now()[1:] == [6, 1]


def test_who_waits_for_the_others_and_goes_lets_them_finish_the_step(server):
    x, y = batches(2, 2)
    first, second = (Worker(server.target, i, 2) for i in range(2))
    with first.graph.as_default():
        with pytest.raises(tf.errors.DeadlineExceededError):
            # It has the lock, waits for the other, and is ended: the lock goes with its step.
            first.session.run(
                first.train,
                {first.x: x[0, 0], first.y: y[0, 0]},
                options=tf.RunOptions(timeout_in_ms=2000),
            )
    second.run(x[0, 1], y[0, 1])
    weights, step, dropped = second.now()
    assert (step, dropped) == (1, 0)
    np.testing.assert_allclose(weights, trained_alone(x[:1], y[:1]), rtol=1e-5)


def test_numbers_that_make_no_sense_are_refused():
    inner = tf.train.GradientDescentOptimizer(1.0)
    for arguments in [(0, 0), (2, 2), (2, 0, 3), (2, 0, 0)]:
        with pytest.raises(ValueError, match="replicas count from 0"):
            tf.train.LockstepOptimizer(inner, *arguments)
    with pytest.raises(ValueError, match="Global step is required"):
        tf.train.LockstepOptimizer(inner, 1, 0).apply_gradients([])
