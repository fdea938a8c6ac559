"""Graphs with functions in them: control flow v2 and tf.function, in sessions of TensorFlow 1."""

import math

import pytest
import tensorflow as tf
from tensorflow.python.framework import function

tf1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("control_flow_v2")


def variable(name, value=0.0):
    return tf1.get_variable(name, initializer=value, use_resource=True)


def op_types(graph):
    return {op.type for op in graph.get_operations()}


def test_a_cond_takes_the_branch_that_its_predicate_says(target, graph):
    p = tf1.placeholder(tf.bool, [])
    x = tf1.placeholder(tf.float32, [])
    result = tf.cond(p, lambda: x + 1, lambda: x * 10)
    assert "StatelessIf" in op_types(graph)
    with tf1.Session(target) as session:
        assert session.run(result, {p: True, x: 3}) == 4
        assert session.run(result, {p: False, x: 3}) == 30


def test_nodes_that_call_functions_are_fetched_and_run_by_name(target, graph):
    x = tf1.placeholder(tf.int32, [])
    tf.cond(x > 5, lambda: (x, x + 1), lambda: (-x, x - 1), name="choice")
    tf.while_loop(lambda i, j: i < 10, lambda i, j: (i + 1, j + i), [x, x], name="loop")
    graph._unfetchable_ops.clear()  # the client's own reserve, which other clients do not have
    with tf1.Session(target) as session:
        assert session.run(["choice:0", "choice:1"], {x: 7}) == [7, 8]
        assert session.run("choice:1", {x: 2}) == 1
        [loop] = [op for op in graph.get_operations() if op.type == "StatelessWhile"]
        outputs = session.run([out.name for out in loop.outputs[2:4]], {x: 7})
        assert outputs == [10, 7 + 7 + 8 + 9]
        assert session.run(loop, {x: 7}) is None
        assert session.run(graph.get_operation_by_name("choice"), {x: 7}) is None


def test_a_while_loop_turns_until_its_condition_ends_it(target, graph):
    n = tf1.placeholder(tf.int32, [])
    total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), [0, 0])[1]
    with tf1.Session(target) as session:
        assert [session.run(total, {n: k}) for k in (0, 1, 4, 100)] == [
            0,
            0,
            14,
            328350,
        ]


def test_a_switch_case_takes_the_last_branch_for_any_other_index(target, graph):
    i = tf1.placeholder(tf.int32, [])
    x = tf1.placeholder(tf.float32, [2])
    result = tf.switch_case(i, [lambda: x + 1, lambda: x * 2, lambda: -x])
    with tf1.Session(target) as session:
        at = lambda k: session.run(result, {i: k, x: [3, 4]}).tolist()
        assert [at(k) for k in (0, 1, 2, 3, -1)] == [
            [4, 5],
            [6, 8],
            [-3, -4],
            [-3, -4],
            [-3, -4],
        ]


def test_a_cond_in_a_loop_in_a_cond(target, graph):
    p = tf1.placeholder(tf.bool, [])
    n = tf1.placeholder(tf.int32, [])

    def collatz():
        def body(x, steps):
            x = tf.cond(tf.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1)
            return x, steps + 1

        return tf.while_loop(lambda x, _: x > 1, body, [n, 0])[1]

    result = tf.cond(p, collatz, lambda: tf.constant(-1))
    with tf1.Session(target) as session:
        assert session.run(result, {p: True, n: 27}) == 111
        assert session.run(result, {p: False, n: 27}) == -1


def test_a_loop_in_a_loop(target, graph):
    n = tf1.placeholder(tf.int32, [])

    def row(i, total):
        inner = tf.while_loop(lambda j, _: j < i, lambda j, s: (j + 1, s + j), [0, total])
        return i + 1, inner[1]

    total = tf.while_loop(lambda i, _: i < n, row, [0, 0])[1]
    with tf1.Session(target) as session:
        assert session.run(total, {n: 6}) == sum(j for i in range(6) for j in range(i))


def test_a_variable_is_updated_in_each_iteration(target, graph):
    v = variable("v")

    def body(i, seen):
        with tf.control_dependencies([seen]):  # iterations overlap where nothing forbids it
            return i + 1, v.assign_add(tf.cast(i, tf.float32))

    seen = tf.while_loop(lambda i, _: i < 5, body, [0, 0.0])[1]
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(seen) == 10
        assert session.run(v) == 10


