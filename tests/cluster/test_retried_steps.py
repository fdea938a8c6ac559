"""Sessions that make steps again, while connections break: what a client adds is added once, and what it puts into
a queue is in there once.

MILLRACE_SEED repeats when the cuts are, MILLRACE_RETRIED_STEPS says how many steps are made.
"""

import os
import random
import signal
import threading

import millrace as tf
import pytest

from bounds import DEADLINE
from cutting_proxy import CuttingProxy
from started_tasks import millrace_command

STEPS = int(os.environ.get("MILLRACE_RETRIED_STEPS", "1000"))
RETRIES = 30


def config_of(retries):
    return tf.ConfigProto(
        experimental=tf.ConfigProto.Experimental(retries=retries),
        operation_timeout_in_ms=int(DEADLINE * 1000),
    )


class Cuts:
    """Cuts a way before some of the steps, or in the midst of what is said in them."""

    def __init__(self, proxy):
        seed = int(os.environ.get("MILLRACE_SEED", random.SystemRandom().randrange(1 << 30)))
        print(f"MILLRACE_SEED={seed}")
        self._chance = random.Random(seed)
        self._proxy = proxy
        self._at_once = 0

    def before_a_step(self):
        how = self._chance.random()
        if how < 0.02:
            self._at_once += self._proxy.cut(abruptly=how < 0.01)
        elif how < 0.08:
            self._proxy.cut_within(self._chance.randrange(1000))

    def check_and_end(self):
        self._proxy.cut_within(None)
        print(f"{self._at_once} connections cut, {self._proxy.cuts} in a message")
        assert self._at_once > 0 and self._proxy.cuts > 0


def adding_graph(device):
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        amount = tf.placeholder(tf.int64, [], name="amount")
        total = tf.Variable(0, dtype=tf.int64, name="total", use_resource=False)
        other = tf.Variable(0, dtype=tf.int64, name="other", use_resource=True)
        rows = tf.FIFOQueue(10 * STEPS, [tf.int64], shapes=[[]], shared_name="rows")
        both = tf.group(
            total.assign_add(amount).op, other.assign_add(amount).op, rows.enqueue([amount])
        )
    return graph, amount, total, other, rows, both


def count(tasks, owner, target, proxy):
    """Adds each number from 0 to STEPS over a way that breaks; what the owner, asked without it, has then."""
    graph, amount, total, other, rows, both = adding_graph(f"/job:{owner}/task:0")
    cuts = Cuts(proxy)
    with tf.Session(target, graph=graph, config=config_of(RETRIES)) as session:
        session.run([total.initializer, other.initializer])
        for number in range(STEPS):
            cuts.before_a_step()
            session.run(both, {amount: number})
        cuts.check_and_end()
    with tf.Session(f"grpc://{tasks.address(owner)}", graph=graph) as session:
        in_queue = session.run(rows.size())
        taken = session.run(rows.dequeue_up_to(in_queue)) if in_queue else []
        return session.run(total), session.run(other), sorted(taken)


def test_a_client_whose_way_to_its_master_breaks_adds_and_puts_all_once(cluster):
    tasks = cluster(state=1)
    tasks.serve("state")
    proxy = CuttingProxy(tasks.address("state"))
    try:
        total, other, taken = count(tasks, "state", f"grpc://{proxy.at}", proxy)
    finally:
        proxy.close()
    assert (total, other) == (sum(range(STEPS)),) * 2
    assert taken == list(range(STEPS))


def test_a_master_whose_way_to_the_owner_breaks_adds_and_puts_all_once(cluster):
    tasks = cluster(front=1, state=1)
    proxy = CuttingProxy(tasks.address("state"))
    serve = [millrace_command(), "serve"]
    tasks.start("state", 0, serve).wait_for("serving")
    behind = dict(tasks.spec, state=[proxy.at])
    tasks.start("front", 0, serve, spec=behind).wait_for("serving")
    try:
        target = f"grpc://{tasks.address('front')}"
        total, other, taken = count(tasks, "state", target, proxy)
    finally:
        proxy.close()
    assert (total, other) == (sum(range(STEPS)),) * 2
    assert taken == list(range(STEPS))


def test_an_owner_that_was_started_again_without_its_state_is_an_error_that_says_what_is_not_known(
    cluster,
):
    tasks = cluster(front=1, state=1)
    serve = [millrace_command(), "serve"]
    first = tasks.start("state", 0, serve)
    first.wait_for("serving")
    tasks.start("front", 0, serve).wait_for("serving")
    graph, amount, total, other, _, both = adding_graph("/job:state/task:0")
    target = f"grpc://{tasks.address('front')}"
    with tf.Session(target, graph=graph, config=config_of(RETRIES)) as session:
        session.run([total.initializer, other.initializer])
        session.run(both, {amount: 1})
        first.signal(signal.SIGKILL)
        first.wait()
        later = threading.Timer(0.5, lambda: tasks.start("state", 0, serve))
        later.start()
        with pytest.raises(tf.errors.AbortedError, match="nobody knows whether its updates"):
            session.run(both, {amount: 2})
        later.join()
    # In its new life nothing was added to it behind anybody's back.
    with tf.Session(target, graph=graph) as session:
        assert not session.run(tf.is_variable_initialized(total))


def test_one_run_may_be_made_with_terms_of_its_own(cluster):
    tasks = cluster(state=1)
    tasks.serve("state")
    proxy = CuttingProxy(tasks.address("state"))
    try:
        graph, amount, total, other, _, both = adding_graph("/job:state/task:0")
        with tf.Session(f"grpc://{proxy.at}", graph=graph, config=config_of(RETRIES)) as session:
            session.run([total.initializer, other.initializer])
            # Barred, not cut: what ends by itself meanwhile could take the cut, and leave a new way for the step.
            proxy.bar(True)
            with pytest.raises(tf.errors.UnavailableError):
                session.run(both, {amount: 1}, options=tf.RunOptions(retries=0))
            opens = threading.Timer(0.3, proxy.bar, [False])
            opens.start()
            session.run(both, {amount: 1}, options=tf.RunOptions(retries=RETRIES))
            opens.join()
            assert session.run([total, other]) == [1, 1]
            with pytest.raises(tf.errors.InvalidArgumentError, match="again -1 times"):
                session.run(both, {amount: 1}, options=tf.RunOptions(retries=-1))
            with pytest.raises(TypeError, match="retries must be an int"):
                session.run(both, {amount: 1}, options=tf.RunOptions(retries="often"))
    finally:
        proxy.close()
