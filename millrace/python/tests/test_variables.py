import threading

import numpy as np
import pytest

import millrace as tf

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


@KINDS
def test_a_variable_has_its_initial_value_then_what_is_assigned(session, use_resource):
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    session.run(v.initializer)
    assert session.run(v).tolist() == [1, 2]
    assert session.run(tf.assign(v, [3.0, 4.0])).tolist() == [3, 4]
    assert session.run(tf.assign_add(v, [1.0, 1.0])).tolist() == [4, 5]
    assert session.run(v.assign_sub([0.5, 0.5])).tolist() == [3.5, 4.5]
    assert session.run(v.read_value()).tolist() == [3.5, 4.5]
    assert v.eval(session).tolist() == [3.5, 4.5]
    v.load([9.0, 9.0], session)
    assert session.run(v.value()).tolist() == [9, 9]


@KINDS
def test_a_variable_is_used_like_a_tensor(session, use_resource):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=use_resource)
    session.run(tf.global_variables_initializer())
    assert session.run(v + 1).tolist() == [[2, 3], [4, 5]]
    assert session.run(2 * v).tolist() == [[2, 4], [6, 8]]
    assert session.run(v[1]).tolist() == [3, 4]
    assert session.run(-v[0, 1]) == -2
    assert session.run(v @ v).tolist() == [[7, 10], [15, 22]]
    assert v.shape == [2, 2] and v.dtype.base_dtype == tf.float32


@KINDS
def test_reading_before_initializing_is_a_failed_precondition(session, use_resource):
    v = tf.Variable(0, name="total", use_resource=use_resource)
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized") as caught:
        session.run(v)
    assert "total" in caught.value.message
    # An update of a resource that nobody has made yet, as TensorFlow's servers put it.
    update_error = tf.errors.NotFoundError if use_resource else tf.errors.FailedPreconditionError
    with pytest.raises(update_error, match="total"):
        session.run(tf.assign_add(v, 1))


@KINDS
def test_who_is_not_initialized_is_reported(session, use_resource):
    a = tf.Variable(1, name="a", use_resource=use_resource)
    tf.Variable(2, name="b", use_resource=use_resource)
    report = tf.report_uninitialized_variables()
    assert session.run(report).tolist() == [b"a", b"b"]
    session.run(a.initializer)
    assert session.run(report).tolist() == [b"b"]
    session.run(tf.global_variables_initializer())
    assert session.run(report).tolist() == []
    assert session.run(tf.is_variable_initialized(a))


def test_a_reference_variable_is_known_by_its_name(graph):
    v = tf.Variable(0, name="total")
    assert (v.name, v.op.type, v.dtype) == ("total:0", "VariableV2", tf.int32_ref)
    assert v.initializer.name == "total/Assign"
    assert v.value().name == "total/read:0"
    assert v.value().op.get_attr("_class") == [b"loc:@total"]
    assert v.initial_value.name == "total/initial_value:0"


def test_a_resource_variable_is_known_by_its_shared_name(graph):
    v = tf.Variable(0, name="total", use_resource=True)
    assert (v.name, v.op.type, v.dtype) == ("total:0", "VarHandleOp", tf.int32)
    assert v.handle.op.get_attr("shared_name") == b"total"


def test_additions_from_many_threads_all_count(session):
    v = tf.Variable(0)
    add = tf.assign_add(v, 1, use_locking=True).op
    session.run(v.initializer)

    def work():
        for _ in range(200):
            session.run(add)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(v) == 1600


def test_variables_join_collections():
    a = tf.Variable(1.0)
    b = tf.Variable(1.0, trainable=False)
    c = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a]
    assert tf.local_variables() == [c]


def test_an_initial_value_may_depend_on_another_variable(session):
    a = tf.Variable(tf.constant(3.0))
    b = tf.Variable(a.initialized_value() * 2)
    session.run(tf.global_variables_initializer())
    assert session.run(b) == 6


def test_an_initial_value_may_be_a_function(session):
    with tf.device("/device:CPU:0"):
        v = tf.Variable(lambda: tf.zeros([2]) + 1, name="v")
    session.run(v.initializer)
    assert session.run(v).tolist() == [1, 1]
    assert v.initial_value.op.name.startswith("v/Initializer/")


