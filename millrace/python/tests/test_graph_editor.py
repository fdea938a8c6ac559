"""tf.contrib.graph_editor: parts of graphs picked, copied, and connected to others."""

import pytest

import millrace as tf

ge = tf.contrib.graph_editor


class Chain:
    """a -> b = a + c -> d = b * 2 -> e = d + b, in the scope "chain"; f waits for d."""

    def __init__(self):
        self.a = tf.constant(1.0, name="a")
        self.c = tf.constant(10.0, name="c")
        with tf.name_scope("chain"):
            self.b = tf.add(self.a, self.c, name="b")
            self.d = tf.multiply(self.b, 2.0, name="d")
            self.e = tf.add(self.d, self.b, name="e")
        with tf.control_dependencies([self.d]):
            self.f = tf.no_op(name="f")


@pytest.fixture
def chain(graph):
    return Chain()


def names(items):
    return sorted(item.name for item in items)


def test_nodes_are_picked_by_where_they_lead(chain):
    assert names(ge.get_backward_walk_ops(chain.d)) == ["a", "c", "chain/b", "chain/d", "chain/d/y"]
    assert names(ge.get_forward_walk_ops(chain.b)) == ["chain/d", "chain/e"]
    assert names(ge.get_forward_walk_ops(chain.b.op, inclusive=False)) == ["chain/d", "chain/e"]
    controls = ge.ControlOutputs(chain.a.graph)
    assert "f" in names(ge.get_forward_walk_ops(chain.b, control_outputs=controls))
    assert names(ge.get_backward_walk_ops(chain.f, control_inputs=True))[-1] == "f"
    assert names(ge.get_backward_walk_ops(chain.e, stop_at_ts=[chain.b])) == [
        "chain/d",
        "chain/d/y",
        "chain/e",
    ]
    between = ge.get_walks_intersection_ops(chain.b, chain.d)
    assert names(between) == ["chain/d"]
    assert "f" in names(ge.get_walks_union_ops(chain.d.op, chain.a, control_ios=controls))
    within = ge.get_within_boundary_ops(chain.a.graph, chain.e.op, [chain.b.op])
    assert names(within) == ["chain/b", "chain/d", "chain/d/y", "chain/e"]


def test_nodes_are_picked_by_name(graph, chain):
    assert names(ge.filter_ops_from_regex(graph, "/[de]$")) == ["chain/d", "chain/e"]
    assert names(ge.get_name_scope_ops(graph, "chain/")) == names(ge.sgv_scope("chain", graph).ops)
    assert names(ge.filter_ts_from_regex(graph, "chain/b")) == ["chain/b:0"]
    assert ge.select_ops("^a$", chain.e.op, graph=graph) == [chain.a.op, chain.e.op]
    assert ge.select_ops([chain.a, chain.e.op]) == [chain.e.op]
    ops, ts = ge.select_ops_and_ts("^a$", "(?#ts)^c:0$", graph=graph)
    assert ops == [chain.a.op] and ts == [chain.c]
    with pytest.raises(ValueError, match="keyword argument 'graph'"):
        ge.select_ops("a")
    with pytest.raises(TypeError, match="Expected an object of type Operation"):
        ge.make_list_of_op([chain.a])


def test_a_view_tells_what_goes_in_and_out(graph, chain):
    view = ge.sgv_scope("chain", graph)
    assert view.inputs == [chain.a, chain.c] and view.outputs == [chain.e]
    assert len(view) == 4 and view.graph is graph and view.consumers() == []
    assert view.find_op_by_name("chain/d") is not None and view.input_index(chain.c) == 1
    inputs, outputs, inside = ge.compute_boundary_ts([chain.b.op, chain.d.op])
    assert chain.a in inputs and outputs == [chain.b, chain.d] and inside == [chain.b]
    assert ge.get_generating_ops([chain.b]) == [chain.b.op]
    assert ge.get_consuming_ops(chain.b) == [chain.d.op, chain.e.op]
    assert set(ge.get_ops_ios(chain.d.op)) == {chain.b.op, chain.d.op.inputs[1].op, chain.e.op}


