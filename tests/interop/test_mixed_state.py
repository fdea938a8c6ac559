"""Variables and queues on one side of the border, used from the other."""

import threading

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(params=["here", "there"])
def sides(request, border):
    """The device that keeps something, and the other one, which uses it."""
    if request.param == "here":
        return border.here, border.there
    return border.there, border.here


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_a_variable_of_one_side_is_set_and_read_by_the_other(border, sides, use_resource):
    keeper, user = sides
    with tf.device(keeper):
        variable = tf1.Variable([1.0, 2.0], use_resource=use_resource)
        added = tf1.placeholder(tf.float32, [2])
    with tf.device(user):
        change = added * 10.0
        doubled = variable.read_value() * 2.0
    add = variable.assign_add(change)
    with border.session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized|not find var"):
            session.run(doubled)
        session.run(variable.initializer)
        session.run(add, {added: [1, 2]})
        session.run(add, {added: [1, 2]})
        assert session.run(doubled).tolist() == [42.0, 84.0]
    with border.session() as another:
        assert another.run(doubled).tolist() == [42.0, 84.0]


def test_rows_of_a_variable_of_one_side_are_changed_by_the_other(border, sides):
    keeper, user = sides
    with tf.device(keeper):
        variable = tf1.Variable(tf.zeros([4, 2]), use_resource=False)
    with tf.device(user):
        rows = tf1.placeholder_with_default([3, 1, 3], [3])
        updates = tf.ones([3, 2]) * 5.0
    scattered = tf1.scatter_add(variable, rows, updates)
    with tf.device(user):
        total = tf.reduce_sum(scattered, axis=1)
    with border.session() as session:
        session.run(variable.initializer)
        assert session.run(total).tolist() == [0, 10, 0, 20]


def test_a_handle_that_was_on_the_other_side_still_names_its_variable(border, sides):
    """Of all ops IdentityN alone may take a handle to another task."""
    keeper, user = sides
    with tf.device(keeper):
        variable = tf1.Variable(5.0, use_resource=True)
    handle = variable.handle
    for device in (user, keeper):
        with tf.device(device):
            (handle,) = tf.raw_ops.IdentityN(input=[handle])
    read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    with border.session() as session:
        session.run(variable.initializer)
        assert session.run(read) == 5.0
        session.run(variable.handle)  # crosses to where the client is; its bytes mean nothing there


def test_a_handle_of_another_task_is_refused(border, sides):
    keeper, user = sides
    with tf.device(keeper):
        variable = tf1.Variable(5.0, use_resource=True)
    with tf.device(user):
        (handle,) = tf.raw_ops.IdentityN(input=[variable.handle])
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    with border.session() as session:
        session.run(variable.initializer)
        # TensorFlow takes it for an uninitialised variable.
        refused = (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError)
        with pytest.raises(refused, match="Trying to access resource .* located in device"):
            session.run(read)
        assert session.run(variable.read_value()) == 5.0


def test_whoever_takes_a_handle_is_moved_to_it(border, sides):
    """What a node asks for yields to where its resource is; so no handle needs to cross."""
    keeper, user = sides
    with tf.device(keeper):
        variable = tf1.Variable(5.0, use_resource=True)
    with tf.device(user):
        read = tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=tf.float32)
    with border.session() as session:
        session.run(variable.initializer)
        assert session.run(read) == 5.0