def test_iterations_of_a_function_see_what_those_before_them_did(target, graph):
    v = variable("v")

    @tf.function
    def climb():
        total = 0.0
        while v < 7:
            v.assign_add(2)
            total += v
        return total

    total = climb()
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(total) == 2 + 4 + 6 + 8
        assert session.run(v) == 8


def test_what_a_branch_does_is_not_done_if_another_is_taken(target, graph):
    yes, no = variable("yes"), variable("no")
    p = tf1.placeholder(tf.bool, [])
    result = tf.cond(p, lambda: yes.assign_add(1), lambda: no.assign_add(1))
    with tf1.Session(target) as session:
        session.run([yes.initializer, no.initializer])
        for taken in (True, False, True):
            session.run(result, {p: taken})
        assert session.run([yes, no]) == [2, 1]


def test_ops_without_outputs_run_in_the_branch_that_is_taken(target, graph):
    v = variable("v")
    p = tf1.placeholder(tf.bool, [])
    step = tf.cond(p, lambda: tf.group(v.assign_add(1)), lambda: tf.no_op())
    with tf1.Session(target) as session:
        session.run(v.initializer)
        for taken in (True, False, True, True):
            session.run(step, {p: taken})
        assert session.run(v) == 3


def test_control_inputs_of_a_cond_come_before_its_branches(target, graph):
    v = variable("v")
    p = tf1.placeholder(tf.bool, [])
    with tf.control_dependencies([v.assign_add(1)]):
        result = tf.cond(p, lambda: v.read_value() * 10, lambda: v.read_value())
    with tf.control_dependencies([result]):
        after = v.assign_add(100)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run([result, after], {p: True}) == [10, 101]
        assert session.run(result, {p: False}) == 102


