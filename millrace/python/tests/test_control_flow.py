import pytest

import millrace as tf

# ---- cond ----------------------------------------------------------------------------------------


def test_cond_gives_what_the_taken_branch_gives(session):
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: x * 2, lambda: x - 1)
    assert session.run(y, {x: 3}) == 6
    assert session.run(y, {x: -3}) == -4


def test_only_the_taken_branch_runs(session):
    v = tf.Variable(0)
    x = tf.placeholder(tf.bool, [])
    y = tf.cond(x, lambda: tf.assign_add(v, 10), lambda: tf.identity(v))
    session.run(v.initializer)
    session.run(y, {x: False})
    assert session.run(v) == 0
    session.run(y, {x: True})
    assert session.run(v) == 10


def test_branches_may_give_structures_operations_and_nothing(session):
    x = tf.placeholder(tf.bool, [])
    v = tf.Variable(0)
    session.run(v.initializer)
    a = tf.cond(x, lambda: {"a": 1, "b": (2, 3)}, lambda: {"a": 4, "b": (5, 6)})
    assert session.run(a, {x: False}) == {"a": 4, "b": (5, 6)}
    done = tf.cond(x, lambda: tf.assign_add(v, 1).op, lambda: tf.no_op())
    session.run(done, {x: True})
    session.run(done, {x: False})
    assert session.run(v) == 1
    assert session.run(tf.cond(x, lambda: [1], lambda: [2]), {x: True}) == 1
    assert session.run(tf.cond(x, lambda: [1], lambda: [2], strict=True), {x: True}) == [1]


def test_conds_nest(session):
    a, b = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.constant(1)
    y = tf.cond(
        a,
        lambda: tf.cond(b, lambda: x + 10, lambda: x + 20),
        lambda: tf.cond(b, lambda: x + 30, lambda: tf.constant(40)),
    )
    values = [session.run(y, {a: p, b: q}) for p in (True, False) for q in (True, False)]
    assert values == [11, 21, 31, 40]


def test_branches_must_agree():
    x = tf.placeholder(tf.bool, [])
    with pytest.raises(TypeError, match="same type"):
        tf.cond(x, lambda: 1, lambda: 1.0)
    with pytest.raises(ValueError):
        tf.cond(x, lambda: [1, 2], lambda: [1])
    with pytest.raises(TypeError):
        tf.cond(True, lambda: 1, lambda: 2)
    with pytest.raises(TypeError):
        tf.cond(x, 1, 2)


def test_a_value_of_a_branch_cannot_be_used_elsewhere():
    x = tf.placeholder(tf.bool, [])
    inside = []
    tf.cond(x, lambda: inside.append(tf.constant(1)) or inside[0], lambda: 2)
    with pytest.raises(ValueError, match="inside the cond"):
        tf.cond(x, lambda: inside[0] + 1, lambda: 2)


def test_case_takes_the_first_that_is_true(session):
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x < 0, lambda: -1), (x < 10, lambda: 1)], default=lambda: 2)
    assert [session.run(y, {x: value}) for value in (-5, 5, 50)] == [-1, 1, 2]


# ---- while_loop ----------------------------------------------------------------------------------


def test_a_loop_runs_while_its_condition_holds(session):
    n = tf.placeholder(tf.int32, [])
    i = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])
    assert [session.run(i, {n: count}) for count in (0, 1, 100)] == [0, 1, 100]


def test_a_loop_has_several_variables(session):
    i, total = tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + i), [0, 0])
    assert session.run([i, total]) == [10, 45]


def test_a_loop_reads_values_from_outside(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(2.0)
    session.run(v.initializer)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v + x), [0, 1.0])
    assert session.run(y, {x: 1.0}) == 15


def test_what_reads_only_values_from_outside_runs_as_often_as_the_body(session):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    fill = queue.enqueue_many([tf.range(6)])
    total = tf.while_loop(
        lambda i, total: i < 2, lambda i, total: (i + 1, total + queue.dequeue()), [0, 0]
    )[1]
    session.run(fill)
    assert [session.run(total) for _ in range(3)] == [0 + 1, 2 + 3, 4 + 5]
    assert session.run(queue.size()) == 0