@pytest.mark.parametrize(
    "kind", ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"]
)
def test_a_queue_of_one_side_is_filled_and_emptied_by_the_other(border, sides, kind):
    keeper, user = sides
    with tf.device(keeper):
        queue = {
            "FIFOQueue": lambda: tf1.FIFOQueue(20, [tf.int64, tf.string], [[], []]),
            "RandomShuffleQueue": lambda: tf1.RandomShuffleQueue(
                20, 0, [tf.int64, tf.string], [[], []]
            ),
            "PaddingFIFOQueue": lambda: tf1.PaddingFIFOQueue(20, [tf.int64, tf.string], [[], []]),
            "PriorityQueue": lambda: tf1.PriorityQueue(20, [tf.string], [[]]),
        }[kind]()
    with tf.device(user):
        numbers = tf1.placeholder(tf.int64, [None])
        texts = tf.strings.as_string(numbers)
    fill = queue.enqueue_many([numbers, texts])
    taken = queue.dequeue_many(5)
    with tf.device(user):
        taken = [tf.identity(each) for each in taken]
    size, close, last = queue.size(), queue.close(), queue.dequeue()
    with border.session() as session:
        session.run(fill, {numbers: [4, 2, 0]})
        session.run(fill, {numbers: [1, 3]})
        assert session.run(size) == 5
        got, as_text = session.run(taken)
        if kind == "RandomShuffleQueue":
            assert sorted(got) == [0, 1, 2, 3, 4]
        else:
            assert got.tolist() == {"PriorityQueue": [0, 1, 2, 3, 4]}.get(kind, [4, 2, 0, 1, 3])
        assert [int(text) for text in as_text] == got.tolist()
        session.run(close)
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            session.run(last)
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            session.run(fill, {numbers: [1]})


def test_rows_of_different_sizes_are_padded_by_the_other_side(border, sides):
    keeper, user = sides
    with tf.device(keeper):
        queue = tf1.PaddingFIFOQueue(20, [tf.int32], [[None]])
    with tf.device(user):
        row = tf1.placeholder(tf.int32, [None])
        fill = queue.enqueue([row + 1])
        taken = queue.dequeue_many(2) * 10
    with border.session() as session:
        session.run(fill, {row: [0, 1, 2]})
        session.run(fill, {row: [3]})
        assert session.run(taken).tolist() == [[10, 20, 30], [40, 0, 0]]


def test_threads_of_the_client_meet_at_a_queue_of_either_side(border, sides):
    keeper, user = sides
    with tf.device(keeper):
        queue = tf1.FIFOQueue(2, [tf.int32], [[]])
    with tf.device(user):
        number = tf1.placeholder(tf.int32, [])
        put = queue.enqueue(number * 2)
        take = queue.dequeue() + 1
    with border.session() as session:

        def produce():
            for i in range(100):
                session.run(put, {number: i})

        producer = threading.Thread(target=produce)
        producer.start()
        got = [int(session.run(take)) for _ in range(100)]
        producer.join()
    assert got == [2 * i + 1 for i in range(100)]


def test_a_step_waits_at_a_queue_of_the_other_side_until_another_session_fills_it(border, sides):
    keeper, user = sides
    with tf.device(keeper):
        queue = tf1.FIFOQueue(2, [tf.string], [[]], shared_name="meeting")
    with tf.device(user):
        text = tf1.placeholder(tf.string, [])
        put = queue.enqueue(tf.strings.join([text, "!"]))
        take = tf.strings.join([queue.dequeue(), "?"])
    got = []
    with border.session() as waiting, border.session() as filling:
        waiter = threading.Thread(target=lambda: got.append(waiting.run(take)))
        waiter.start()
        filling.run(put, {text: "there"})
        waiter.join()
    assert got == [b"there!?"]


def test_a_container_of_both_sides_is_reset_by_either_master(border):
    made = []
    for device in (border.here, border.there):
        with tf.device(device), tf1.Graph.container(tf1.get_default_graph(), "shelf"):
            made.append(tf1.Variable(1.0, use_resource=False))
    with border.session() as session:
        session.run([each.initializer for each in made])
    tf1.Session.reset(border.target, ["shelf"])
    with border.session() as session:
        for variable in made:
            assert not session.run(tf1.is_variable_initialized(variable))


def test_both_masters_see_the_same_state(border, sides):
    keeper, user = sides
    with tf.device(keeper):
        variable = tf1.Variable(np.zeros(3, np.float32), use_resource=False)
    with tf.device(user):
        add = variable.assign_add(tf.ones([3]))
    with border.session() as session, tf1.Session(border.cluster.target(border.other)) as other:
        session.run(variable.initializer)
        other.run(add)
        session.run(add)
        assert other.run(variable).tolist() == [2, 2, 2]