def test_what_is_not_fetched_of_a_cond_is_not_needed(target, graph):
    never_fed = tf1.placeholder(tf.float32, [])
    x = tf1.placeholder(tf.float32, [])
    result = tf.cond(x > 0, lambda: (x, never_fed), lambda: (-x, never_fed * 2))
    with tf1.Session(target) as session:
        assert session.run(result[0], {x: -3}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(result[1], {x: -3})


def test_a_cond_that_is_not_to_be_lowered_is_one_thing(target, graph):
    v = variable("v")
    p = tf1.placeholder(tf.bool, [])

    def both():
        v.assign_add(1)
        return tf.constant(5)

    result = tf.cond(p, both, lambda: tf.constant(6), name="choice")
    graph.get_operation_by_name("choice")._set_attr(
        "_lower_using_switch_merge", tf1.AttrValue(b=False)
    )
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert [session.run(result, {p: taken}) for taken in (True, False, True)] == [
            5,
            6,
            5,
        ]
        assert session.run(v) == 2


def test_a_function_is_called(target, graph):
    @tf.function
    def scaled(x, by):
        return x * by, x + by

    x = tf1.placeholder(tf.float32, [None])
    product, total = scaled(x, 3.0)
    assert op_types(graph) & {"PartitionedCall", "StatefulPartitionedCall"}
    with tf1.Session(target) as session:
        got = session.run([product, total], {x: [1, 2]})
        assert [each.tolist() for each in got] == [[3, 6], [4, 5]]


def test_a_function_that_is_called_does_all_that_it_does(target, graph):
    v = variable("v")

    @tf.function
    def bump(by):
        v.assign_add(by)
        return tf.constant(7.0)

    result = bump(2.0)
    call = next(op for op in graph.get_operations() if op.type == "StatefulPartitionedCall")
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(result) == 7
        assert session.run(v) == 2
        assert session.run(call.outputs[0].name) == 7
        session.run(call)
        assert session.run(v) == 6


def test_functions_that_use_a_variable_take_turns(target, graph):
    v = variable("v", 1.0)

    @tf.function
    def double():
        v.assign(v * 2)
        return v.read_value()

    first = double()
    with tf.control_dependencies([first]):
        v_plus = v.assign_add(10)
    with tf.control_dependencies([v_plus]):
        second = double()
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run([first, second]) == [2, 24]


def test_functions_call_functions_with_loops_in_them(target, graph):
    @tf.function
    def power(x, n):
        result = tf.constant(1.0)
        for _ in tf.range(n):
            result *= x
        return result

    @tf.function
    def polynomial(x):
        if x > 0:
            return power(x, 3) + power(x, 2)
        return tf.constant(-1.0)

    x = tf1.placeholder(tf.float32, [])
    result = polynomial(x)
    with tf1.Session(target) as session:
        assert [session.run(result, {x: k}) for k in (2, 3, -5)] == [12, 36, -1]


def test_a_graph_grows_by_functions_between_steps(target, graph):
    x = tf1.placeholder(tf.float32, [])
    first = tf.cond(x > 0, lambda: x, lambda: -x, name="first")
    with tf1.Session(target) as session:
        assert session.run(first, {x: -2}) == 2
        raw = graph.get_tensor_by_name("first:0")
        second = tf.cond(raw > 5, lambda: raw * 2, lambda: first * 3)
        assert session.run(second, {x: -7}) == 14
        assert session.run([first, second], {x: 4}) == [4, 12]
        [third] = tf.while_loop(lambda k: k < 100, lambda k: [k + second], [raw])
        assert session.run(third, {x: 4}) == 100


def test_random_numbers_in_a_body_go_on_from_step_to_step(target, graph):
    p = tf1.placeholder(tf.bool, [])
    drawn = tf.cond(p, lambda: tf.random.uniform([3], seed=1), lambda: tf.zeros([3]))
    with tf1.Session(target) as session:
        first, second = session.run(drawn, {p: True}), session.run(drawn, {p: True})
        assert (first != second).any()
        assert session.run(drawn, {p: False}).tolist() == [0, 0, 0]


def test_a_queue_is_drained_by_a_loop(target, graph):
    queue = tf1.FIFOQueue(10, tf.int32, shapes=[[]])
    fill = queue.enqueue_many([[1, 2, 3, 4]])

    def more(total):
        with tf.control_dependencies([total]):
            return queue.size() > 0

    [total] = tf.while_loop(more, lambda total: [total + queue.dequeue()], [0])
    with tf1.Session(target) as session:
        session.run(fill)
        assert session.run(total) == 10


def test_a_function_does_what_its_own_conditionals_take(target, graph):
    @function.Defun(tf.float32)
    def checked(x):
        pass_on, refuse = tf1.raw_ops.Switch(data=x, pred=x > 10)
        with tf1.control_dependencies([tf.identity(refuse)]):
            refusal = tf1.raw_ops.Assert(condition=tf.constant(False), data=[x])
        with tf1.control_dependencies([refusal]):
            refused = tf.identity(refuse)
        return tf1.raw_ops.Merge(inputs=[pass_on, refused]).output

    x = tf1.placeholder(tf.float32, [])
    y = checked(x)
    with tf1.Session(target) as session:
        assert session.run(y, {x: 1}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(y, {x: 100})
        assert session.run(y, {x: 2}) == 2


def test_an_error_in_a_body_says_what_it_is(target, graph):
    x = tf1.placeholder(tf.float32, [None])
    p = tf1.placeholder(tf.bool, [])
    result = tf.cond(p, lambda: tf.reshape(x, [2, 2]), lambda: tf.reshape(x, [1, 3]))
    with tf1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 values"):
            session.run(result, {p: True, x: [1, 2, 3]})
        assert session.run(result, {p: False, x: [1, 2, 3]}).tolist() == [[1, 2, 3]]


def test_a_gradient_goes_through_a_cond_and_a_function(target, graph):
    @tf.function
    def cube(x):
        return x * x * x

    x = tf1.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: cube(x), lambda: 5 * x)
    [gradient] = tf1.gradients(y, x)
    with tf1.Session(target) as session:
        assert session.run(gradient, {x: 2}) == 12
        assert session.run(gradient, {x: -2}) == 5


def test_a_gradient_goes_back_through_the_iterations_of_a_loop(target, graph):
    x = tf1.placeholder(tf.float32, [])
    power = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]
    [gradient] = tf1.gradients(power, x)
    with tf1.Session(target) as session:
        assert session.run([power, gradient], {x: 2}) == [16, 32]


def test_maps_and_scans_keep_their_elements_in_tensor_lists(target, graph):
    x = tf1.placeholder(tf.float32, [None, 2])
    squares = tf.map_fn(lambda row: row * row, x)
    sums = tf.scan(lambda total, row: total + row, x)
    assert "TensorListSetItem" in {
        n.op for f in graph.as_graph_def().library.function for n in f.node_def
    }
    with tf1.Session(target) as session:
        rows = [[1, 2], [3, 4], [5, 6]]
        got = [each.tolist() for each in session.run([squares, sums], {x: rows})]
        assert got[0] == [[1, 4], [9, 16], [25, 36]]
        assert got[1] == [[1, 2], [4, 6], [9, 12]]


