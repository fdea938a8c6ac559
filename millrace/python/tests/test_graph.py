import threading

import pytest

import millrace as tf


def names(graph):
    return [operation.name for operation in graph.get_operations()]


# ---- Names ---------------------------------------------------------------------------------------


def test_a_name_that_is_taken_gets_a_number(graph):
    for _ in range(3):
        tf.constant(1, name="c")
    tf.constant(1, name="C")  # names that differ only in case count as equal
    assert names(graph) == ["c", "c_1", "c_2", "C_3"]


def test_name_scopes_prefix_names(graph):
    with tf.name_scope("a") as scope:
        assert scope == "a/"
        tf.constant(1, name="x")
        with tf.name_scope("b"):
            tf.constant(1, name="x")
    with tf.name_scope("a"):
        tf.constant(1, name="x")
    with tf.name_scope(scope):
        tf.constant(1, name="y")
    assert names(graph) == ["a/x", "a/b/x", "a_1/x", "a/y"]


def test_constants_for_inputs_are_named_after_the_argument(graph):
    x = tf.placeholder(tf.float32, name="x")
    tf.add(x, 1.0, name="sum")
    assert names(graph) == ["x", "sum/y", "sum"]


@pytest.mark.parametrize("name", ["a b", "-a", "a:0", "ä"])
def test_names_that_a_graph_could_not_exchange_are_refused(name):
    with pytest.raises(ValueError):
        tf.constant(1, name=name)


# ---- Finding -------------------------------------------------------------------------------------


def test_nodes_and_outputs_are_found_by_name(graph):
    c = tf.constant(1, name="c")
    assert graph.get_operation_by_name("c") is c.op
    assert graph.get_tensor_by_name("c:0") is c
    assert graph.as_graph_element("c:0") is c
    assert graph.as_graph_element(c) is c


@pytest.mark.parametrize(
    "name, error",
    [("nothing:0", KeyError), ("c:1", KeyError), ("c:x", ValueError), ("c", ValueError)],
)
def test_tensor_names_that_name_nothing_say_why(graph, name, error):
    tf.constant(1, name="c")
    with pytest.raises(error):
        graph.get_tensor_by_name(name)


def test_an_operation_of_another_graph_is_refused(graph):
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="not an element of this graph"):
        graph.as_graph_element(other)
    with pytest.raises(ValueError, match="same graph"):
        graph.create_op("Neg", [other])


def test_a_node_is_made_of_the_op_s_name_and_its_inputs(graph):
    x = tf.constant([1, 2], name="x")
    negated = graph.create_op("Neg", [x], [tf.int32])
    assert (negated.name, negated.type) == ("Neg", "Neg")
    assert negated.outputs[0].dtype == tf.int32
    assert graph.create_op("Neg", [x]).name == "Neg_1"
    fed = graph.create_op(
        "Placeholder", [], [tf.float32], name="fed", attrs={"dtype": tf.float32, "shape": [2, None]}
    )
    assert fed.name == "fed" and fed.outputs[0].shape.as_list() == [2, None]
    with tf.name_scope("scope") as scope:
        assert graph.create_op("Neg", [x], name=scope).name == "scope"


def test_a_node_that_cannot_be_made_says_why(graph):
    with pytest.raises(TypeError, match="Input #1 is not a tensor: 5"):
        graph.create_op("Add", [tf.constant(1), 5])
    with pytest.raises(ValueError, match="'N' of op AddN is 0"):
        graph.create_op("AddN", [], [tf.int32], attrs={"T": tf.int32})
    with pytest.raises(ValueError, match="takes 1 inputs"):
        graph.create_op("Identity", [], [tf.int32], attrs={"T": tf.int32})
    with pytest.raises(ValueError, match="There is no op named 'Nge'"):
        graph.create_op("Nge", [])


def test_a_node_goes_where_its_inputs_are():
    with tf.Graph().as_default() as other:
        x = tf.constant(1.0)
    assert (x + 1.0).graph is other


