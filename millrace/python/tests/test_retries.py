"""Sessions that make steps again: what they are told, and that nothing is different while nothing breaks.
tests/cluster/test_retried_steps.py has connections that do."""

import pytest

import millrace as tf


def config(retries):
    return tf.ConfigProto(experimental=tf.ConfigProto.Experimental(retries=retries))


@pytest.fixture
def retrying():
    with tf.Graph().as_default():
        server = tf.train.Server.create_local_server()
        with tf.Session(server.target, config=config(3)) as session:
            yield session


def test_retries_are_a_number_of_times():
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="retries must be an int or None, but got 'often'"):
            tf.Session(config=config("often"))
        with pytest.raises(ValueError, match="may be made again -1 times; give 0 to 1000000"):
            tf.Session(config=config(-1))


def test_a_config_that_is_written_keeps_its_retries():
    assert tf.ConfigProto.FromString(config(10).SerializeToString()).experimental.retries == 10


def test_a_run_asks_for_retries_only_where_the_session_makes_some():
    with tf.Graph().as_default():
        server = tf.train.Server.create_local_server()
        x = tf.constant(1)
        with tf.Session(server.target, config=config(0)) as session:
            assert session.run(x, options=tf.RunOptions(retries=0)) == 1
            with pytest.raises(tf.errors.InvalidArgumentError, match="create the session with"):
                session.run(x, options=tf.RunOptions(retries=1))


def test_steps_of_all_kinds_give_what_they_give_without_retries(retrying):
    x = tf.placeholder(tf.int32, [])
    total = tf.Variable(0, use_resource=True)
    older = tf.Variable(0, use_resource=False)
    queue = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    add, add_older, put = total.assign_add(x), tf.assign_add(older, x), queue.enqueue(x)
    take = queue.dequeue()
    in_loop = tf.while_loop(
        lambda i: i < 3,
        lambda i: tf.group(tf.assign_add(total, 1)) and tf.assign_add(total, 1) * 0 + i + 1,
        [0],
    )
    retrying.run(tf.global_variables_initializer())
    assert [retrying.run(add, {x: 2}) for _ in range(3)] == [2, 4, 6]
    assert [retrying.run(add_older, {x: 2}) for _ in range(3)] == [2, 4, 6]
    call = retrying.make_callable(add, [x])
    assert (call(4), call(10)) == (10, 20)
    retrying.run(put, {x: 7})
    assert retrying.run([take, add], {x: 5}) == [7, 25]
    assert retrying.run(in_loop) == 3
    assert retrying.run(total, options=tf.RunOptions(retries=0)) > 25


def test_legs_of_a_step_and_elements_that_are_lent_go_on_as_ever(retrying):
    x, y = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    total = tf.Variable(0, use_resource=True)
    add, later = total.assign_add(x), x + y
    queue = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    put, lent = queue.enqueue(x), queue.dequeue(lease=100)
    retrying.run(tf.global_variables_initializer())
    handle = retrying.partial_run_setup([add, later], [x, y])
    assert retrying.partial_run(handle, add, {x: 3}) == 3
    assert retrying.partial_run(handle, later, {y: 4}) == 7
    retrying.run(put, {x: 5})
    for attempt in (1, 2):
        lease = retrying.run(lent)
        assert lease.attempt == attempt
        with pytest.raises(ZeroDivisionError):
            with lease:
                retrying.run(add, {x: lease.value})
                raise ZeroDivisionError
    assert retrying.run(total) == 8
