"""tf.train's optimizers: each rule beside the same rule in NumPy, names of slots, and what is refused."""

import numpy as np
import pytest

import millrace as tf


# ---- The rules, as papers and TensorFlow's documentation have them: one generator per optimizer that
# is sent gradients and answers with the variable.


def _descent(w, rate=0.1):
    while True:
        w = w - rate * (yield w)


def _momentum(w, rate=0.1, momentum=0.9, nesterov=False):
    held = np.zeros_like(w)
    while True:
        g = yield w
        held = momentum * held + g
        w = w - rate * (g + momentum * held if nesterov else held)


def _adagrad(w, rate=0.1, start=0.1):
    squares = np.full_like(w, start)
    while True:
        g = yield w
        squares = squares + g * g
        w = w - rate * g / np.sqrt(squares)


def _adadelta(w, rate=1.0, rho=0.95, epsilon=1e-6):
    squares, updates = np.zeros_like(w), np.zeros_like(w)
    while True:
        g = yield w
        squares = rho * squares + (1 - rho) * g * g
        update = np.sqrt(updates + epsilon) / np.sqrt(squares + epsilon) * g
        updates = rho * updates + (1 - rho) * update * update
        w = w - rate * update


def _adam(w, rate=0.1, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m, v, t = np.zeros_like(w), np.zeros_like(w), 0
    while True:
        g = yield w
        t += 1
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        scaled = rate * np.sqrt(1 - beta2**t) / (1 - beta1**t)
        w = w - scaled * m / (np.sqrt(v) + epsilon)


def _rms_prop(w, rate=0.1, decay=0.9, momentum=0.5, epsilon=1e-10, centered=False):
    squares, mean, held = np.ones_like(w), np.zeros_like(w), np.zeros_like(w)
    while True:
        g = yield w
        squares = decay * squares + (1 - decay) * g * g
        mean = decay * mean + (1 - decay) * g if centered else mean
        held = momentum * held + rate * g / np.sqrt(squares - mean * mean + epsilon)
        w = w - held


def _ftrl(w, rate=0.1, start=0.1, l1=0.05, l2=0.02):
    squares, linear = np.full_like(w, start), np.zeros_like(w)
    while True:
        g = yield w
        grown = squares + g * g
        linear = linear + g - (np.sqrt(grown) - np.sqrt(squares)) / rate * w
        squares = grown
        below = np.sqrt(squares) / rate + 2 * l2
        w = np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / below, 0.0)


def _adagrad_da(w, rate=0.1, start=0.1, l1=0.05, l2=0.02):
    sums, squares, t = np.zeros_like(w), np.full_like(w, start), 0
    while True:
        g = yield w
        t += 1
        sums, squares = sums + g, squares + g * g
        shrunk = np.sign(sums) * np.maximum(np.abs(sums) - l1 * t, 0)
        w = -rate * shrunk / (l2 * t * rate + np.sqrt(squares))


def _proximal(w, rate, l1, l2):
    return np.sign(w) * np.maximum(np.abs(w) - rate * l1, 0) / (1 + rate * l2)


def _proximal_descent(w, rate=0.1, l1=0.05, l2=0.02):
    while True:
        w = _proximal(w - rate * (yield w), rate, l1, l2)


def _proximal_adagrad(w, rate=0.1, start=0.1, l1=0.05, l2=0.02):
    squares = np.full_like(w, start)
    while True:
        g = yield w
        squares = squares + g * g
        own = rate / np.sqrt(squares)
        w = _proximal(w - own * g, own, l1, l2)