def test_what_an_operation_is_made_of(graph):
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.constant(3.0, name="b")
    with tf.control_dependencies([b]):
        c = tf.add(a, a, name="c")
    assert c.op.type == "Add"
    assert list(c.op.inputs) == [a, a]
    assert c.op.control_inputs == [b.op]
    assert c.op.get_attr("T") == tf.float32
    assert c.op.node_def.input == ["a", "a", "^b"]
    assert a.consumers() == [c.op]
    with pytest.raises(ValueError, match="no attr"):
        c.op.get_attr("nothing")


def test_an_operation_knows_the_line_that_made_it():
    operation = tf.constant(1).op
    assert operation.defined_at[0] == __file__


# ---- Devices -------------------------------------------------------------------------------------


def test_inner_device_scopes_win_field_by_field():
    with tf.device("/job:worker/task:1"):
        with tf.device("/device:CPU:0"):
            assert tf.constant(1).device == "/job:worker/task:1/device:CPU:0"
        with tf.device("/job:ps"):
            assert tf.constant(1).device == "/job:ps/task:1"
        with tf.device(None):
            assert tf.constant(1).device == ""
    assert tf.constant(1).device == ""


def test_a_device_function_is_asked_for_each_node():
    asked = []

    def choose(operation):
        asked.append(operation.type)
        return "/job:ps" if operation.type == "VariableV2" else "/job:worker"

    with tf.device(choose):
        c = tf.constant(1)
        v = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32)
    assert (c.device, v.device) == ("/job:worker", "/job:ps")
    assert asked == ["Const", "VariableV2"]


@pytest.mark.parametrize("text", ["/job", "/task:x", "nonsense", "/device:CPU:x"])
def test_device_names_that_make_no_sense_are_refused(text):
    with pytest.raises(ValueError):
        with tf.device(text):
            pass


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("/cpu:0", "/device:CPU:0"),
        ("/GPU:1", "/device:GPU:1"),
        ("/job:ps/task:2", "/job:ps/task:2"),
        ("/task:2/job:ps", "/job:ps/task:2"),
        ("", ""),
        ("/job:a/device:CPU:*", "/job:a/device:CPU:*"),
    ],
)
def test_device_names_have_one_canonical_form(text, canonical):
    assert tf.DeviceSpec.from_string(text).to_string() == canonical


def test_colocated_nodes_take_the_device_of_what_they_stand_with():
    with tf.device("/job:ps/task:1"):
        v = tf.Variable(0.0, name="v")
    with tf.device("/job:worker"), tf.colocate_with(v):
        c = tf.constant(1)
    assert c.device == "/job:ps/task:1"
    assert c.op.get_attr("_class") == [b"loc:@v"]


# ---- Control dependencies ------------------------------------------------------------------------


def test_control_dependencies_nest_and_can_be_left():
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    with tf.control_dependencies([a]):
        with tf.control_dependencies([b.op]):
            c = tf.constant(3)
        with tf.control_dependencies(None):
            d = tf.constant(4)
        e = tf.constant(5)
    assert c.op.control_inputs == [a.op, b.op]
    assert d.op.control_inputs == []
    assert e.op.control_inputs == [a.op]


def test_a_node_that_reads_one_inside_the_scope_waits_through_it():
    a = tf.constant(1)
    with tf.control_dependencies([a]):
        b = tf.identity(a)
        c = tf.constant(2.0)
        d = tf.negative(c)
    assert b.op.control_inputs == []  # it reads what it would wait for
    assert c.op.control_inputs == [a.op]
    assert d.op.control_inputs == []


# ---- The rest ------------------------------------------------------------------------------------


def test_a_finalized_graph_takes_no_nodes(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)


def test_collections_hold_things_by_name(graph):
    tf.add_to_collection("mine", 1)
    tf.add_to_collections(["mine", "yours"], 2)
    assert tf.get_collection("mine") == [1, 2]
    assert tf.get_collection("nobody's") == []
    tf.get_collection_ref("mine").clear()
    assert tf.get_collection("mine") == []
    v = tf.Variable(0, name="scope/v")
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "scope") == [v]
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "other") == []


def test_default_graphs_nest():
    outer = tf.get_default_graph()
    with tf.Graph().as_default() as inner:
        assert tf.get_default_graph() is inner
        with pytest.raises(AssertionError):
            tf.reset_default_graph()
    assert tf.get_default_graph() is outer


