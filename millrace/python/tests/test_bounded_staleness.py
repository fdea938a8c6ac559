"""BoundedStalenessOptimizer: workers on threads with sessions of their own, none far ahead of the slowest."""

import numpy as np
import pytest

import millrace as tf
from on_threads import Beside, together

RATE = 0.5


@pytest.fixture
def server():
    made = tf.train.Server.create_local_server()
    yield made
    made.stop()


class Worker:
    """A graph and a session of one worker; each of its steps adds `RATE * gradient` to a shared variable."""

    def __init__(self, target, replica, replicas, staleness):
        self.graph = tf.Graph()
        with self.graph.as_default():
            optimizer = tf.train.BoundedStalenessOptimizer(
                tf.train.GradientDescentOptimizer(RATE), replicas, replica, staleness
            )
            self.gradient = tf.placeholder(tf.float32, [])
            self.sum = tf.get_variable("sum", initializer=0.0)
            self.step = tf.train.get_or_create_global_step()
            self.train = optimizer.minimize(-self.sum * self.gradient, global_step=self.step)
            self.lead = optimizer.lead
            self.hook = optimizer.make_session_run_hook()
            self.session = tf.Session(target)
            self.session.run(tf.global_variables_initializer() if replica == 0 else tf.no_op())
            self.hook.after_create_session(self.session, None)

    def run(self, gradient=1.0, patience=None):
        options = tf.RunOptions(timeout_in_ms=patience) if patience else None
        self.session.run(self.train, {self.gradient: gradient}, options=options)

    def leave(self):
        self.hook.end(self.session)

    def leads_by(self):
        return self.session.run(self.lead)


def waits(worker):
    """True if the next step does not end by itself. It is counted all the same, however slow the machine."""
    before = worker.leads_by()
    for patience in (1000, 5000, 25000):
        try:
            worker.run(patience=patience)
        except tf.errors.DeadlineExceededError:
            if worker.leads_by() > before:
                return True
        else:
            return False
    raise AssertionError("a step is not even counted")


def test_a_worker_makes_so_many_steps_more_than_the_slowest_and_then_waits(server):
    quick, slow = (Worker(server.target, i, 2, staleness=2) for i in range(2))
    quick.run()
    quick.run()
    assert quick.leads_by() == 2
    waiting = Beside(quick.run)  # its third
    slow.run()
    waiting.result()
    assert (quick.leads_by(), slow.leads_by()) == (2, 0)
    assert waits(quick)


@pytest.mark.parametrize("replicas, staleness", [(1, 0), (2, 0), (3, 1), (4, 3)])
def test_no_worker_is_ever_further_ahead_and_no_step_is_lost(server, replicas, staleness):
    steps = 15
    workers = [Worker(server.target, i, replicas, staleness) for i in range(replicas)]
    leads = []

    def train(worker):
        for step in range(steps):
            worker.run(step)
            leads.append(worker.leads_by())

    together([lambda w=w: train(w) for w in workers])
    assert len(leads) == steps * replicas and max(leads) <= staleness
    total, step = workers[0].session.run([workers[0].sum, workers[0].step])
    assert step == steps * replicas
    np.testing.assert_allclose(total, RATE * replicas * sum(range(steps)))


def test_nobody_waits_for_a_worker_that_has_left(server):
    quick, slow = (Worker(server.target, i, 2, staleness=1) for i in range(2))
    quick.run()
    waiting = Beside(quick.run)
    slow.leave()
    waiting.result()
    for _ in range(5):
        quick.run()


def test_a_worker_that_comes_back_after_it_had_left_begins_with_the_slowest(server):
    quick, slow = (Worker(server.target, i, 2, staleness=1) for i in range(2))
    slow.leave()
    for _ in range(5):
        quick.run()
    back = Worker(server.target, 1, 2, staleness=1)
    assert back.leads_by() == 0
    quick.run()
    assert waits(quick)
    back.run()
    assert quick.leads_by() == 1


def test_a_worker_that_died_goes_on_where_it_was_and_keeps_the_bound(server):
    first, second = (Worker(server.target, i, 2, staleness=1) for i in range(2))
    first.run()
    assert waits(first)
    # Its step is counted, so the one that takes its place has to wait before it begins.
    back = Beside(lambda: Worker(server.target, 0, 2, staleness=1))
    second.run()
    back.result()
    assert first.leads_by() == 1


def test_when_all_have_left_those_who_come_begin_anew(server):
    workers = [Worker(server.target, i, 2, staleness=1) for i in range(2)]
    for worker in workers:
        worker.leave()
    again = [Worker(server.target, i, 2, staleness=1) for i in range(2)]
    again[0].run()
    assert again[0].leads_by() == 1


def test_numbers_that_make_no_sense_are_refused():
    inner = tf.train.GradientDescentOptimizer(1.0)
    for arguments in [(0, 0, 1), (2, 2, 1), (2, -1, 1), (2, 0, -1)]:
        with pytest.raises(ValueError, match="replicas count from 0"):
            tf.train.BoundedStalenessOptimizer(inner, *arguments)
    optimizer = tf.train.BoundedStalenessOptimizer(inner, 1, 0, 1)
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="after apply_gradients"):
        optimizer.make_session_run_hook()
