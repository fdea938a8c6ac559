import threading

import numpy as np
import pytest

import millrace as tf


@pytest.fixture
def run(session):
    """run(fetches) -> the values of all steps until the input ends."""

    def values_of(fetches):
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        values = []
        with coord.stop_on_exception():
            while True:
                values.append(session.run(fetches))
        coord.join(threads)
        return values

    return values_of


def flat(batches):
    return [item for batch in batches for item in np.asarray(batch).tolist()]


# ---- Producers -----------------------------------------------------------------------------------


def test_strings_come_once_per_epoch(run):
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    assert run(queue.dequeue()) == [b"a", b"b", b"c"] * 2
    assert queue.name == "input_producer"


def test_each_epoch_has_an_order_of_its_own(run):
    queue = tf.train.range_input_producer(50, num_epochs=2, seed=7)
    values = run(queue.dequeue())
    first, second = values[:50], values[50:]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second and first != list(range(50))


def test_slices_of_several_tensors_stay_together(run):
    images = np.arange(12, dtype=np.float32).reshape(4, 3)
    image, label = tf.train.slice_input_producer([images, ["a", "b", "c", "d"]], num_epochs=1)
    assert image.shape.as_list() == [3]
    got = run([image, label])
    assert len(got) == 4
    for image, label in got:
        assert image.tolist() == images[b"abcd".index(label)].tolist()


def test_rows_of_a_tensor_come_out(run):
    queue = tf.train.input_producer([[1, 2], [3, 4]], num_epochs=3, shuffle=False)
    assert queue.shapes[0].as_list() == [2]
    assert flat(run(queue.dequeue())) == [1, 2, 3, 4] * 3


def test_epochs_are_counted_in_a_local_variable(session):
    limited = tf.train.limit_epochs(tf.constant("x"), num_epochs=2)
    (epochs,) = tf.local_variables()
    assert epochs.op.name == "limit_epochs/epochs" and not tf.global_variables()
    session.run(tf.local_variables_initializer())
    assert [session.run(limited) for _ in range(2)] == [b"x", b"x"]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(limited)


def test_without_a_number_of_epochs_nothing_is_added():
    tensor = tf.constant("x")
    assert tf.train.limit_epochs(tensor) is tensor and not tf.local_variables()


def test_a_list_that_turns_out_to_be_empty_is_an_error(session):
    names = tf.placeholder_with_default(np.array([], dtype=object), [None])
    tf.train.string_input_producer(names)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    with pytest.raises(tf.errors.InvalidArgumentError, match="requires a non-null input tensor"):
        coord.join(threads)


def test_producers_refuse_what_they_cannot_give_out():
    with pytest.raises(ValueError, match="requires a non-null input tensor"):
        tf.train.string_input_producer([])
    with pytest.raises(ValueError, match="num_epochs must be > 0 not -1"):
        tf.train.string_input_producer(["a"], num_epochs=-1)
    with pytest.raises(ValueError, match="element_shape"):
        tf.train.input_producer(tf.placeholder(tf.float32, [None, None]))
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.train.slice_input_producer([])
    tf.train.input_producer(tf.placeholder(tf.float32, [None, None]), element_shape=[3])


def test_a_given_operation_cancels_the_queue():
    cancel = tf.no_op()
    tf.train.string_input_producer(["a"], cancel_op=cancel)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert runner.cancel_op is cancel


# ---- Batches -------------------------------------------------------------------------------------


def counter(limit):
    """A Tensor that is 0, 1 ... limit - 1, and then ends."""
    return tf.count_up_to(tf.Variable(0, trainable=False), limit)


def test_examples_are_batched_in_order(run):
    number = counter(7)
    batch = tf.train.batch([number, tf.constant([1.5, 2.5])], batch_size=3)
    assert [tensor.shape.as_list() for tensor in batch] == [[3], [3, 2]]
    batches = run(batch)
    assert [numbers.tolist() for numbers, _ in batches] == [[0, 1, 2], [3, 4, 5]]
    assert batches[0][1].tolist() == [[1.5, 2.5]] * 3


def test_the_last_batch_may_be_smaller(run):
    batch = tf.train.batch([counter(7)], batch_size=3, allow_smaller_final_batch=True)
    assert batch.shape.as_list() == [None]
    assert [b.tolist() for b in run(batch)] == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_dictionary_of_tensors_gives_one(run):
    batch = tf.train.batch({"number": counter(4), "text": tf.constant("t")}, 2, num_threads=1)
    assert sorted(batch) == ["number", "text"]
    batches = run(batch)
    assert [b["number"].tolist() for b in batches] == [[0, 1], [2, 3]]
    assert batches[0]["text"].tolist() == [b"t", b"t"]
    assert list(tf.train.batch({"only": tf.constant(1)}, 2)) == ["only"]


def test_several_threads_compute_all_examples(run):
    batch = tf.train.batch([counter(40)], batch_size=4, num_threads=3)
    assert sorted(flat(run(batch))) == list(range(40))


