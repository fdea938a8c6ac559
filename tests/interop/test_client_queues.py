"""The four kinds of queues, with Python threads as producers and consumers."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from threads import Background, in_threads

tf1 = tf.compat.v1
errors = tf.errors


def fifo(capacity=10, **named):
    return tf1.FIFOQueue(capacity, [tf.int32], shapes=[()], **named)


def test_a_fifo_queue_keeps_the_order_and_its_size(target, graph):
    queue = fifo()
    put, take, size = queue.enqueue_many([[3, 1, 2]]), queue.dequeue(), queue.size()
    with tf1.Session(target) as session:
        session.run(put)
        assert session.run(size) == 3
        assert [session.run(take) for _ in range(3)] == [3, 1, 2]
        assert session.run(size) == 0


def test_a_queue_carries_tuples_by_component_or_by_name(target, graph):
    plain = tf1.FIFOQueue(5, [tf.int32, tf.string])
    named = tf1.FIFOQueue(5, [tf.float32, tf.string], [(), ()], names=["number", "text"])
    put = [plain.enqueue([7, "seven"]), named.enqueue({"number": 1.5, "text": "x"})]
    taken = [plain.dequeue(), named.dequeue()]
    with tf1.Session(target) as session:
        session.run(put)
        assert session.run(taken) == [[7, b"seven"], {"number": 1.5, "text": b"x"}]


def test_a_queue_without_shapes_takes_any(target, graph):
    queue = tf1.FIFOQueue(5, [tf.float32])
    x = tf1.placeholder(tf.float32)
    put, take = queue.enqueue(x), queue.dequeue()
    values = [1.0, [1.0, 2.0], [[3.0]]]
    with tf1.Session(target) as session:
        for value in values:
            session.run(put, {x: value})
        for value in values:
            assert session.run(take).tolist() == value


def test_dequeue_many_waits_until_there_are_enough(target, graph):
    queue = fifo(20)
    x = tf1.placeholder(tf.int32, [])
    put, take = queue.enqueue(x), queue.dequeue_many(5)
    with tf1.Session(target) as session:
        waiting = Background(session.run, take)
        for i in range(5):
            session.run(put, {x: i})
        assert waiting.result().tolist() == list(range(5))


def test_dequeue_up_to_takes_the_rest_of_a_closed_queue(target, graph):
    queue = fifo()
    put, take, close = queue.enqueue_many([[1, 2, 3]]), queue.dequeue_up_to(2), queue.close()
    with tf1.Session(target) as session:
        session.run(put)
        session.run(close)
        assert [session.run(take).tolist() for _ in range(2)] == [[1, 2], [3]]
        with pytest.raises(errors.OutOfRangeError):
            session.run(take)


def test_producers_and_consumers_block_on_a_small_queue_and_lose_nothing(target, graph):
    queue = fifo(2)
    x = tf1.placeholder(tf.int32, [])
    put, take = queue.enqueue(x), queue.dequeue()
    with tf1.Session(target) as session:

        def produce(number):
            for i in range(25):
                session.run(put, {x: number * 100 + i})

        def consume():
            return [int(session.run(take)) for _ in range(25)]

        producers = [Background(produce, number) for number in range(4)]
        consumers = [Background(consume) for _ in range(4)]
        taken = [each.result() for each in consumers]
        for each in producers:
            each.result()
    assert sorted(sum(taken, [])) == [n * 100 + i for n in range(4) for i in range(25)]


def test_one_producer_is_heard_in_order_by_one_consumer(target, graph):
    queue = fifo(1)
    x = tf1.placeholder(tf.int32, [])
    put, take = queue.enqueue(x), queue.dequeue()
    with tf1.Session(target) as session:
        producer = Background(lambda: [session.run(put, {x: i}) for i in range(50)])
        assert [session.run(take) for _ in range(50)] == list(range(50))
        producer.result()


def test_an_enqueue_of_more_than_the_capacity_goes_in_piece_by_piece(target, graph):
    queue = fifo(3)
    put, take = queue.enqueue_many([list(range(10))]), queue.dequeue()
    with tf1.Session(target) as session:
        producer = Background(session.run, put)
        assert [session.run(take) for _ in range(10)] == list(range(10))
        producer.result()


def test_closing_lets_consumers_finish_and_then_ends_them(target, graph):
    queue = fifo()
    put, take, close = queue.enqueue_many([[1, 2]]), queue.dequeue(), queue.close()
    with tf1.Session(target) as session:
        session.run(put)
        session.run(close)
        assert session.run(queue.is_closed())
        with pytest.raises(errors.CancelledError, match="is closed"):
            session.run(put)
        assert [session.run(take), session.run(take)] == [1, 2]
        with pytest.raises(errors.OutOfRangeError, match="is closed and has insufficient elements"):
            session.run(take)


def test_closing_wakes_a_blocked_consumer(target, graph):
    started, queue = fifo(), fifo()
    runs, close = started.dequeue(), queue.close()
    with tf.control_dependencies([started.enqueue(1)]):
        take = queue.dequeue(name="take")
    with tf1.Session(target) as session:
        consumer = Background(session.run, take)
        session.run(runs)
        session.run(close)
        error = consumer.error()
    assert isinstance(error, errors.OutOfRangeError)
    assert error.op.type == "QueueDequeueV2"


@pytest.mark.parametrize("cancel", [False, True])
def test_a_blocked_producer_meets_the_close_as_it_was_asked(target, graph, cancel):
    started, queue = fifo(), fifo(1)
    runs, fill, take = started.dequeue(), queue.enqueue(1), queue.dequeue()
    close = queue.close(cancel_pending_enqueues=cancel)
    with tf.control_dependencies([started.enqueue(1)]):
        wait_first = tf.identity(2)
    put = queue.enqueue(wait_first, name="put")
    size = queue.size()
    with tf1.Session(target) as session:
        session.run(fill)
        producer = Background(session.run, put)
        session.run(runs)
        # `started` tells that the step runs, not that the enqueue waits: only a full queue can.
        assert session.run(size) == 1
        closed = Background(session.run, close)
        if cancel:
            closed.result()
            assert isinstance(producer.error(), errors.CancelledError)
            assert session.run(take) == 1
        else:
            assert session.run(take) == 1
            closed.result()
            left = producer.error()
            assert left is None or isinstance(left, errors.CancelledError)
            if left is None:
                assert session.run(take) == 2
        with pytest.raises(errors.OutOfRangeError):
            session.run(take)


def test_a_random_shuffle_queue_returns_everything_in_another_order(target, graph):
    queue = tf1.RandomShuffleQueue(200, 0, [tf.int32], shapes=[()], seed=7)
    put, take = queue.enqueue_many([list(range(100))]), queue.dequeue_many(100)
    with tf1.Session(target) as session:
        session.run(put)
        got = session.run(take).tolist()
    assert got != list(range(100))
    assert sorted(got) == list(range(100))


def test_a_random_shuffle_queue_keeps_its_minimum_until_it_is_closed(target, graph):
    queue = tf1.RandomShuffleQueue(
        20, min_after_dequeue=4, dtypes=[tf.int32], shapes=[()], shared_name="keeps_its_minimum"
    )
    put, take, size = queue.enqueue_many([list(range(6))]), queue.dequeue(), queue.size()
    close = queue.close()
    with tf1.Session(target) as session:
        session.run(put)
        got = [session.run(take), session.run(take)]
        with pytest.raises(errors.DeadlineExceededError):
            session.run(take, options=tf1.RunOptions(timeout_in_ms=200))
        assert session.run(size) == 4
    # The client's clock may end a step before the server's has; a session that is closed has ended them.
    with tf1.Session(target) as session:
        session.run(close)
        got += [session.run(take) for _ in range(4)]
    assert sorted(got) == list(range(6))


def test_a_padding_queue_pads_each_batch_to_its_longest(target, graph):
    queue = tf1.PaddingFIFOQueue(10, [tf.int32, tf.string], [[None], [None, 2]])
    number, text = tf1.placeholder(tf.int32, [None]), tf1.placeholder(tf.string, [None, 2])
    put, take = queue.enqueue([number, text]), queue.dequeue_many(2)
    with tf1.Session(target) as session:
        session.run(put, {number: [1], text: [["a", "b"], ["c", "d"]]})
        session.run(put, {number: [2, 3, 4], text: [["e", "f"]]})
        numbers, texts = session.run(take)
    assert numbers.tolist() == [[1, 0, 0], [2, 3, 4]]
    assert texts.tolist() == [[[b"a", b"b"], [b"c", b"d"]], [[b"e", b"f"], [b"", b""]]]


def test_a_priority_queue_returns_the_smallest_first(target, graph):
    queue = tf1.PriorityQueue(100, [tf.string], [()])
    key, text = tf1.placeholder(tf.int64, []), tf1.placeholder(tf.string, [])
    put, take = queue.enqueue([key, text]), queue.dequeue()
    keys = [5, -3, 9, 0, 7, 2]
    with tf1.Session(target) as session:
        in_threads(lambda k: session.run(put, {key: k, text: f"<{k}>"}), keys)
        got = [session.run(take) for _ in keys]
    assert [(int(k), t) for k, t in got] == [(k, f"<{k}>".encode()) for k in sorted(keys)]


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "padding", "priority"])
def test_clients_meet_in_a_queue_by_its_shared_name(target, kind):
    def make():
        named = dict(shared_name="meeting", shapes=[()])
        if kind == "fifo":
            return tf1.FIFOQueue(10, [tf.int32], **named)
        if kind == "shuffle":
            return tf1.RandomShuffleQueue(10, 0, [tf.int32], seed=1, **named)
        if kind == "padding":
            return tf1.PaddingFIFOQueue(10, [tf.int32], **named)
        return tf1.PriorityQueue(10, [tf.int32], **named)

    def element(value):
        return [tf.constant(value, tf.int64), value] if kind == "priority" else value

    with tf.Graph().as_default(), tf1.Session(target) as session:
        session.run(make().enqueue(element(42)))
    with tf.Graph().as_default(), tf1.Session(target) as session:
        got = session.run(make().dequeue())
    assert np.ravel(got)[-1] == 42


def test_a_queue_met_with_another_shape_is_refused_in_words(target):
    with tf.Graph().as_default(), tf1.Session(target) as session:
        session.run(fifo(10, shared_name="meeting").enqueue(1))
    for wrong, words in [
        (lambda: fifo(11, shared_name="meeting"), "capacity"),
        (lambda: tf1.FIFOQueue(10, [tf.int64], [()], shared_name="meeting"), "component types"),
        (lambda: tf1.FIFOQueue(10, [tf.int32], [[2]], shared_name="meeting"), "component shapes"),
    ]:
        with tf.Graph().as_default(), tf1.Session(target) as session:
            with pytest.raises(errors.InvalidArgumentError, match=words):
                session.run(wrong().size())


def test_queues_without_a_shared_name_belong_to_their_session(target, graph):
    queue = fifo(10)
    put, size = queue.enqueue(1), queue.size()
    with tf1.Session(target) as session:
        session.run(put)
    with tf1.Session(target) as session:
        assert session.run(size) == 0


def test_a_queue_on_another_task_serves_clients_of_every_master(cluster):
    three = cluster(ps=1, worker=2)

    def work(number):
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                queue = fifo(3, shared_name="shared")
            x = tf1.placeholder(tf.int32, [])
            put, take = queue.enqueue(x), queue.dequeue()
            with tf1.Session(three.target(f"worker:{number % 2}")) as session:
                if number < 2:
                    return [session.run(put, {x: i}) for i in range(20)] and []
                return [int(session.run(take)) for _ in range(20)]

    taken = collections.Counter(sum(in_threads(work, range(4)), []))
    assert taken == {i: 2 for i in range(20)}


def test_an_element_of_the_wrong_shape_is_refused(target, graph):
    queue = tf1.FIFOQueue(5, [tf.int32], shapes=[[2]])
    x = tf1.placeholder(tf.int32)
    put, size = queue.enqueue(x), queue.size()
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="[Ss]hape"):
            session.run(put, {x: [1, 2, 3]})
        assert session.run(size) == 0


def test_a_queue_of_queues_is_chosen_by_index(target, graph):
    queues = [fifo() for _ in range(3)]
    index = tf1.placeholder(tf.int32, [])
    put = [q.enqueue(i * 10) for i, q in enumerate(queues)]
    take = tf1.FIFOQueue.from_list(index, queues).dequeue()
    with tf1.Session(target) as session:
        session.run(put)
        assert [session.run(take, {index: i}) for i in [2, 0, 1]] == [20, 0, 10]
