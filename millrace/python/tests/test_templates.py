"""tf.make_template, variables in parts by their older function, functions computed again for gradients."""

import numpy as np
import pytest

import millrace as tf


def scaled(x, name, initializer=tf.ones_initializer()):
    return x * tf.get_variable(name, [], initializer=initializer)


def test_calls_of_a_template_share_variables_and_templates_do_not(session):
    first = tf.make_template("scale", scaled, name="y")
    second = tf.make_template("scale", scaled, name="y")
    made = [first(2.0), first(3.0), second(4.0)]
    assert [v.op.name for v in tf.trainable_variables()] == ["scale/y", "scale_1/y"]
    session.run(tf.global_variables_initializer())
    session.run(first.trainable_variables[0].assign(10.0))
    assert session.run(made) == [20.0, 30.0, 4.0]
    assert first.variable_scope_name == "scale/" and first.name == "scale"
    assert first.variables == first.global_variables == tf.trainable_variables()[:1]
    assert first.non_trainable_variables == first.local_variables == []
    assert made[1].op.name.startswith("scale_1/") or made[1].op.name.startswith("scale_2/")


def test_a_template_may_have_its_scope_before_it_is_called():
    with tf.variable_scope("outer"):
        made = tf.make_template("inner", scaled, create_scope_now_=True, name="v")
        lazy = tf.make_template("inner", scaled, name="v")
    assert made.variable_scope.name == "outer/inner" and lazy.variable_scope is None
    made(1.0), lazy(1.0), made(2.0)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names == ["outer/inner/v", "inner/v"]
    assert made.trainable_variables == tf.trainable_variables()[:1]


def test_a_templates_name_may_be_its_own():
    tf.make_template("s", scaled, unique_name_="mine", name="v")(1.0)
    with pytest.raises(ValueError, match="mine/v already exists"):
        tf.make_template("s", scaled, unique_name_="mine", name="v")(1.0)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        tf.make_template("s", scaled, unique_name_="mine", name="v")(1.0)
    assert len(tf.trainable_variables()) == 1
    with pytest.raises(ValueError, match="cannot be None"):
        tf.make_template(None, scaled)


def test_a_template_refuses_what_would_be_made_with_each_call():
    made = tf.make_template("t", lambda: tf.Variable(1.0))
    made()
    with pytest.raises(ValueError, match="perhaps you used tf.Variable") as caught:
        made()
    (note,) = caught.value.__notes__
    assert "in the template 't', which was made at" in note and "test_templates.py" in note


def test_a_template_passes_a_getter_on():
    def getter(getter, name, *args, **kwargs):
        kwargs["trainable"] = False
        return getter(name, *args, **kwargs)

    made = tf.make_template("t", scaled, custom_getter_=getter, name="v")
    made(1.0), made(2.0)
    assert tf.trainable_variables() == [] and len(made.non_trainable_variables) == 1


def test_a_variable_in_parts_is_a_list_of_variables(session):
    parts = tf.create_partitioned_variables(
        [4, 2], [2, 1], tf.constant(np.arange(8.0).reshape(4, 2), tf.float32), name="table"
    )
    assert [part.op.name for part in parts] == ["table/part_0", "table/part_1"]
    again = tf.create_partitioned_variables([4, 2], [2, 1], None, name="table", reuse=True)
    assert [part.op.name for part in again] == ["table/part_0", "table/part_1"]
    session.run(tf.global_variables_initializer())
    assert session.run(parts[1]).tolist() == [[4.0, 5.0], [6.0, 7.0]]
    with pytest.raises(ValueError, match="must have the length"):
        tf.create_partitioned_variables([4, 2], [2], None)
    with pytest.raises(ValueError, match="rank at least 1"):
        tf.create_partitioned_variables([], [], None)
    (unnamed,) = tf.create_partitioned_variables([3], [1], tf.zeros_initializer())
    assert unnamed.op.name == "PartitionedVariable/part_0"


def test_a_variable_scope_by_its_older_function():
    with tf.variable_op_scope([tf.constant(1.0)], None, "older") as scope:
        assert scope.name == "older"
        assert tf.get_variable("v", []).op.name == "older/v"


def test_a_variable_that_is_read_in_copies_is_not_trained():
    read = tf.VariableSynchronization.ON_READ
    kept = tf.get_variable(
        "kept", [], synchronization=read, aggregation=tf.VariableAggregation.MEAN
    )
    plain = tf.get_variable("plain", [], synchronization=tf.VariableSynchronization.AUTO)
    assert tf.trainable_variables() == [plain] and not kept.trainable
    with pytest.raises(ValueError, match="ON_READ only for"):
        tf.get_variable("other", [], trainable=True, synchronization=read)
    with pytest.raises(ValueError, match="ON_READ only for"):
        tf.Variable(1.0, trainable=True, synchronization=read)


def test_a_gradient_is_passed_through(session):
    x = tf.constant([0.4, 1.6])
    rounded = tf.grad_pass_through(tf.round)(x)
    (gradient,) = tf.gradients(rounded * [2.0, 3.0], [x])
    assert session.run([rounded, gradient])[1].tolist() == [2.0, 3.0]
    assert session.run(rounded).tolist() == [0.0, 2.0]


def test_what_is_computed_again_has_the_same_gradients(session):
    def layer(x, power):
        weights = tf.get_variable("w", [2], initializer=tf.constant_initializer(3.0))
        return tf.pow(x * weights, power), tf.reduce_sum(weights)

    x = tf.constant([1.0, 2.0])
    with tf.variable_scope("net", use_resource=True):
        cube, total = tf.recompute_grad(layer)(x, power=3.0)
    (variable,) = tf.trainable_variables()
    before = len(tf.get_default_graph().get_operations())
    found = tf.gradients([cube, total], [x, variable])
    added = tf.get_default_graph().get_operations()[before:]
    assert any(op.type == "Pow" for op in added)  # the function itself, once more
    session.run(tf.global_variables_initializer())
    by_x, by_weights = session.run(found)
    np.testing.assert_allclose(by_x, 3 * np.square([3.0, 6.0]) * 3.0)
    np.testing.assert_allclose(by_weights, 3 * np.square([3.0, 6.0]) * [1.0, 2.0] + 1.0)
    assert len(tf.trainable_variables()) == 1
