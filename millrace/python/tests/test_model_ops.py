"""Ops that stand for many: cells of recurrent nets, segments of picked rows."""

import numpy as np

import millrace as tf


def test_cells_that_are_one_op_are_the_cells_that_are_many(session):
    """And their gradients are those that the many ops have."""
    rng = np.random.default_rng(8)
    batch, size, units = 3, 4, 5

    def drawn(*shape):
        return tf.constant(rng.uniform(-1, 1, shape), tf.float32)

    x, c, h = drawn(batch, size), drawn(batch, units), drawn(batch, units)
    w, b = drawn(size + units, 4 * units), drawn(4 * units)
    none = tf.zeros([units])
    block = tf.raw_ops.LSTMBlockCell(
        x=x, cs_prev=c, h_prev=h, w=w, wci=none, wcf=none, wco=none, b=b, cell_clip=0.0
    )
    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, 1)
    kept = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
    shown = tf.sigmoid(o) * tf.tanh(kept)
    inputs = [x, c, h, w, b]
    weights = [drawn(batch, units), drawn(batch, units)]
    many = tf.gradients([kept, shown], inputs, weights)
    one = tf.gradients([block[1], block[6]], inputs, weights)
    for a, b in zip([block[1], block[6], *one], [kept, shown, *many]):
        np.testing.assert_allclose(session.run(a), session.run(b), rtol=1e-4, atol=1e-5)

    w_ru, w_c = drawn(size + units, 2 * units), drawn(size + units, units)
    b_ru, b_c = drawn(2 * units), drawn(units)
    unit = tf.raw_ops.GRUBlockCell(x=x, h_prev=h, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c)
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w_ru) + b_ru), 2, 1)
    candidate = tf.tanh(tf.matmul(tf.concat([x, r * h], 1), w_c) + b_c)
    shown = u * h + (1 - u) * candidate
    inputs = [x, h, w_ru, w_c, b_ru, b_c]
    many = tf.gradients(shown, inputs, weights[0])
    one = tf.gradients(unit[3], inputs, weights[0])
    for a, b in zip([unit[3], *one], [shown, *many]):
        np.testing.assert_allclose(session.run(a), session.run(b), rtol=1e-4, atol=1e-5)


def test_segments_of_picked_rows_pass_on_those_rows_alone_where_that_is_asked(session):
    x = tf.constant(np.arange(16.0).reshape(8, 2))
    picked = {"data": x, "indices": [5, 2, 5], "segment_ids": [0, 0, 1]}
    y = tf.raw_ops.SparseSegmentMean(**picked, sparse_gradient=True)
    (rows,) = tf.gradients(y, x)
    assert isinstance(rows, tf.IndexedSlices)
    assert session.run(rows.indices).tolist() == [2, 5]
    assert session.run(rows.values).tolist() == [[0.5, 0.5], [1.5, 1.5]]
    (dense,) = tf.gradients(tf.raw_ops.SparseSegmentMean(**picked), x)
    assert np.array_equal(session.run(tf.convert_to_tensor(rows)), session.run(dense))


def test_it_is_not_long_since_1970_and_time_passes(session):
    now = tf.timestamp()
    first = session.run(now)
    assert first > 1.6e9 and session.run(now) >= first
