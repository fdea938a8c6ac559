"""TensorFlow's own client on a server of ours that was told to count once: nothing in the program knows of it."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


class Numbers:
    """A queue of numbers on the server, a total, and what adds to it."""

    def __init__(self):
        self.queue = tf1.FIFOQueue(-1, [tf.int32], shapes=[()], shared_name="numbers")
        self.number = tf1.placeholder(tf.int32, [])
        self.put, self.close = self.queue.enqueue(self.number), self.queue.close()
        self.take = self.queue.dequeue()
        self.total = tf1.get_variable("total", initializer=0, use_resource=False)
        self.add = tf1.assign_add(self.total, self.number)
        self.initialize = tf1.global_variables_initializer()

    def fill(self, session, *numbers):
        session.run(self.initialize)
        for number in numbers:
            session.run(self.put, {self.number: number})
        session.run(self.close)


@pytest.fixture
def counting_target(cluster, monkeypatch, request):
    if request.config.getoption("servers") == "tensorflow":
        pytest.skip("TensorFlow's servers do not count once")
    monkeypatch.setenv("MILLRACE_ONCE", "1")
    return cluster(worker=1).target("worker")


def test_what_a_session_did_not_acknowledge_counts_once(counting_target, graph):
    numbers = Numbers()
    with tf1.Session(counting_target) as owner:
        numbers.fill(owner, 5, 6)
        with tf1.Session(counting_target) as first:
            assert first.run(numbers.take) == 5
            first.run(numbers.add, {numbers.number: 5})
        with tf1.Session(counting_target) as second:
            seen = []
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    seen.append(second.run(numbers.take))
                    second.run(numbers.add, {numbers.number: seen[-1]})
        assert seen == [5, 6]
        assert owner.run(numbers.total) == 11


def test_callables_count_once_too(counting_target, graph):
    numbers = Numbers()
    with tf1.Session(counting_target) as owner:
        numbers.fill(owner, 5)
        for _ in range(2):
            with tf1.Session(counting_target) as session:
                take = session.make_callable(numbers.take)
                add = session.make_callable(numbers.add, [numbers.number])
                assert take() == 5
                add(5)
        assert owner.run(numbers.total) == 5