_PROXIMAL = {"l1_regularization_strength": 0.05, "l2_regularization_strength": 0.02}
_RULES = {
    "descent": (lambda step: tf.train.GradientDescentOptimizer(0.1), _descent),
    "momentum": (lambda step: tf.train.MomentumOptimizer(0.1, 0.9), _momentum),
    "nesterov": (
        lambda step: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda w: _momentum(w, nesterov=True),
    ),
    "adagrad": (lambda step: tf.train.AdagradOptimizer(0.1), _adagrad),
    "adadelta": (lambda step: tf.train.AdadeltaOptimizer(1.0, epsilon=1e-6), _adadelta),
    "adam": (lambda step: tf.train.AdamOptimizer(0.1), _adam),
    "rms_prop": (lambda step: tf.train.RMSPropOptimizer(0.1, momentum=0.5), _rms_prop),
    "centered": (
        lambda step: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        lambda w: _rms_prop(w, centered=True),
    ),
    "ftrl": (lambda step: tf.train.FtrlOptimizer(0.1, **_PROXIMAL), _ftrl),
    "adagrad_da": (lambda step: tf.train.AdagradDAOptimizer(0.1, step, **_PROXIMAL), _adagrad_da),
    "proximal_descent": (
        lambda step: tf.train.ProximalGradientDescentOptimizer(0.1, **_PROXIMAL),
        _proximal_descent,
    ),
    "proximal_adagrad": (
        lambda step: tf.train.ProximalAdagradOptimizer(0.1, **_PROXIMAL),
        _proximal_adagrad,
    ),
}
_START = np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]])


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", _RULES)
def test_every_step_is_that_of_the_rule(session, name, use_resource):
    make, rule = _RULES[name]
    w = tf.Variable(_START.astype(np.float32), use_resource=use_resource)
    step = tf.train.create_global_step()
    train = make(step).minimize(tf.reduce_sum(tf.square(w) * 0.5 + w), global_step=step)
    session.run(tf.global_variables_initializer())
    expected = rule(_START)
    at = next(expected)
    for number in range(1, 6):
        session.run(train)
        at = expected.send(at + 1)
        assert np.allclose(session.run(w), at, rtol=1e-4, atol=1e-5), number
        assert session.run(step) == number


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", _RULES)
def test_slices_change_their_rows_by_the_sum_of_what_repeated_ones_bring(
    session, name, use_resource
):
    make, rule = _RULES[name]
    w = tf.Variable(_START.astype(np.float32), use_resource=use_resource)
    step = tf.train.create_global_step()
    optimizer = make(step)
    ((gradient, _),) = pairs = optimizer.compute_gradients(
        tf.reduce_sum(tf.gather(w, [2, 0, 2]) * [[1.0, 2.0]])
    )
    assert isinstance(gradient, tf.IndexedSlices)
    train = optimizer.apply_gradients(pairs, global_step=step)
    session.run(tf.global_variables_initializer())
    expected = rule(_START)
    next(expected)
    for _ in range(3):
        session.run(train)
        at = expected.send(np.array([[1.0, 2.0], [0.0, 0.0], [2.0, 4.0]]))
        found = session.run(w)
        assert np.allclose(found[[0, 2]], at[[0, 2]], rtol=1e-4, atol=1e-5)
        assert np.allclose(found[1], _START[1])


def test_slots_have_tensorflows_names(session):
    w, b = tf.Variable([1.0], name="w"), tf.Variable(2.0, name="b")
    optimizer = tf.train.AdamOptimizer()
    train = optimizer.minimize(tf.reduce_sum(w * b))
    assert train.name == "Adam" and train.type == "NoOp"
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(w, "m").name == "w/Adam:0"
    assert optimizer.get_slot(w, "v").name == "w/Adam_1:0"
    assert optimizer.get_slot(w, "other") is None
    names = [variable.name for variable in optimizer.variables()]
    assert names == "b/Adam:0 b/Adam_1:0 beta1_power:0 beta2_power:0 w/Adam:0 w/Adam_1:0".split()
    assert all(variable not in tf.trainable_variables() for variable in optimizer.variables())
    assert all(variable in tf.global_variables() for variable in optimizer.variables())
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("Adam/update_w/ApplyAdam").type == "ApplyAdam"
    assert graph.get_tensor_by_name("Adam/learning_rate:0").dtype == tf.float32
    second = tf.train.AdamOptimizer()
    assert second.minimize(tf.reduce_sum(w * b)).name == "Adam_1"
    assert second.get_slot(w, "m").name == "w/Adam_2:0"