def test_a_graph_survives_its_exchange_format(graph):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.add(x, [[1.0, 2.0]], name="y")
    with tf.control_dependencies([y]):
        tf.no_op(name="after")
    data = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default() as copy:
        (found,) = tf.import_graph_def(
            tf.GraphDef.FromString(data), name="", return_elements=["y:0"]
        )
        assert found.name == "y:0" and found.shape.as_list() == [None, 2]
        assert copy.get_operation_by_name("after").control_inputs == [found.op]
        assert copy.as_graph_def().SerializeToString() == data


def test_an_imported_graph_may_read_other_tensors(graph):
    x = tf.placeholder(tf.float32, name="x")
    tf.negative(x, name="y")
    definition = graph.as_graph_def()
    with tf.Graph().as_default() as copy:
        c = tf.constant(3.0)
        (y,) = tf.import_graph_def(definition, {"x": c}, ["y:0"])
        assert y.name == "import/y:0"
        assert y.op.inputs[0] is c
        assert copy.get_operation_by_name("import/x") is not None


def test_an_imported_loop_is_a_loop(graph):
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], name="loop")
    data = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(data, name="")
        assert copy.as_graph_def().SerializeToString() == data


def test_bytes_that_are_no_graph_are_refused():
    with pytest.raises(ValueError):
        tf.GraphDef.FromString(b"\x0a\xff")


def test_a_node_gives_the_same_objects_for_as_long_as_somebody_holds_them():
    graph = tf.get_default_graph()
    x = tf.constant(1.0, name="x")
    assert graph.get_tensor_by_name("x:0") is x
    operation = x.op
    assert graph.get_operation_by_name("x") is operation and x.op is operation
    assert operation.outputs[0] is x
    y = tf.identity(x)
    assert y.op.inputs[0] is x and x.consumers() == [y.op]


def test_tensors_are_found_again_after_the_program_has_let_go_of_them():
    graph = tf.get_default_graph()
    with tf.device("/cpu:0"):
        tf.constant([1, 2], name="x")
    found = graph.get_operation_by_name("x")
    assert (found.name, found.type, found.device) == ("x", "Const", "/device:CPU:0")
    assert found.defined_at[0] == __file__
    (x,) = found.outputs
    assert (x.name, x.dtype, x.shape.as_list(), x.value_index) == ("x:0", tf.int32, [2], 0)


def test_a_node_that_came_another_way_is_one_of_the_graph():
    graph = tf.get_default_graph()
    x = tf.constant(1.0, name="x")
    # As what builds in C++ adds it: nothing of Python is asked.
    node = graph.core.add("Neg", "negative", [x.endpoint], {})
    negative = graph.get_tensor_by_name("negative:0")
    assert negative.op.inputs[0] is x and negative.dtype == tf.float32
    assert graph.get_operations() == [x.op, negative.op] and graph.version == node + 1
    assert negative.op.defined_at is None
    assert tf.identity(x, name="negative").op.name == "negative_1"
    assert tf.identity(x, name="negative").op.defined_at is not None
    with tf.Session() as session:
        assert session.run(negative) == -1


def test_a_program_may_not_make_two_objects_of_one_tensor_from_two_threads():
    graph = tf.get_default_graph()
    names = [tf.constant(i).name for i in range(200)]
    found = [[], []]
    together = threading.Barrier(2)

    def look_up(into):
        together.wait(30)
        into.extend(graph.get_tensor_by_name(name) for name in names)

    threads = [threading.Thread(target=look_up, args=(each,)) for each in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found[0]) == 200 and all(a is b for a, b in zip(*found))


@pytest.mark.parametrize("name", ["a\\b", "a b", "-a", "_a", "a\n", "ä"])
def test_a_name_that_no_node_may_have_is_refused_at_once(name):
    with pytest.raises(ValueError, match="is not a valid node name"):
        tf.constant(1, name=name)
    with pytest.raises(ValueError, match="is not a valid scope name"), tf.name_scope(name):
        pass


def test_inside_of_a_scope_a_name_may_begin_with_any_of_its_signs():
    with tf.name_scope("outer"), tf.name_scope("_inner"):
        assert tf.constant(1, name="-x").name == "outer/_inner/-x:0"
