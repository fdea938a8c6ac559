"""Recurrent layers that are one op give the numbers of those that are many."""

import numpy as np
import pytest

import millrace as tf

TIMES, BATCH, DEPTH, UNITS = 5, 3, 2, 4
INPUTS = np.sin(np.arange(TIMES * BATCH * DEPTH, dtype=np.float32)).reshape(TIMES, BATCH, DEPTH)
LENGTHS = np.array([5, 0, 3], np.int32)


def waves(shape, dtype=tf.float32, partition_info=None):
    count = int(np.prod(shape))
    return tf.reshape(tf.cast(0.7 * np.cos(1.0 + np.arange(count)), dtype), shape)


def names():
    return [variable.op.name for variable in tf.global_variables()]


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize(
    "more", [{}, {"use_peephole": True}, {"cell_clip": 0.2}, {"forget_bias": -1.0}]
)
def test_a_fused_lstm_is_an_unrolled_one(session, more, lengths):
    start = tf.nn.rnn_cell.LSTMStateTuple(
        tf.ones([BATCH, UNITS]) * 0.3, tf.ones([BATCH, UNITS]) * -0.2
    )
    with tf.variable_scope("fused", initializer=waves):
        fused = tf.contrib.rnn.LSTMBlockFusedCell(UNITS, name="lstm_cell", **more)
        outputs, state = fused(INPUTS, start, sequence_length=lengths)
    with tf.variable_scope("many", initializer=waves):
        many = {key.replace("peephole", "peepholes"): value for key, value in more.items()}
        wanted, wanted_state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.LSTMCell(UNITS, **many),
            tf.constant(INPUTS),
            sequence_length=lengths,
            initial_state=start,
            time_major=True,
        )
    kernels = [v for v in tf.global_variables() if v.op.name.endswith("kernel")]
    slopes = tf.gradients(tf.reduce_sum(outputs * outputs) + tf.reduce_sum(state.c), kernels[0])
    wanted_slopes = tf.gradients(
        tf.reduce_sum(wanted * wanted) + tf.reduce_sum(wanted_state.c), kernels[1]
    )
    session.run(tf.global_variables_initializer())
    pairs = [(outputs, wanted), (state, wanted_state)]
    if (
        "cell_clip" not in more
    ):  # whose op passes gradients on, as TensorFlow's does, as if nothing were cut
        pairs.append((slopes, wanted_slopes))
    for a, b in pairs:
        for x, y in zip(session.run(a), session.run(b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    fused_names = {name for name in names() if name.startswith("fused/")}
    assert {name.replace("fused/", "many/rnn/") for name in fused_names} == {
        name for name in names() if name.startswith("many/")
    }


def test_a_fused_lstm_takes_a_list_and_gives_one(session):
    cell = tf.contrib.rnn.LSTMBlockFusedCell(UNITS)
    outputs, (c, h) = cell(tf.unstack(tf.constant(INPUTS)), dtype=tf.float32)
    whole, _ = cell(INPUTS)
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(outputs), session.run(whole))
    np.testing.assert_allclose(*session.run([outputs[-1], h]))
    assert c.shape.as_list() == [BATCH, UNITS] and cell.num_units == UNITS
    assert names() == ["lstm_fused_cell/kernel", "lstm_fused_cell/bias"]


@pytest.mark.parametrize("kind", ["GRUBlockCell", "GRUBlockCellV2"])
def test_gated_units_that_are_one_op_are_those_that_are_many(session, kind):
    x, state = tf.constant(INPUTS[0]), tf.ones([BATCH, UNITS]) * 0.5
    with tf.variable_scope("fused", initializer=waves):
        cell = getattr(tf.contrib.rnn, kind)(UNITS)
        output, after = cell(x, state)
    with tf.variable_scope("many", initializer=waves):
        wanted, _ = tf.nn.rnn_cell.GRUCell(UNITS)(x, state)
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(*session.run([output, wanted]), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(*session.run([output, after]))
    own = {name.split("gru_cell/")[1] for name in names() if name.startswith("fused/")}
    others = {name.split("gru_cell/")[1] for name in names() if name.startswith("many/")}
    assert own == (others if kind.endswith("V2") else {"w_ru", "b_ru", "w_c", "b_c"})


def test_the_size_of_gated_units_is_given_once():
    with pytest.raises(ValueError, match="exactly one of num_units"):
        tf.contrib.rnn.GRUBlockCell()
    with pytest.raises(ValueError, match="exactly one of num_units"):
        tf.contrib.rnn.GRUBlockCell(3, cell_size=3)
    assert tf.contrib.rnn.GRUBlockCell(cell_size=3).state_size == 3