def test_rates_may_be_tensors_functions_and_of_another_type(session):
    w = tf.Variable(np.array([1.0, 2.0]))
    rate = tf.placeholder(tf.float32, [])
    by_tensor = tf.train.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(w))
    by_call = tf.train.GradientDescentOptimizer(lambda: 0.5).minimize(tf.reduce_sum(w))
    session.run(tf.global_variables_initializer())
    session.run(by_tensor, {rate: 0.25})
    session.run(by_call)
    assert session.run(w).tolist() == [0.25, 1.25]


def test_gates_constraints_and_gradients_of_ones_own(session):
    w = tf.Variable([1.0, -2.0], constraint=lambda value: tf.maximum(value, 0.0))
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    for gate in (optimizer.GATE_NONE, optimizer.GATE_OP, optimizer.GATE_GRAPH):
        ((gradient, variable),) = optimizer.compute_gradients(
            tf.reduce_sum(w), gate_gradients=gate, grad_loss=3.0
        )
        assert variable is w and session.run(gradient).tolist() == [3.0, 3.0]
    train = optimizer.apply_gradients([(tf.constant([0.5, -3.0]), w), (None, tf.Variable(1.0))])
    session.run(tf.global_variables_initializer())
    session.run(train)
    assert session.run(w).tolist() == [0.5, 1.0]


def test_a_gate_of_the_graph_keeps_slices():
    w = tf.Variable([[1.0], [2.0]])
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    ((gradient, _),) = optimizer.compute_gradients(
        tf.reduce_sum(tf.gather(w, [1])), gate_gradients=optimizer.GATE_GRAPH
    )
    assert isinstance(gradient, tf.IndexedSlices)


def test_what_can_not_be_optimized_is_refused():
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="No variables to optimize"):
        optimizer.minimize(x)
    w = tf.Variable(1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable, check your"):
        optimizer.minimize(x)
    with pytest.raises(ValueError, match="No gradients provided for any variable: "):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match="No variables provided"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="Invalid type tf.int32 for "):
        optimizer.minimize(tf.constant(1))
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        optimizer.minimize(w * 1.0, gate_gradients=7)
    with pytest.raises(NotImplementedError, match="unsupported type"):
        optimizer.minimize(w * 1.0, var_list=["w"])
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        tf.train.GradientDescentOptimizer(0.1, name="")
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive"):
        tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
    with pytest.raises(ValueError, match="learning_rate_power .* needs to be negative or zero"):
        tf.train.FtrlOptimizer(0.1, learning_rate_power=0.5)


def test_an_optimizer_of_ones_own_says_only_what_becomes_of_a_variable(session):
    class Signs(tf.train.Optimizer):
        def _create_slots(self, var_list):
            for variable in var_list:
                self._zeros_slot(variable, "count", self._name)

        def _apply_dense(self, grad, var):
            count = self.get_slot(var, "count").assign_add(tf.ones_like(grad))
            with tf.control_dependencies([count]):
                return var.assign_sub(tf.sign(grad)).op

    w = tf.Variable([1.0, -2.0], use_resource=False)
    optimizer = Signs(False, "Signs")
    train = optimizer.minimize(tf.reduce_sum(tf.square(w)))
    session.run(tf.global_variables_initializer())
    session.run([train])
    assert session.run(w).tolist() == [0.0, -1.0]
    assert session.run(optimizer.get_slot(w, "count")).tolist() == [1.0, 1.0]
    tf.Variable(1.0, use_resource=True)
    with pytest.raises(NotImplementedError, match="Signs does not change resource variables"):
        optimizer.minimize(tf.reduce_sum(tf.trainable_variables()[-1] * 1.0))


def test_variables_may_be_the_values_of_a_dictionary(session):
    weights = {"b": tf.Variable(1.0), "a": tf.Variable(2.0)}
    loss = weights["a"] * weights["b"]
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(loss, var_list=weights.values())
    assert [variable for _, variable in pairs] == list(weights.values())