def test_a_variable_needs_a_value_of_known_shape():
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with pytest.raises(ValueError, match="shape"):
        tf.Variable(tf.placeholder(tf.float32))


def test_assigning_another_shape_must_be_allowed(session):
    v = tf.Variable([1.0], validate_shape=False)
    session.run(v.initializer)
    session.run(tf.assign(v, [1.0, 2.0], validate_shape=False))
    assert session.run(v).tolist() == [1, 2]
    with pytest.raises(ValueError):
        tf.assign(tf.Variable([1.0]), [1.0, 2.0])


def test_slices_of_a_variable_are_updated(session):
    v = tf.Variable(np.zeros((3, 2), np.float32))
    session.run(v.initializer)
    session.run(tf.scatter_add(v, [0, 2, 0], np.ones((3, 2), np.float32)))
    assert session.run(v).tolist() == [[2, 2], [0, 0], [1, 1]]


# ---- get_variable --------------------------------------------------------------------------------


def test_get_variable_makes_one_variable_per_name():
    with tf.variable_scope("a"):
        v = tf.get_variable("w", [2, 3])
        with pytest.raises(ValueError, match="already exists"):
            tf.get_variable("w", [2, 3])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("w", [2, 3]) is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("other", [1])
        with pytest.raises(ValueError, match="shape"):
            tf.get_variable("w", [5])
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w") is v
        tf.get_variable("new", [1])
    assert v.name == "a/w:0"


def test_variable_scopes_nest_and_give_defaults(session):
    with tf.variable_scope("a", initializer=tf.constant_initializer(3.0)) as outer:
        with tf.variable_scope("b"):
            v = tf.get_variable("v", [2])
            x = tf.constant(1, name="x")
    with tf.variable_scope(outer, reuse=True):
        with tf.variable_scope("b"):
            assert tf.get_variable("v", [2]) is v
    session.run(tf.global_variables_initializer())
    assert session.run(v).tolist() == [3, 3]
    assert (v.name, x.name) == ("a/b/v:0", "a/b/x:0")


def test_a_default_name_is_made_unique():
    names = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer"):
            names.append(tf.get_variable("w", [1]).name)
    assert names == ["layer/w:0", "layer_1/w:0"]


def test_initializers_make_what_they_say(session):
    shape = [200, 100]
    v = {
        "zeros": tf.get_variable("z", shape, initializer=tf.zeros_initializer()),
        "ones": tf.get_variable("o", shape, initializer=tf.ones_initializer),
        "normal": tf.get_variable("n", shape, initializer=tf.random_normal_initializer(2.0, 0.1)),
        "cut": tf.get_variable("t", shape, initializer=tf.truncated_normal_initializer(0.0, 1.0)),
        "uniform": tf.get_variable("u", shape, initializer=tf.random_uniform_initializer(-1, 1)),
        "default": tf.get_variable("d", shape),
        "value": tf.get_variable("c", initializer=[1.0, 2.0]),
    }
    session.run(tf.global_variables_initializer())
    v = session.run(v)
    assert v["zeros"].max() == 0 and v["ones"].min() == 1
    assert abs(v["normal"].mean() - 2) < 0.01 and abs(v["normal"].std() - 0.1) < 0.01
    assert np.abs(v["cut"]).max() <= 2
    assert -1 <= v["uniform"].min() < -0.9 and 0.9 < v["uniform"].max() < 1
    limit = np.sqrt(6 / 300)
    assert np.abs(v["default"]).max() <= limit and np.abs(v["default"]).max() > 0.9 * limit
    assert v["value"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "value, dtype",
    [
        (3, tf.int32),
        (2**40, tf.int64),
        (2.5, tf.float32),
        (True, tf.bool),
        ("text", tf.string),
        ([1, 2], tf.int32),
        (np.int64(5), tf.int64),
        (np.float64(2.5), tf.float64),
        (np.zeros(2, np.float16), tf.float16),
    ],
)
def test_a_named_variable_made_of_a_value_has_its_type_as_in_tensorflow(session, value, dtype):
    def plain(getter, name, **arguments):
        return getter(name, **arguments)

    made = [tf.get_variable("given", initializer=value)]
    made.append(tf.get_variable("by_getter", initializer=value, custom_getter=plain))
    made.append(tf.get_variable("tensor", initializer=tf.constant(value)))
    with tf.variable_scope("scope", initializer=value, dtype=tf.float64):
        made.append(tf.get_variable("inherited"))
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(1)):
        is_scalar = np.ndim(value) == 0
        made.append(
            tf.get_variable("part", initializer=tf.constant(value, shape=[1] if is_scalar else [2]))
        )
    assert [v.dtype.base_dtype for v in made] == [dtype] * 5
    session.run(tf.global_variables_initializer())
    expected = b"text" if isinstance(value, str) else value
    assert np.array_equal(session.run(made[0]), np.asarray(expected))


