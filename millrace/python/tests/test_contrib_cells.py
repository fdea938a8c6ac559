"""Cells of tf.contrib.rnn beside NumPy: names of variables, one step, and a step after a step."""

import numpy as np
import pytest

import millrace as tf

rnn = tf.contrib.rnn
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(2, 3, 4).astype(np.float32)  # batch, time, depth


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _run(session, cell, x=X, unrolled=False):
    """(outputs by time, last state, {name of variable: value}) of a cell."""
    if unrolled:
        outputs, state = tf.nn.static_rnn(
            cell, tf.unstack(tf.constant(x), axis=1), dtype=tf.float32
        )
        outputs = tf.stack(outputs, axis=1)
    else:
        outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    names = [v.op.name.removeprefix("rnn/") for v in tf.trainable_variables()]
    outputs, state, values = session.run([outputs, state, tf.trainable_variables()])
    return outputs, state, dict(zip(names, values))


@pytest.mark.parametrize("unrolled", [False, True])
def test_an_update_gate(session, unrolled):
    outputs, state, held = _run(session, rnn.UGRNNCell(5), unrolled=unrolled)
    kernel, bias = held.pop("ugrnn_cell/kernel"), held.pop("ugrnn_cell/bias")
    assert held == {}
    h = np.zeros([2, 5])
    for t in range(3):
        g, c = np.split(np.concatenate([X[:, t], h], 1) @ kernel + bias, 2, 1)
        g = _sigmoid(g + 1)
        h = g * h + (1 - g) * np.tanh(c)
        np.testing.assert_allclose(outputs[:, t], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(state, outputs[:, -1])


def test_gates_through_time_and_layers(session):
    outputs, _, held = _run(session, rnn.IntersectionRNNCell(5, num_in_proj=5))
    name = "intersection_rnn_cell/"
    assert sorted(held) == [
        *(f"{name}bias", f"{name}in_projection/bias", f"{name}in_projection/kernel"),
        f"{name}kernel",
    ]
    h = np.zeros([2, 5])
    for t in range(3):
        x = X[:, t] @ held[f"{name}in_projection/kernel"]
        gh, a, gy, y = np.split(np.concatenate([x, h], 1) @ held[f"{name}kernel"], 4, 1)
        gh, gy = _sigmoid(gh + 1), _sigmoid(gy + 1)
        h = gh * h + (1 - gh) * np.tanh(a)
        expected = gy * x + (1 - gy) * np.maximum(y, 0)
        np.testing.assert_allclose(outputs[:, t], expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="num_in_proj should be set"):
        rnn.IntersectionRNNCell(5)(tf.constant(X[:, 0]), tf.zeros([2, 5]))


def test_independent_units(session):
    outputs, _, held = _run(session, rnn.IndRNNCell(5))
    w, u, _ = (held[f"ind_rnn_cell/{name}"] for name in ("kernel_w", "kernel_u", "bias"))
    h = np.zeros([2, 5])
    for t in range(3):
        h = np.tanh(X[:, t] @ w + h * u)
        np.testing.assert_allclose(outputs[:, t], h, rtol=1e-4, atol=1e-5)


def test_a_simple_recurrent_unit(session):
    outputs, state, held = _run(session, rnn.SRUCell(5))
    c = np.zeros([2, 5])
    for t in range(3):
        x, f, r, shown = np.split(X[:, t] @ held["sru_cell/kernel"], 4, 1)
        f, r = _sigmoid(f), _sigmoid(r)
        c = f * c + (1 - f) * x
        expected = r * np.tanh(c) + (1 - r) * shown
        np.testing.assert_allclose(outputs[:, t], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state, c, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "kwargs", [{}, {"use_peepholes": True, "num_proj": 3, "num_unit_shards": 2}]
)
def test_what_is_forgotten_makes_room(session, kwargs):
    cell = rnn.CoupledInputForgetGateLSTMCell(5, **kwargs)
    outputs, state, held = _run(session, cell)
    held = {
        name.removeprefix("coupled_input_forget_gate_lstm_cell/"): v for name, v in held.items()
    }
    kernel = np.concatenate([held[n] for n in sorted(held) if n in ("W_0", "W_1")])
    assert ("W_1" in held) == bool(kwargs)
    c, m = np.zeros([2, 5]), np.zeros([2, cell.output_size])
    zero = np.zeros(5)
    for t in range(3):
        j, f, o = np.split(np.concatenate([X[:, t], m], 1) @ kernel + held["B"], 3, 1)
        f = _sigmoid(f + 1 + held.get("W_F_diag", zero) * c)
        c = f * c + (1 - f) * np.tanh(j)
        m = _sigmoid(o + held.get("W_O_diag", zero) * c) * np.tanh(c)
        m = m @ held["W_P_0"] if kwargs else m
        np.testing.assert_allclose(outputs[:, t], m, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state.c, c, rtol=1e-4, atol=1e-5)


def test_a_normalized_state_is_one_tensor_if_asked(session):
    cell = rnn.CoupledInputForgetGateLSTMCell(
        5, state_is_tuple=False, layer_norm=True, norm_gain=2.0
    )
    outputs, state, held = _run(session, cell)
    assert state.shape == (2, 10)
    names = sorted(name.partition("/")[2] for name in held)
    parts = ("forget", "output", "state", "transform")
    scales = [f"{part}/{name}" for part in parts for name in ("beta", "gamma")]
    assert names == sorted(["B", "W_0", *scales])
    np.testing.assert_allclose(state[:, :5].std(1), [2, 2], rtol=1e-3)


def test_units_open_at_times_of_their_own(session):
    times = tf.constant([[[0.0], [1.0], [2.0]], [[0.5], [7.0], [9.0]]])
    cell = rnn.PhasedLSTMCell(5, ratio_on=0.5, period_init_min=2.0, period_init_max=4.0)
    outputs, state = tf.nn.dynamic_rnn(cell, (times, X), dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    names = [v.op.name.removeprefix("rnn/phased_lstm_cell/") for v in tf.trainable_variables()]
    held = dict(zip(names, session.run(tf.trainable_variables())))
    outputs, times = session.run([outputs, times])
    assert ((held["period"] >= 2) & (held["period"] <= 4)).all()
    assert ((held["phase"] >= 0) & (held["phase"] <= held["period"])).all()
    c, h = np.zeros([2, 5]), np.zeros([2, 5])
    for t in range(3):
        both = np.concatenate([X[:, t], h], 1)
        i, f = np.split(_sigmoid(both @ held["mask_gates/kernel"]), 2, 1)
        new_c = c * f + i * np.tanh(both @ held["new_input/kernel"])
        new_h = np.tanh(new_c) * _sigmoid(both @ held["output_gate/kernel"])
        ratio = np.mod(times[:, t] - held["phase"], held["period"]) / held["period"]
        up = 2 * ratio / held["ratio_on"]
        k = np.where(ratio < held["ratio_on"], 2 - up, 0.001 * ratio)
        k = np.where(ratio < 0.5 * held["ratio_on"], up, k)
        c, h = k * new_c + (1 - k) * c, k * new_h + (1 - k) * h
        np.testing.assert_allclose(outputs[:, t], h, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("skips", [False, True])
def test_gates_that_are_convolutions(session, skips):
    images = RANDOM.randn(2, 3, 4, 5, 2).astype(np.float32)
    cell = rnn.Conv2DLSTMCell(
        input_shape=[4, 5, 2], output_channels=3, kernel_shape=[1, 1], skip_connection=skips
    )
    outputs, state, held = _run(session, cell, images)
    kernel, bias = (held[f"conv_2d_lstm_cell/{name}"] for name in ("kernel", "biases"))
    c = h = np.zeros([2, 4, 5, 3])
    for t in range(3):
        both = np.concatenate([images[:, t], h], -1)
        i, j, f, o = np.split(both @ kernel[0, 0] + bias, 4, -1)
        c = _sigmoid(f + 1) * c + _sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * _sigmoid(o)
        np.testing.assert_allclose(outputs[:, t, ..., :3], h, rtol=1e-3, atol=1e-5)
    assert outputs.shape[-1] == (5 if skips else 3) and state.h.shape == (2, 4, 5, 3)
    for rank, make in ((1, rnn.Conv1DLSTMCell), (3, rnn.Conv3DLSTMCell)):
        other = make(input_shape=[4] * rank + [2], output_channels=3, kernel_shape=[2] * rank)
        made, _ = other(tf.zeros([2] + [4] * rank + [2]), other.zero_state(2, tf.float32))
        assert made.shape.as_list() == [2] + [4] * rank + [3]
    with pytest.raises(ValueError, match="Invalid input_shape"):
        rnn.ConvLSTMCell(2, [4, 2], 3, [1])


@pytest.mark.parametrize("unrolled", [False, True])
def test_attention_to_the_last_outputs(session, unrolled):
    cell = rnn.AttentionCellWrapper(rnn.BasicRNNCell(5), attn_length=2, attn_vec_size=3)
    outputs, state, held = _run(session, cell, unrolled=unrolled)
    held = {name.removeprefix("attention_cell_wrapper/"): value for name, value in held.items()}
    assert sorted(held) == sorted(
        [
            *("kernel", "bias", "basic_rnn_cell/kernel", "basic_rnn_cell/bias"),
            *("attention/attn_w", "attention/attn_v", "attention/kernel", "attention/bias"),
            *("attn_output_projection/kernel", "attn_output_projection/bias"),
        ]
    )
    own, seen, last = np.zeros([2, 5]), np.zeros([2, 5]), np.zeros([2, 2, 5])
    for t in range(3):
        x = np.concatenate([X[:, t], seen], 1) @ held["kernel"]
        own = np.tanh(np.concatenate([x, own], 1) @ held["basic_rnn_cell/kernel"])
        y = own @ held["attention/kernel"]
        features = last @ held["attention/attn_w"][0, 0]
        scores = (held["attention/attn_v"] * np.tanh(features + y[:, None])).sum(-1)
        weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        seen = (weights[..., None] * last).sum(1)
        out = np.concatenate([own, seen], 1) @ held["attn_output_projection/kernel"]
        last = np.concatenate([last[:, 1:], out[:, None]], 1)
        np.testing.assert_allclose(outputs[:, t], out, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(state[2].reshape(2, 2, 5), last, rtol=1e-3, atol=1e-5)
    flat = rnn.AttentionCellWrapper(rnn.BasicRNNCell(5), 2, state_is_tuple=False)
    assert flat.state_size == 20
    with pytest.raises(ValueError, match="greater than zero"):
        rnn.AttentionCellWrapper(rnn.BasicRNNCell(5), 0)
    with pytest.raises(ValueError, match="state_is_tuple"):
        rnn.AttentionCellWrapper(rnn.BasicLSTMCell(5), 2, state_is_tuple=False)


@pytest.mark.parametrize("coupled", [True, False])
def test_a_highway_mixes_inputs_and_outputs(session, coupled):
    cell = rnn.HighwayWrapper(rnn.BasicRNNCell(4), couple_carry_transform_gates=coupled)
    outputs, _, held = _run(session, cell, unrolled=True)
    h = np.zeros([2, 4])
    for t in range(3):
        x = X[:, t]
        h = np.tanh(np.concatenate([x, h], 1) @ held["basic_rnn_cell/kernel"])
        carry = _sigmoid(x @ held["carry_w"] + held["carry_b"])
        transform = 1 - carry
        if not coupled:
            transform = _sigmoid(x @ held["transform_w"] - 1)
        np.testing.assert_allclose(outputs[:, t], x * carry + h * transform, rtol=1e-3, atol=1e-5)
