"""GraphDefs that somebody wrote: what makes no graph is refused before a node of it is there."""

import pytest

import millrace as tf

INT32, FLOAT = 3, 1


def field(number, data):
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def varint(value):
    value %= 2**64
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def as_type(number):
    return b"\x30" + varint(number)


def as_int(number):
    return b"\x18" + varint(number)


def node(name, op, *inputs, **attrs):
    """A node of a GraphDef in bytes; attributes are as_type(…) or as_int(…)."""
    text = field(1, name.encode()) + field(2, op.encode())
    text += b"".join(field(3, each.encode()) for each in inputs)
    for key, value in attrs.items():
        text += field(5, field(1, key.encode()) + field(2, value))
    return field(1, text)


def source(name="c"):
    return node(name, "Placeholder", dtype=as_type(INT32))


def identity(name, *inputs):
    return node(name, "Identity", *inputs, T=as_type(INT32))


def merge(name, *inputs):
    return node(name, "Merge", *inputs, T=as_type(INT32), N=as_int(len(inputs)))


@pytest.mark.parametrize(
    "data, message",
    [
        (identity("z"), r"Node 'z' \(Identity\) takes 1 inputs \(int32\), but has 0"),
        (
            source() + identity("z", "c", "c"),
            r"Node 'z' \(Identity\) takes 1 inputs \(int32\), but has 2",
        ),
        (
            node("z", "AddN", T=as_type(INT32), N=as_int(0)),
            "'N' of op AddN is 0; expected at least",
        ),
        (node("z", "AddN", T=as_type(INT32), N=as_int(-7)), "'N' of op AddN is -7"),
        (
            node("z", "AddN", T=as_type(INT32), N=as_int(2**63 - 1)),
            "must be between 0 and 1000000",
        ),
        (identity("z", "y") + identity("y", "z"), "a cycle that is no while loop: z -> y -> z"),
        (identity("z", "z"), "a cycle that is no while loop: z -> z"),
        (source() + merge("z", "c", "y") + identity("y", "z"), "a cycle that is no while loop"),
        (source() + source(), "Node 'c' is not unique"),
        (source() + identity("z", "c:7"), "invalid output 7 of source node c which has 1 outputs"),
        (source() + identity("z", "c:-1"), "Unknown input node 'c:-1'"),
        (source() + identity("z", "c:99999999999999999999"), "Unknown input node 'c:9"),
        (identity("z", "nowhere"), "Node 'z': Unknown input node 'nowhere'"),
        (node("z", "NoOp", "^nowhere"), "Node 'z': Unknown input node 'nowhere'"),
        (source() + identity("z", "^c", "c"), r"Node 'z' \(Identity\) takes 1 inputs"),
        (
            source() + node("z", "AddN", "c", "^c", "c", T=as_type(INT32), N=as_int(1)),
            "Control dependencies must come after regular dependencies",
        ),
        (
            source() + node("z", "Identity", "c", T=as_type(FLOAT)),
            "Input 0 of node z was passed int32 from c:0 incompatible with expected float",
        ),
        (node("z", "Placeholder", dtype=as_int(1)), "expected a value of kind type, not int"),
        (source("!!!"), "'!!!' is no name for a node"),
        (source(""), "a node has no name"),
        (
            node("z", "NoOp") + merge("m", "n") + node("n", "NextIteration", "m", T=as_type(INT32)),
            "m",
        ),
        (b"\x0a\xff", "malformed message"),
    ],
)
def test_what_makes_no_graph_is_refused_before_a_node_is_there(graph, data, message):
    with pytest.raises(ValueError, match=message):
        tf.import_graph_def(data, name="")
    assert len(graph.get_operations()) in (0, 1)


def test_an_unknown_op_is_not_found():
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Frobnicate'"):
        tf.import_graph_def(node("z", "Frobnicate"))


def test_a_name_that_is_no_text_is_an_error_that_shows_it():
    data = identity("z", "??").replace(b"??", b"\xff\xfe")
    with pytest.raises(ValueError, match="Unknown input node '\ufffd\ufffd'"):
        tf.import_graph_def(data)


def test_nodes_may_come_in_any_order():
    data = identity("z", "y") + identity("y", "c") + source()
    (z,) = tf.import_graph_def(data, name="", return_elements=["z"])
    assert z.inputs[0].name == "y:0"


@pytest.mark.parametrize(
    "element, message",
    [
        ("y", "Requested return node 'y' not found in graph def"),
        ("c:3", r"Invalid return output 3 of node 'c', which has 1 output\(s\)"),
        ("c:x", "Cannot convert 'c:x' to a tensor name"),
    ],
)
def test_a_wrong_return_element_is_named(element, message):
    with pytest.raises(ValueError, match=message):
        tf.import_graph_def(source(), return_elements=[element])


def test_a_mapped_input_of_the_wrong_type_is_refused():
    floats = tf.constant(1.0, name="floats")
    with pytest.raises(ValueError, match="was passed float from floats:0 incompatible"):
        tf.import_graph_def(identity("z", "c"), {"c": floats})


def test_a_map_of_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"that were not found in graph_def: \[nobody:0\]"):
        tf.import_graph_def(source(), {"nobody:0": tf.constant(1)})


def test_a_mapped_input_may_be_a_variable_and_a_plain_value():
    v = tf.Variable(5, name="v")
    assign = node("a", "Assign", "ref", "value", T=as_type(INT32))
    (a,) = tf.import_graph_def(assign, {"ref": v._ref(), "value": 7}, ["a:0"])
    with tf.Session() as session:
        assert session.run(a) == 7


def test_attributes_that_the_op_does_not_know_stay_what_they_are():
    as_list_of_shapes = field(1, field(7, field(2, b"\x08\x05")))
    data = node(
        "z", "Placeholder", dtype=as_type(INT32), _type=as_type(FLOAT), _shapes=as_list_of_shapes
    )
    with tf.Graph().as_default() as graph:
        (z,) = tf.import_graph_def(data, name="", return_elements=["z"])
        assert z.get_attr("_type") == tf.float32
        assert z.get_attr("_shapes") == [tf.TensorShape([5])]
        again = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString()).node[0]
    assert again.attr["_type"] == ("type", FLOAT)
    assert again.attr["_shapes"] == ("list(shape)", [(5,)])


def test_what_stands_together_in_a_graph_def_does_so_in_its_scope():
    with tf.Graph().as_default() as other:
        tf.constant(1, name="c")
        with tf.colocate_with(other.get_operation_by_name("c")):
            tf.constant(2, name="d")
        data = other.as_graph_def().SerializeToString()
    (d,) = tf.import_graph_def(data, name="in", return_elements=["d"])
    assert d.colocation_groups() == [b"loc:@in/c"]


def test_only_a_graph_def_is_imported():
    with pytest.raises(TypeError, match="graph_def must be a GraphDef"):
        tf.import_graph_def(5)