def test_the_type_asked_for_is_that_of_a_named_variable(session):
    assert tf.get_variable("a", initializer=3, dtype=tf.int64).dtype.base_dtype == tf.int64
    assert tf.get_variable("b", initializer=3, dtype="float64").dtype.base_dtype == tf.float64


def test_what_computes_an_initial_value_asks_for_no_place_of_its_own():
    """Beside the variable, whatever scope of devices surrounds both."""
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:1")):
        variable = tf.get_variable("v", [3])
    made = [n for n in tf.get_default_graph().get_operations() if "/Initializer/" in n.name]
    assert made and all(
        operation.device in ("", "/job:ps/task:0") and operation.colocation_groups() == [b"loc:@v"]
        for operation in made
    )
    assert variable.device == "/job:ps/task:0"


def test_one_number_for_a_large_table_is_one_number_in_the_graph(graph, session):
    table = tf.get_variable("table", [1000, 1000], initializer=tf.constant_initializer(0.5))
    words = tf.get_variable("words", [2000], tf.string, tf.constant_initializer("a"))
    tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(table))
    assert len(graph.as_graph_def().SerializeToString()) < 20000
    session.run(tf.global_variables_initializer())
    assert session.run([tf.reduce_min(table), tf.reduce_max(table)]) == [0.5, 0.5]
    assert set(session.run(words)) == {b"a"}


def test_a_counter_fetched_beside_what_counts_it_up_has_the_new_number(session):
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([1.0, 2.0])
    loss = tf.reduce_sum(tf.square(w))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    session.run(tf.global_variables_initializer())
    for number in range(1, 4):
        before = session.run(w)
        _, got, after = session.run([train, step, w])
        assert got == number and np.allclose(after, 0.8 * before)


def _trained_model():
    with tf.variable_scope("v"):
        w, b = tf.get_variable("w", [2]), tf.get_variable("b", [2])
    return tf.train.AdamOptimizer().minimize(tf.reduce_sum(w * b))


def test_a_second_model_trains_with_the_slots_of_the_first(session):
    _trained_model()
    slots = ["v/w/Adam", "v/w/Adam_1", "v/b/Adam", "v/b/Adam_1"]
    made = [v.op.name for v in tf.global_variables()]
    assert made == ["v/w", "v/b", "beta1_power", "beta2_power", *slots]
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        again = _trained_model()
    assert [v.op.name for v in tf.global_variables()] == [*made, "beta1_power_1", "beta2_power_1"]
    session.run(tf.global_variables_initializer())
    session.run(again)
    # Where nothing is reused, another optimizer has slots of its own.
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.trainable_variables()[0]))
    assert tf.global_variables()[-1].op.name == "v/w/Adam_3"


def test_a_scope_that_ends_frees_all_default_names_below_it():
    def opened(name):
        with tf.variable_scope(None, name) as scope:
            return scope.name

    with tf.variable_scope("a") as a:
        assert [opened("x"), opened("x")] == ["a/x", "a/x_1"]
    assert [opened("a/x"), opened("a/x")] == ["a/x", "a/x_1"]
    with tf.variable_scope(tf.get_variable_scope()):
        with tf.variable_scope(a):
            assert opened("x") == "a/x_2"
        with tf.variable_scope("a"):
            assert opened("x") == "a/x_2"
        assert opened("a/x") == "a/x"
    # What was left inside of a scope that was entered again counts there alone.
    assert opened("a/x") == "a/x_2"
    with tf.variable_scope("a"):
        pass
    assert opened("a/x") == "a/x"
