import threading

import numpy as np
import pytest

import millrace as tf


def drain(session, tensor):
    values = []
    while True:
        try:
            values.append(session.run(tensor))
        except tf.errors.OutOfRangeError:
            return values


def test_elements_come_out_in_order(session):
    q = tf.FIFOQueue(10, tf.int32)
    x = tf.placeholder(tf.int32)
    put, take = q.enqueue(x), q.dequeue()
    for number in range(5):
        session.run(put, {x: number})
    assert session.run(q.size()) == 5
    assert [session.run(take) for _ in range(5)] == list(range(5))


def test_a_closed_queue_gives_out_what_it_holds_and_then_ends(session):
    q = tf.FIFOQueue(10, [tf.string], shared_name="names")
    session.run(
        q.enqueue_many([["a", "b"]]) if q.shapes[0].ndims else [q.enqueue("a"), q.enqueue("b")]
    )
    assert not session.run(q.is_closed())
    session.run(q.close())
    assert session.run(q.is_closed())
    assert sorted(drain(session, q.dequeue())) == [b"a", b"b"]
    with pytest.raises(tf.errors.CancelledError):
        session.run(q.enqueue("c"))


def test_elements_have_several_components(session):
    q = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[2], []])
    session.run(q.enqueue(([1, 2], "a")))
    session.run(q.enqueue_many([[[3, 4], [5, 6]], ["b", "c"]]))
    number, text = q.dequeue_many(2)
    assert number.shape.as_list() == [2, 2] and text.shape.as_list() == [2]
    numbers, texts = session.run([number, text])
    assert numbers.tolist() == [[1, 2], [3, 4]] and texts.tolist() == [b"a", b"b"]
    assert session.run(q.dequeue())[1] == b"c"


def test_elements_may_be_dictionaries(session):
    q = tf.FIFOQueue(10, [tf.int32, tf.string], names=["number", "text"])
    session.run(q.enqueue({"text": "a", "number": 1}))
    assert session.run(q.dequeue()) == {"number": 1, "text": b"a"}
    with pytest.raises(ValueError, match="match"):
        q.enqueue({"number": 1})
    with pytest.raises(ValueError, match="dictionary"):
        q.enqueue((1, "a"))


def test_up_to_takes_what_is_left(session):
    q = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    session.run(q.enqueue_many([[1, 2, 3]]))
    session.run(q.close())
    take = q.dequeue_up_to(2)
    assert session.run(take).tolist() == [1, 2]
    assert session.run(take).tolist() == [3]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(take)


def test_a_full_queue_holds_the_producer_back(session):
    q = tf.FIFOQueue(2, tf.int32)
    x = tf.placeholder(tf.int32, [])
    put, take = q.enqueue(x), q.dequeue()

    def produce():
        for number in range(20):
            session.run(put, {x: number})
        session.run(q_close)

    q_close = q.close()
    producer = threading.Thread(target=produce)
    producer.start()
    assert drain(session, take) == list(range(20))
    producer.join()


def test_every_element_is_taken_once_whatever_the_number_of_consumers(session):
    q = tf.FIFOQueue(5, tf.int32)
    x = tf.placeholder(tf.int32, [])
    put, take, close = q.enqueue(x), q.dequeue(), q.close()
    taken = [[] for _ in range(6)]
    consumers = [
        threading.Thread(target=lambda mine=mine: mine.extend(drain(session, take)))
        for mine in taken
    ]
    for consumer in consumers:
        consumer.start()
    for number in range(200):
        session.run(put, {x: number})
    session.run(close)
    for consumer in consumers:
        consumer.join()
    assert sorted(number for mine in taken for number in mine) == list(range(200))


def test_closing_can_cancel_those_who_wait_to_put_in(session):
    q = tf.FIFOQueue(1, tf.int32)
    session.run(q.enqueue(1))
    put, close = q.enqueue(2), q.close(cancel_pending_enqueues=True)
    size = q.size()
    errors = []

    def produce():
        try:
            session.run(put)
        except tf.errors.CancelledError as error:
            errors.append(error)

    producer = threading.Thread(target=produce)
    producer.start()
    session.run(close)
    producer.join(30)
    assert len(errors) == 1
    assert session.run(size) == 1


def test_shuffled_elements_are_all_there(session):
    q = tf.RandomShuffleQueue(100, 10, tf.int32, shapes=[[]], seed=3)
    session.run(q.enqueue_many([np.arange(50, dtype=np.int32)]))
    session.run(q.close())
    taken = [int(value) for value in drain(session, q.dequeue())]
    assert taken != list(range(50)) and sorted(taken) == list(range(50))


def test_padding_brings_elements_to_one_size(session):
    q = tf.PaddingFIFOQueue(10, tf.int32, shapes=[[None]])
    for size in (1, 3, 2):
        session.run(q.enqueue(np.full(size, size, np.int32)))
    assert session.run(q.dequeue_many(3)).tolist() == [[1, 0, 0], [3, 3, 3], [2, 2, 0]]


def test_priorities_decide_the_order(session):
    q = tf.PriorityQueue(10, tf.string, shapes=[[]])
    for priority, text in ((5, "e"), (1, "a"), (3, "c")):
        session.run(q.enqueue((np.int64(priority), text)))
    assert [session.run(q.dequeue())[1] for _ in range(3)] == [b"a", b"c", b"e"]


def test_one_shared_name_is_one_queue(session):
    first = tf.FIFOQueue(10, tf.int32, shared_name="numbers")
    second = tf.FIFOQueue(10, tf.int32, shared_name="numbers")
    other = tf.FIFOQueue(10, tf.int32, shared_name="others")
    session.run(first.enqueue(1))
    assert session.run([second.size(), other.size()]) == [1, 0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.FIFOQueue(10, tf.float32, shared_name="numbers").size())


def test_a_queue_knows_what_it_takes():
    q = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[2], []])
    with pytest.raises(ValueError):
        q.enqueue(([1, 2],))
    with pytest.raises(ValueError):
        q.enqueue(([1, 2, 3], 1.0))
    with pytest.raises(TypeError):
        q.enqueue((["a", "b"], 1.0))
    with pytest.raises(ValueError):
        tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[2]])
