"""Branches not taken and loops that turn, with the border running through the middle of them."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(params=["here first", "there first"])
def sides(request, border):
    if request.param == "here first":
        return border.here, border.there
    return border.there, border.here


def on(device, function, *inputs):
    with tf.device(device):
        return function(*inputs)


def test_a_branch_chosen_on_one_side_joins_on_the_other(border, sides):
    one, other = sides
    x = tf1.placeholder(tf.float32, [])
    with tf.device(one):
        when_false, when_true = tf.raw_ops.Switch(data=x, pred=x > 0.0)
    with tf.device(other):
        joined, index = tf.raw_ops.Merge(inputs=[when_false * 10.0, when_true * 100.0])
    with border.session() as session:
        assert session.run([joined, index], {x: 2}) == [200, 1]
        assert session.run([joined, index], {x: -2}) == [-20, 0]


def test_death_crosses_the_border_again_and_again(border, sides):
    one, other = sides
    alive = tf1.placeholder(tf.bool, [])
    with tf.device(one):
        dead, living = tf.raw_ops.Switch(data=tf.constant([1.0, 2.0]), pred=alive)
    for device in (other, one, other, one):
        with tf.device(device):
            dead, living = dead + 1.0, living + 2.0
    with tf.device(other):
        joined, _ = tf.raw_ops.Merge(inputs=[dead, living])
    with border.session() as session:
        assert session.run(joined, {alive: True}).tolist() == [9, 10]
        assert session.run(joined, {alive: False}).tolist() == [5, 6]


def test_control_edges_carry_death_across(border, sides):
    one, other = sides
    chosen = tf1.placeholder(tf.bool, [])
    with tf.device(other):
        counter = tf1.Variable(0, use_resource=False)
    with tf.device(one):
        _, pivot = tf.raw_ops.Switch(data=chosen, pred=chosen)
        pivot = tf.identity(pivot)
        with tf.device(other), tf.control_dependencies([pivot]):
            count = counter.assign_add(1).op
    with border.session() as session:
        session.run(counter.initializer)
        session.run(count, {chosen: True})
        session.run(count, {chosen: False})
        session.run(count, {chosen: True})
        assert session.run(counter) == 2


def test_a_dead_fetch_is_an_error_that_names_it(border, sides):
    one, other = sides
    with tf.device(one):
        dead, _ = tf.raw_ops.Switch(data=1.0, pred=tf1.placeholder_with_default(True, []))
    with tf.device(other):
        dead = tf.identity(dead, name="never")
    with border.session() as session:
        # TensorFlow calls it INTERNAL.
        refused = (tf.errors.InvalidArgumentError, tf.errors.InternalError)
        with pytest.raises(refused, match="never:0.* was not valid"):
            session.run(dead)
        assert session.run(tf.constant(3)) == 3


def test_conditions_nest_across_the_border(border, sides):
    one, other = sides
    x = tf1.placeholder(tf.int32, [])

    def inner():
        with tf.device(other):
            return tf1.cond(x > 10, lambda: on(one, tf.add, x, 1000), lambda: x + 100)

    with tf.device(one):
        result = tf1.cond(x > 0, inner, lambda: on(other, tf.negative, x))
    with border.session() as session:
        assert [session.run(result, {x: value}) for value in (20, 5, -5)] == [1020, 105, 5]


def test_the_branch_not_taken_has_no_effects_on_the_other_side(border, sides):
    one, other = sides
    chosen = tf1.placeholder(tf.bool, [])
    with tf.device(other):
        counter = tf1.Variable(0, use_resource=True)
    with tf.device(one):
        result = tf1.cond(
            chosen,
            lambda: on(other, lambda: counter.assign_add(1, read_value=True) + 0),
            lambda: -1,
        )
    with border.session() as session:
        session.run(counter.initializer)
        got = [int(session.run(result, {chosen: value})) for value in (True, False, False, True)]
        assert got == [1, -1, -1, 2] and session.run(counter) == 2


@pytest.mark.parametrize("parallel_iterations", [1, 2, 10])
def test_a_loop_of_one_side_has_its_body_on_the_other(border, sides, parallel_iterations):
    one, other = sides
    turns = tf1.placeholder(tf.int32, [])
    with tf.device(one):
        _, power = tf1.while_loop(
            lambda i, _: i < turns,
            lambda i, power: (i + 1, on(other, tf.multiply, power, 2.0)),
            [tf.constant(0), tf1.placeholder_with_default(1.0, [])],
            parallel_iterations=parallel_iterations,
        )
    with border.session() as session:
        assert [session.run(power, {turns: n}) for n in (0, 1, 10)] == [1, 2, 1024]


def test_a_loop_is_decided_by_the_side_that_does_not_count(border, sides):
    one, other = sides
    limit = tf1.placeholder(tf.int32, [])
    with tf.device(one):
        count = tf1.while_loop(
            lambda i: on(other, tf.less, i * i, limit), lambda i: i + 1, [tf.constant(0)]
        )
    with border.session() as session:
        assert [session.run(count, {limit: n}) for n in (0, 1, 100, 101)] == [0, 1, 10, 11]


def test_variables_of_a_loop_live_on_both_sides(border, sides):
    one, other = sides
    turns = tf1.placeholder(tf.int32, [])

    def body(i, a, b, text, fixed):
        with tf.device(one):
            next_a = b + 1
        with tf.device(other):
            next_b = a + b
            text = tf.strings.join([text, tf.strings.as_string(b), ","])
        return i + 1, next_a, next_b, text, fixed

    with tf.device(one):
        result = tf1.while_loop(
            lambda i, *_: i < turns,
            body,
            [0, 1, 1, tf.constant(""), tf1.placeholder_with_default([7.0, 8.0], [2])],
            parallel_iterations=3,
        )
    a, b, written = 1, 1, ""
    for _ in range(6):
        a, b, written = b + 1, a + b, f"{written}{b},"
    with border.session() as session:
        *got, untouched = session.run(result, {turns: 6})
    assert got == [6, a, b, written.encode()] and untouched.tolist() == [7, 8]


def test_loops_nest_with_the_border_between_them(border, sides):
    one, other = sides
    outer_turns, inner_turns = tf1.placeholder(tf.int32, []), tf1.placeholder(tf.int32, [])

    def outer(i, total):
        with tf.device(other):
            _, total = tf1.while_loop(
                lambda j, _: j < inner_turns,
                lambda j, t: (j + 1, on(one, tf.add, t, i * 10 + j)),
                [tf.constant(0), total],
            )
        return i + 1, total

    with tf.device(one):
        _, total = tf1.while_loop(lambda i, _: i < outer_turns, outer, [tf.constant(0), 0])
    with border.session() as session:
        for outer_count, inner_count in [(3, 4), (5, 1), (2, 0), (0, 3)]:
            expected = sum(i * 10 + j for i in range(outer_count) for j in range(inner_count))
            feeds = {outer_turns: outer_count, inner_turns: inner_count}
            assert session.run(total, feeds) == expected


def test_a_condition_inside_a_loop_chooses_the_side(border, sides):
    one, other = sides
    with tf.device(one):
        _, total = tf1.while_loop(
            lambda i, _: i < 10,
            lambda i, t: (
                i + 1,
                tf1.cond(
                    tf.equal(i % 2, 0),
                    lambda: on(other, tf.add, t, i),
                    lambda: on(one, tf.add, t, 100),
                ),
            ),
            [tf1.placeholder_with_default(0, []), 0],
        )
    with border.session() as session:
        assert session.run(total) == 0 + 2 + 4 + 6 + 8 + 500


def test_a_loop_with_state_on_the_other_side_counts_every_turn(border, sides):
    one, other = sides
    with tf.device(other):
        counter = tf1.Variable(0, use_resource=False)
    turns = tf1.placeholder(tf.int32, [])

    def body(i):
        with tf.device(other), tf.control_dependencies([tf.identity(i)]):
            counted = tf1.assign_add(counter, 1, use_locking=True)
        with tf.control_dependencies([counted]):
            return i + 1

    with tf.device(one):
        loop = tf1.while_loop(lambda i: i < turns, body, [tf.constant(0)])
    with border.session() as session:
        session.run(counter.initializer)
        for _ in range(3):
            session.run(loop, {turns: 25})
        assert session.run(counter) == 75


def test_many_steps_of_one_loop_run_at_once(border, sides):
    """Each step has its own frames, though their nodes and names are the same."""
    import concurrent.futures

    one, other = sides
    turns = tf1.placeholder(tf.int32, [])
    with tf.device(one):
        _, total = tf1.while_loop(
            lambda i, _: i < turns,
            lambda i, t: (i + 1, on(other, tf.add, t, i)),
            [tf.constant(0), 0],
        )
    with border.session() as session:
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            got = list(threads.map(lambda n: int(session.run(total, {turns: n})), range(24)))
    assert got == [n * (n - 1) // 2 for n in range(24)]
