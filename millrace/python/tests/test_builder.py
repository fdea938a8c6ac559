"""A graph that C++ code adds nodes to, as gradients will: Python sees them as its own."""

import pytest

import millrace as tf


def derived(op, *tensors):
    """A node that C++ code makes at the program's place."""
    graph = tensors[0].graph
    return graph.operation(graph.core.add_through_scope(op, [t.endpoint for t in tensors]))


def test_a_node_of_cpp_has_all_that_surrounds_the_program(graph):
    x = tf.constant([1.0, 2.0], name="x")
    wait = tf.no_op(name="wait")
    with tf.name_scope("outer"), tf.device("/job:ps/task:1"), tf.control_dependencies([wait]):
        with tf.device("/device:CPU:0"):
            made = derived("Neg", x)
        after = tf.negative(x)
    assert made.name == "outer/Neg"
    assert made.device == "/job:ps/task:1/device:CPU:0"
    assert made.control_inputs == [wait]
    assert made.outputs[0].shape == [2]
    assert made.outputs[0].dtype == tf.float32
    assert graph.get_operation_by_name("outer/Neg") is made
    assert graph.get_operations()[-2:] == [made, after.op]
    assert after.op.name == "outer/Neg_1"
    assert x.consumers() == [made, after.op]


def test_a_node_of_cpp_runs_and_so_do_later_ones(session):
    x = tf.constant([1.0, 2.0])
    made = derived("Neg", x).outputs[0]
    assert list(session.run(made)) == [-1.0, -2.0]
    assert list(session.run(derived("Neg", made).outputs[0])) == [1.0, 2.0]


def test_what_depends_on_a_node_of_cpp_does_not_wait_again():
    x, wait = tf.constant(1.0), tf.no_op()
    with tf.control_dependencies([wait]):
        made = derived("Neg", x)
        after = tf.negative(made.outputs[0])
    assert made.control_inputs == [wait]
    assert after.op.control_inputs == []


def test_a_device_function_is_asked_about_a_node_of_cpp():
    asked = []

    def choose(op):
        asked.append((op.type, op.device))
        return "/task:3" if op.type == "Neg" else ""

    x = tf.constant(1.0)
    with tf.device("/job:ps"), tf.device(choose), tf.device("/device:CPU:0"):
        made = derived("Neg", x)
    assert asked == [("Neg", "/device:CPU:0")]
    assert made.device == "/job:ps/task:3"


def test_what_a_device_function_raises_reaches_the_program(graph):
    def choose(op):
        raise LookupError(f"no device for {op.name}")

    x = tf.constant(1.0)
    with tf.device(choose):
        with pytest.raises(LookupError, match="no device for Neg"):
            derived("Neg", x)
        with pytest.raises(LookupError, match="no device for other"):
            tf.negative(x, name="other")
    assert derived("Neg", x).device == ""


def test_a_node_of_cpp_is_colocated():
    with tf.device("/job:ps/task:1"):
        x = tf.constant(1.0, name="x")
    with tf.device("/job:worker"), tf.colocate_with(x):
        made = derived("Neg", x)
    assert made.colocation_groups() == [b"loc:@x"]
    assert made.device == "/job:ps/task:1"


def test_a_node_of_cpp_inside_a_loop_reads_what_enters_it(graph):
    x = tf.constant(2, name="x")
    made = []

    def body(i):
        made.append(derived("Neg", x))
        return i - made[0].outputs[0]

    result = tf.while_loop(lambda i: i < 7, body, [tf.constant(0)])
    assert made[0].inputs[0].op.type == "Enter"
    assert made[0].is_in_loop
    with tf.Session() as session:
        assert session.run(result) == 8


def test_what_a_node_of_cpp_may_not_be_is_an_error_and_leaves_the_graph_usable(graph):
    x, text = tf.constant(1.0), tf.constant("words")
    size = graph.version
    with pytest.raises(ValueError, match="AddV2"):
        derived("AddV2", x, text)
    assert graph.version == size
    assert derived("Neg", x).type == "Neg"


def test_a_graph_can_be_freed_after_blocks_of_every_kind():
    import gc
    import weakref

    def build():
        graph = tf.Graph()
        with graph.as_default(), tf.device(lambda op: ""), tf.name_scope("s"):
            x = tf.constant(1)
            with tf.control_dependencies([x]), tf.colocate_with(x):
                tf.cond(tf.constant(True), lambda: x + 1, lambda: x)
                tf.while_loop(lambda i: i < 3, lambda i: i + x, [x])
        return weakref.ref(graph)

    held = build()
    gc.collect()
    assert held() is None


def test_nothing_is_colocated_with_a_node_of_another_graph():
    with tf.Graph().as_default():
        elsewhere = tf.constant(1.0)
    with pytest.raises(ValueError, match="not an element of this graph"):
        with tf.get_default_graph().colocate_with(elsewhere):
            pass