def test_a_copy_reads_what_is_put_in_the_place_of_its_inputs(session, graph, chain):
    view = ge.sgv_scope("chain", graph)
    five = tf.constant(5.0)
    copied, info = ge.copy_with_input_replacements(
        view, {chain.a: five}, dst_scope="again", src_scope="chain"
    )
    made = info.transformed(chain.e)
    assert made.name == "again/e:0" and copied.outputs == [made]
    assert info.original(made) is chain.e or info.original(made) == chain.e
    assert session.run([chain.e, made]) == [33.0, 45.0]
    again = ge.graph_replace([chain.e, chain.c], {chain.b: five})
    assert again[1] == chain.c and session.run(again) == [15.0, 10.0]
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(chain.b, {chain.e: five})
    (slope,) = tf.gradients(made, five)
    assert session.run(slope) == 3.0


def test_a_copy_in_another_graph_has_placeholders(chain):
    with tf.Graph().as_default() as other:
        _, info = ge.copy([chain.b.op, chain.d.op, chain.d.op.inputs[1].op], dst_graph=other)
    feeds = {info.transformed_ts[chain.a]: 2.0, info.transformed_ts[chain.c]: 3.0}
    with tf.Session(graph=other) as session:
        assert session.run(info.transformed(chain.d), feeds) == 10.0


def test_copies_keep_attributes_devices_and_waiting(session, graph):
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        kernel = tf.ones([2, 2, 1, 1])
        y = tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "VALID", name="y")
    with tf.control_dependencies([tf.no_op("waited")]):
        z = tf.sqrt(y, name="z")
    other = tf.ones([1, 4, 4, 1])
    _, info = ge.copy_with_input_replacements([y.op, z.op], {x: other})
    again = info.transformed(y)
    assert again.op.get_attr("strides") == [1, 2, 2, 1] and again.device == y.device
    assert names(info.transformed(z).op.control_inputs) == ["waited"]
    assert session.run(info.transformed(z)).ravel().tolist() == [2.0] * 4


def test_nodes_are_made_to_read_others(session, chain):
    later = tf.constant(100.0)
    assert ge.reroute_ts(later, chain.b, can_modify=[chain.e.op]) == 1
    assert ge.swap_ts(chain.a, chain.c) == 2
    ge.add_control_inputs(chain.e.op, [chain.c.op])
    assert chain.c.op in chain.e.op.control_inputs
    assert list(chain.b.op.inputs) == [chain.c, chain.a]
    assert session.run([chain.b, chain.e]) == [11.0, 122.0]
    with pytest.raises(ValueError, match="already a control_input"):
        ge.add_control_inputs(chain.e.op, chain.c.op)
    with pytest.raises(ValueError, match="can't be read in the place of"):
        ge.reroute_ts(tf.constant(1), chain.b)
    with pytest.raises(RuntimeError, match="a session already runs it"):
        ge.reroute_ts(later, chain.d)


def test_a_node_that_reads_a_younger_one_is_copied_behind_it(session, graph, chain):
    later = tf.multiply(tf.constant(5.0, name="five"), 2.0, name="later")
    ge.reroute_ts(later, chain.a)
    made = ge.graph_replace(chain.b, {later.op.inputs[0]: tf.constant(50.0)})
    assert session.run([chain.b, made]) == [20.0, 110.0]


def test_a_circle_is_not_copied(chain):
    ge.reroute_ts(chain.e, chain.a)
    with pytest.raises(ValueError, match="reads what is made of its own outputs"):
        ge.copy(ge.get_backward_walk_ops(chain.e))


def test_scopes_are_told_by_their_whole_names(graph):
    for name in ("s.1", "sx1"):
        with tf.name_scope(name):
            tf.constant(1.0, name="inside")
    tf.constant(2.0, name="whole")
    assert names(ge.sgv_scope("s.1", graph).ops) == ["s.1/inside"]
    assert names(ge.sgv_scope("whole", graph).ops) == ["whole"]


def test_placeholders_are_in_the_scope_of_the_copies(chain):
    with tf.Graph().as_default() as first:
        view, _ = ge.copy([chain.e.op], first, "first")
    assert names(first.get_operations()) == ["first/chain/e", "first/geph__b_0", "first/geph__d_0"]
    with tf.Graph().as_default() as second:
        ge.copy(view, second, "second", "first/chain")
    assert names(second.get_operations()) == ["second/e", "second/geph__b_0", "second/geph__d_0"]


def test_what_is_in_a_loop_is_not_copied(graph):
    end = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    with pytest.raises(NotImplementedError, match="inside a cond or a while_loop"):
        ge.copy(ge.get_backward_walk_ops(end))
    assert ge.ph(tf.float32, [2]).shape.as_list() == [2]