def test_partial_runs_and_callables_of_graphs_with_functions(target, graph):
    x = tf1.placeholder(tf.float32, [])
    y = tf1.placeholder(tf.float32, [])
    first = tf.cond(x > 0, lambda: x + 1, lambda: x - 1)
    [second] = tf.while_loop(lambda k: k < 50, lambda k: [k * y], [first])
    with tf1.Session(target) as session:
        call = session.make_callable(second, [x, y])
        assert call(1, 2) == 64
        handle = session.partial_run_setup([first, second], [x, y])
        assert session.partial_run(handle, first, {x: 1}) == 2
        assert session.partial_run(handle, second, {y: 3}) == 54


def gradients_of_calls(target, called, *values):
    """(the value, the gradients by each argument) of a function that a client calls by its name."""
    with tf1.Graph().as_default():
        args = [tf.constant(value, tf.float32) for value in values]
        y = called(*args)
        by_args = tf1.gradients(y, args)
        assert "SymbolicGradient" in op_types(tf1.get_default_graph())
        with tf1.Session(target) as session:
            return session.run([y, by_args])


def test_the_gradient_of_a_function_is_made_where_it_runs(target):
    @function.Defun(tf.float32, tf.float32)
    def scaled(x, w):
        return tf.tanh(x * w) * 2.0

    @function.Defun(tf.float32, tf.float32)
    def twice(x, w):
        return scaled(scaled(x, w), w) + w

    y, (by_x, by_w) = gradients_of_calls(target, twice, 0.5, 0.8)
    inner = 2 * math.tanh(0.4)
    outer = 2 * (1 - math.tanh(inner * 0.8) ** 2)
    assert y == pytest.approx(2 * math.tanh(inner * 0.8) + 0.8)
    by_inner = 2 * (1 - math.tanh(0.4) ** 2)
    assert by_x == pytest.approx(outer * 0.8 * by_inner * 0.8)
    assert by_w == pytest.approx(outer * (inner + 0.8 * by_inner * 0.5) + 1)


def test_functions_with_loops_and_conditionals_have_gradients(target):
    """TensorFlow's own sessions have none of these."""

    @function.Defun(tf.float32)
    def looped(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y + x), [0, x])[1]

    @function.Defun(tf.float32)
    def chosen(x):
        return tf.cond(x > 0.0, lambda: x * x, lambda: -3.0 * x)

    y, by_x = 0.1, 1.0
    for _ in range(3):
        y, by_x = y * y + 0.1, 2 * y * by_x + 1
    assert gradients_of_calls(target, looped, 0.1) == [
        pytest.approx(y),
        [pytest.approx(by_x)],
    ]
    assert gradients_of_calls(target, chosen, 2.0) == [4.0, [4.0]]
    assert gradients_of_calls(target, chosen, -2.0) == [6.0, [-3.0]]


def test_a_function_without_a_gradient_is_refused_by_name(target):
    @function.Defun(tf.float32)
    def barred(x):
        return tf.raw_ops.PreventGradient(input=x, message="by hand")

    with pytest.raises(tf.errors.OpError, match="Gradient explicitly disabled. Reason: by hand"):
        gradients_of_calls(target, barred, [1.0, 2.0])


def test_a_gradient_that_the_client_declares_is_what_a_function_has(target):
    @function.Defun(tf.float32, tf.float32)
    def other(x, dy):
        return x + dy

    @function.Defun(tf.float32, grad_func=other)
    def doubled(x):
        return x * 2

    assert gradients_of_calls(target, doubled, 100.0) == [200, [101]]


def test_a_declared_gradient_inside_of_another_function_is_not_passed_over(target):
    @function.Defun(tf.float32, tf.float32)
    def other(x, dy):
        return x + dy

    @function.Defun(tf.float32, grad_func=other)
    def doubled(x):
        return x * 2

    @function.Defun(tf.float32)
    def outer(x):
        return doubled(x) + 1.0

    with pytest.raises(tf.errors.UnimplementedError, match="has a gradient of its own"):
        gradients_of_calls(target, outer, 100.0)
