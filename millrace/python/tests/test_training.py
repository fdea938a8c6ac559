"""Whole models train in one process as their rules say: the loss of every step is NumPy's."""

import numpy as np
import pytest

import millrace as tf

_STEPS = 12


def _synthetic(seed):
    """Points around three centres, and which centre each belongs to."""
    random = np.random.RandomState(seed)
    labels = random.randint(0, 3, 60)
    points = random.randn(3, 4)[labels] * 2 + random.randn(60, 4)
    return points, labels


def _softmax_loss(logits, labels):
    """(mean cross entropy, its gradient by the logits)."""
    logits = logits - logits.max(1, keepdims=True)
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(probabilities[rows, labels]).mean()
    slope = probabilities.copy()
    slope[rows, labels] -= 1
    return loss, slope / len(labels)


def _regression(parameters, x, labels):
    w, b = parameters
    loss, slope = _softmax_loss(x @ w + b, labels)
    return loss, [x.T @ slope, slope.sum(0)]


def _perceptron(parameters, x, labels):
    w1, b1, w2, b2 = parameters
    hidden = np.tanh(x @ w1 + b1)
    loss, slope = _softmax_loss(hidden @ w2 + b2, labels)
    back = (slope @ w2.T) * (1 - hidden * hidden)
    return loss, [x.T @ back, back.sum(0), hidden.T @ slope, slope.sum(0)]


def _logits(variables, x):
    """The models above as graphs: a layer for each pair of a matrix and a vector."""
    for w, b in zip(variables[:-2:2], variables[1:-2:2]):
        x = tf.nn.tanh(tf.nn.xw_plus_b(x, w, b))
    return tf.nn.xw_plus_b(x, variables[-2], variables[-1])


# ---- Rules in NumPy: each is made for one parameter, and changes it by gradients ------------------


class _Descent:
    def __call__(self, w, g):
        return w - 0.5 * g


class _Momentum:
    held = 0.0

    def __call__(self, w, g):
        self.held = 0.9 * self.held + g
        return w - 0.1 * self.held


class _Adam:
    m = v = t = 0.0

    def __call__(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        rate = 0.05 * np.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        return w - rate * self.m / (np.sqrt(self.v) + 1e-8)


_OPTIMIZERS = {
    "descent": (lambda: tf.train.GradientDescentOptimizer(0.5), _Descent),
    "momentum": (lambda: tf.train.MomentumOptimizer(0.1, 0.9), _Momentum),
    "adam": (lambda: tf.train.AdamOptimizer(0.05), _Adam),
}
_MODELS = {
    "regression": (_regression, [(4, 3), (3,)]),
    "perceptron": (_perceptron, [(4, 8), (8,), (8, 3), (3,)]),
}


def _expected_losses(model, parameters, rule, x, labels):
    rules = [rule() for _ in parameters]
    losses = []
    for _ in range(_STEPS):
        loss, gradients = model(parameters, x, labels)
        losses.append(loss)
        parameters = [change(w, g) for change, w, g in zip(rules, parameters, gradients)]
    return losses, parameters


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
@pytest.mark.parametrize("model", _MODELS)
def test_the_loss_of_every_step_is_that_of_the_rule(session, model, optimizer, use_resource):
    x, labels = _synthetic(seed=5)
    function, shapes = _MODELS[model]
    make, rule = _OPTIMIZERS[optimizer]
    random = np.random.RandomState(11)
    start = [random.randn(*shape) * 0.3 for shape in shapes]
    expected, last = _expected_losses(function, start, rule, x, labels)
    assert expected[-1] < 0.8 * expected[0]

    inputs = tf.placeholder(tf.float32, [None, 4])
    classes = tf.placeholder(tf.int64, [None])
    variables = [tf.Variable(w.astype(np.float32), use_resource=use_resource) for w in start]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=classes, logits=_logits(variables, inputs)
    )
    loss = tf.reduce_mean(losses)
    step = tf.train.get_or_create_global_step()
    train = make().minimize(loss, global_step=step)
    session.run(tf.global_variables_initializer())
    feeds = {inputs: x, classes: labels}
    found = []
    for _ in range(_STEPS):
        # Read before the step changes anything: in one run the order would be open.
        found.append(session.run(loss, feeds))
        session.run(train, feeds)
    assert np.allclose(found, expected, rtol=2e-5), (found, expected)
    for variable, w in zip(variables, last):
        assert np.allclose(session.run(variable), w, rtol=1e-3, atol=1e-5)
    assert session.run(step) == _STEPS


def test_clipped_gradients_a_falling_rate_and_an_average_go_together(session):
    x, labels = _synthetic(seed=6)
    start = [np.random.RandomState(1).randn(4, 3), np.zeros(3)]
    variables = [tf.Variable(w.astype(np.float32)) for w in start]
    one_hot = tf.one_hot(tf.constant(labels), 3)
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits_v2(
            labels=one_hot, logits=_logits(variables, tf.constant(x, tf.float32))
        )
    )
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.5, step, 4, 0.5)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    pairs = optimizer.compute_gradients(loss)
    clipped, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 0.3)
    update = optimizer.apply_gradients(zip(clipped, variables), global_step=step)
    averages = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([update]):
        train = averages.apply(variables)
    session.run(tf.global_variables_initializer())

    parameters, mean = start, start
    for number in range(_STEPS):
        expected, gradients = _regression(parameters, x, labels)
        norm = np.sqrt(sum((g * g).sum() for g in gradients))
        scale = 0.3 / max(norm, 0.3) * 0.5 * 0.5 ** (number / 4)
        parameters = [w - scale * g for w, g in zip(parameters, gradients)]
        mean = [(m + w) / 2 for m, w in zip(mean, parameters)]
        assert session.run(loss) == pytest.approx(expected, rel=2e-5)
        session.run(train)
    for variable, average in zip(variables, mean):
        assert np.allclose(session.run(averages.average(variable)), average, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("use_resource", [False, True])
def test_word_vectors_learn_by_rows(session, use_resource):
    random = np.random.RandomState(2)
    start = random.randn(10, 4)
    table = tf.Variable(start.astype(np.float32), use_resource=use_resource)
    words, others = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    one, other = tf.nn.embedding_lookup(table, words), tf.nn.embedding_lookup(table, others)
    likeness = tf.reduce_sum(one * other, axis=1)
    loss = tf.reduce_sum(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(likeness), logits=likeness)
    )
    optimizer = tf.train.AdagradOptimizer(0.2)
    train = optimizer.minimize(loss)
    session.run(tf.global_variables_initializer())
    w, squares = start, np.full_like(start, 0.1)
    for _ in range(_STEPS):
        a, b = random.randint(0, 8, 6), random.randint(0, 8, 6)
        scores = (w[a] * w[b]).sum(1)
        assert session.run(loss, {words: a, others: b}) == pytest.approx(
            np.log1p(np.exp(-scores)).sum(), rel=1e-4
        )
        slope = -1 / (1 + np.exp(scores))[:, None]
        gradient = np.zeros_like(w)
        np.add.at(gradient, a, slope * w[b])
        np.add.at(gradient, b, slope * w[a])
        squares = squares + gradient * gradient
        w = w - 0.2 * gradient / np.sqrt(squares)
        session.run(train, {words: a, others: b})
    found = session.run(table)
    assert np.allclose(found, w, rtol=1e-3, atol=1e-4)
    assert np.array_equal(found[8:], start[8:].astype(np.float32))