def test_tensors_of_several_examples_are_taken_apart(run):
    rows = tf.range(3) + 3 * counter(4)
    batch = tf.train.batch([rows], batch_size=4, enqueue_many=True)
    assert flat(run(batch)) == list(range(12))


def test_examples_of_different_sizes_are_padded(run):
    number = counter(4)
    batch = tf.train.batch(
        [tf.fill([number], number)], batch_size=2, dynamic_pad=True, shapes=[[None]]
    )
    first, second = run(batch)
    assert first.tolist() == [[0], [1]] and second.tolist() == [[2, 2, 0], [3, 3, 3]]


def test_several_sources_are_joined(run):
    sources = [[counter(10)], [counter(10) + 100]]
    batch = tf.train.batch_join(sources, batch_size=5)
    assert sorted(flat(run(batch))) == [*range(10), *range(100, 110)]
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert len(runner.enqueue_ops) == 2


def test_shuffled_batches_have_every_example_once(run):
    batch = tf.train.shuffle_batch([counter(64)], 8, capacity=64, min_after_dequeue=16, seed=3)
    values = flat(run(batch))
    assert sorted(values) == list(range(64)) and values != sorted(values)


def test_shuffled_batches_of_several_sources(run):
    sources = [{"n": counter(20)}, {"n": counter(20) + 50}]
    batch = tf.train.shuffle_batch_join(
        sources, 8, capacity=32, min_after_dequeue=4, allow_smaller_final_batch=True
    )
    values = flat(b["n"] for b in run(batch))
    assert sorted(values) == [*range(20), *range(50, 70)]


def test_only_chosen_examples_are_batched(run):
    number = counter(10)
    batch = tf.train.maybe_batch([number], tf.equal(number % 2, 0), batch_size=5)
    assert flat(run(batch)) == [0, 2, 4, 6, 8]


def test_only_chosen_rows_are_batched(run):
    rows = tf.range(4) + 4 * counter(3)
    keep = tf.constant([True, False, True, False])
    batch = tf.train.maybe_shuffle_batch([rows], 3, 64, 1, keep, enqueue_many=True)
    assert sorted(flat(run(batch))) == [0, 2, 4, 6, 8, 10]


def test_of_several_sources_only_chosen_examples_are_batched(run):
    first, second = counter(6), counter(6) + 100
    keep = tf.constant(True)
    batch = tf.train.maybe_batch_join([[first], [second]], keep, 4)
    assert sorted(flat(run(batch))) == [*range(6), *range(100, 106)]


def test_an_input_may_have_no_example_at_all(run):
    none = tf.train.maybe_shuffle_batch_join([[counter(3)]], 1, 8, 0, tf.equal(counter(3), 7))
    assert run(none) == []


def test_batches_refuse_what_they_cannot_be_made_of():
    one = tf.constant(1)
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.train.batch([], 2)
    with pytest.raises(ValueError, match="at least one set of tensors"):
        tf.train.batch_join([], 2)
    with pytest.raises(ValueError, match="same keys"):
        tf.train.batch_join([{"a": one}, {"b": one}], 2)
    with pytest.raises(TypeError, match="consistent: int32 vs. float32"):
        tf.train.batch_join([[one], [tf.constant(1.0)]], 2)
    with pytest.raises(ValueError, match="rank"):
        tf.train.batch([tf.placeholder(tf.int32)], 2)
    with pytest.raises(ValueError, match="capacity 3 must be bigger than min_after_dequeue 3"):
        tf.train.shuffle_batch([one], 2, 3, 3)
    with pytest.raises(ValueError, match="cannot be a vector"):
        tf.train.maybe_batch([one], [True], 2)
    with pytest.raises(ValueError, match="0 or 1 dimensions"):
        tf.train.maybe_batch([one], [[True]], 2, enqueue_many=True)
    with pytest.raises(ValueError, match="must be known"):
        tf.train.maybe_batch([one], tf.placeholder(tf.bool), 2)


def test_nodes_are_named_as_in_tensorflow():
    queue = tf.train.string_input_producer(["a"], num_epochs=1)
    batch = tf.train.shuffle_batch([queue.dequeue()], 2, 10, 2)
    names = {operation.name for operation in tf.get_default_graph().get_operations()}
    assert batch.name == "shuffle_batch:0"
    assert {
        "input_producer/limit_epochs/epochs",
        "input_producer/input_producer_EnqueueMany",
        "input_producer/input_producer_Close_1",
        "input_producer_Dequeue",
        "shuffle_batch/random_shuffle_queue",
        "shuffle_batch/random_shuffle_queue_enqueue",
        "shuffle_batch/random_shuffle_queue_Close_1",
        "shuffle_batch/random_shuffle_queue_Size",
    } <= names


def test_a_program_that_ends_early_leaves_no_thread(session):
    batch = tf.train.batch([counter(10**6)], 2, capacity=4)
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    session.run(batch)
    coord.request_stop()
    coord.join(threads)
    assert not set(threads) & set(threading.enumerate())