def test_loops_nest(session):
    def outer(i, total):
        _, inner = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + i), [0, 0])
        return i + 1, total + inner

    _, total = tf.while_loop(lambda i, s: i < 5, outer, [0, 0])
    assert session.run(total) == sum(i * i for i in range(5))


def test_a_cond_in_a_loop_is_decided_each_time(session):
    def step(i, even, odd):
        is_even = tf.equal(i % 2, 0)
        return (
            i + 1,
            tf.cond(is_even, lambda: even + i, lambda: even),
            tf.cond(is_even, lambda: odd, lambda: odd + i),
        )

    _, even, odd = tf.while_loop(lambda i, e, o: i < 10, step, [0, 0, 0])
    assert session.run([even, odd]) == [20, 25]


def test_a_loop_in_a_cond(session):
    x = tf.placeholder(tf.bool, [])
    y = tf.cond(
        x,
        lambda: tf.while_loop(lambda i: i < 7, lambda i: i + 2, [0]),
        lambda: tf.constant(-1),
    )
    assert session.run(y, {x: True}) == 8
    assert session.run(y, {x: False}) == -1


def test_structures_as_loop_variables(session):
    result = tf.while_loop(
        lambda i, state: i < 3,
        lambda i, state: (i + 1, {"a": state["a"] + 1, "b": state["b"] * 2}),
        (0, {"a": 0, "b": 1}),
    )
    assert session.run(result) == (3, {"a": 3, "b": 8})


def test_a_shape_may_change_if_that_is_said(session):
    def grow(i, x):
        return i + 1, tf.concat([x, x], 0)

    with pytest.raises(ValueError, match="invariant"):
        tf.while_loop(lambda i, x: i < 3, grow, [0, tf.zeros([1])])
    _, x = tf.while_loop(
        lambda i, x: i < 3,
        grow,
        [0, tf.zeros([1])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    assert x.shape.as_list() == [None]
    assert session.run(x).shape == (8,)


def test_the_number_of_iterations_can_be_limited(session):
    i = tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=5)
    assert session.run(i) == 5


def test_what_runs_inside_a_loop_cannot_be_fetched_or_fed(session):
    inside = []
    tf.while_loop(lambda i: i < 3, lambda i: inside.append(i + 1) or inside[0], [0])
    with pytest.raises(ValueError, match="not fetchable"):
        session.run(inside[0])
    with pytest.raises(ValueError, match="may not be fed"):
        session.run(tf.constant(1), {inside[0]: 1})


def test_loops_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="No loop variables"):
        tf.while_loop(lambda: True, lambda: None, [])
    with pytest.raises(TypeError):
        tf.while_loop(1, lambda i: i, [0])
    with pytest.raises(ValueError):
        tf.while_loop(lambda i: i < 1, lambda i: (i, i), [0])
    with pytest.raises(TypeError):
        tf.while_loop(lambda i: i < 1, lambda i: tf.cast(i, tf.float32), [0])


# ---- Grouping ------------------------------------------------------------------------------------


def test_a_group_runs_all_its_members(session):
    a, b = tf.Variable(0), tf.Variable(0)
    session.run(tf.global_variables_initializer())
    both = tf.group(tf.assign_add(a, 1), [tf.assign_add(b, 2)], None)
    session.run(both)
    assert session.run([a, b]) == [1, 2]
    with pytest.raises(TypeError):
        tf.group(3)


def test_members_on_several_devices_are_gathered_per_device(graph):
    with tf.device("/job:a"):
        a = [tf.no_op() for _ in range(3)]
    with tf.device("/job:b"):
        b = tf.no_op()
    made = tf.group(*a, b)
    assert sorted(op.device for op in made.control_inputs) == ["/job:a", "/job:b"]


def test_a_tuple_is_there_when_all_of_it_is(session):
    v = tf.Variable(0)
    session.run(v.initializer)
    x, none, y = tf.tuple([tf.constant(1), None, tf.constant(2)], control_inputs=[v.assign_add(1)])
    assert none is None
    assert session.run(x) == 1
    assert session.run(v) == 1


def test_an_assertion_shows_its_data(session):
    x = tf.placeholder(tf.int32, [])
    with tf.control_dependencies([tf.Assert(x > 0, ["x is", x])]):
        y = tf.identity(x)
    assert session.run(y, {x: 1}) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x is.*-5"):
        session.run(y, {x: -5})
