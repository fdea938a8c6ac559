"""Picking, segments, matrices, blocks and random numbers, against NumPy or a formula."""

import numpy as np
import pytest

import millrace as tf


def run(tensors, feeds=None):
    with tf.Session() as session:
        return session.run(tensors, feeds)


def test_unique_elements_come_once_with_their_places_and_counts():
    y, places, counts = run(list(tf.unique_with_counts([3, 1, 3, 3])))
    assert y.tolist() == [3, 1] and places.tolist() == [0, 1, 0, 0] and counts.tolist() == [3, 1]
    left, where = run(list(tf.setdiff1d([1, 2, 3], [2])))
    assert left.tolist() == [1, 3] and where.tolist() == [0, 2]


def test_what_is_dealt_out_can_be_put_together_again():
    data = np.arange(12.0).reshape(4, 3)
    parts = tf.dynamic_partition(data, [1, 0, 1, 0], 2)
    places = tf.dynamic_partition([0, 1, 2, 3], [1, 0, 1, 0], 2)
    assert np.array_equal(run(tf.dynamic_stitch(places, parts)), data)


def test_slices_are_gathered_and_scattered_by_coordinates():
    x = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(run(tf.gather_nd(x, [[1, 2], [0, 0]])), x[[1, 0], [2, 0]])
    by_batch = run(tf.gather_nd(x, [[[2]], [[1]]], batch_dims=1))
    assert np.array_equal(by_batch, [[x[0, 2]], [x[1, 1]]])
    assert run(tf.scatter_nd([[1], [1]], [2.0, 3.0], [3])).tolist() == [0, 5, 0]
    assert np.array_equal(run(tf.batch_gather(x[0], [[3], [1], [0]])), [[3], [5], [8]])


@pytest.mark.parametrize("use_resource", [False, True])
def test_slices_of_variables_change(use_resource):
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 3.0]), use_resource=use_resource)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.scatter_nd_add(v, [[0], [2]], [1.0, 1.0])).tolist() == [2, 2, 4]
        assert session.run(tf.scatter_nd_update(v, [[1]], [9.0])).tolist() == [2, 9, 4]
        assert session.run(tf.scatter_mul(v, [0], [5.0])).tolist() == [10, 9, 4]


def test_segments_fold_rows():
    data = np.array([[1.0, 2], [3, 4], [5, 6]])
    assert run(tf.segment_mean(data, [0, 0, 2])).tolist() == [[2, 3], [0, 0], [5, 6]]
    mean = tf.math.unsorted_segment_mean(data, [1, -1, 1], 2)
    assert run(mean).tolist() == [[0, 0], [3, 4]]
    root = tf.math.unsorted_segment_sqrt_n(data, [1, 1, 0], 2)
    assert np.allclose(run(root), [[5, 6], [4 / 2**0.5, 6 / 2**0.5]])
    picked = tf.sparse_segment_sum(data, [2, 0], [0, 0], num_segments=2)
    assert run(picked).tolist() == [[6, 8], [0, 0]]


def test_counts_and_histograms():
    assert run(tf.bincount([1, 1, 3])).tolist() == [0, 2, 0, 1]
    assert run(tf.bincount([1, 1, 3], minlength=6, weights=[1.0, 2, 3])).tolist() == [
        0,
        3,
        0,
        3,
        0,
        0,
    ]
    assert run(tf.bincount([1, 5], maxlength=3)).tolist() == [0, 1, 0]
    assert run(tf.histogram_fixed_width([-1.0, 0, 1.5, 2, 5, 15], [0.0, 5.0], 5)).tolist() == [
        2,
        1,
        1,
        0,
        2,
    ]


def test_diagonals_norms_and_traces():
    x = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(run(tf.linalg.diag([1.0, 2])), np.diag([1.0, 2]))
    assert np.array_equal(run(tf.linalg.diag_part(x)), np.diag(x))
    assert run(tf.trace(x)) == np.trace(x)
    assert np.allclose(run(tf.norm(x)), np.linalg.norm(x))
    assert np.allclose(run(tf.norm(x, 1, axis=[0, 1])), np.linalg.norm(x, 1))
    assert np.allclose(run(tf.norm(x, np.inf, axis=1)), np.abs(x).max(1))
    assert np.array_equal(run(tf.linalg.band_part(x, 0, -1)), np.triu(x))


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("ij,jk", [(2, 3), (3, 4)]),
    ],
)
def test_einsum_is_numpys(equation, shapes):
    values = [np.random.default_rng(1).normal(size=shape) for shape in shapes]
    assert np.allclose(run(tf.einsum(equation, *values)), np.einsum(equation, *values))


def test_an_equation_of_other_operands_is_refused():
    with pytest.raises(ValueError, match="Got 1 arguments"):
        tf.einsum("ij,jk->ik", [[1.0]])


def test_complex_numbers_and_their_parts():
    z = tf.complex([1.0, 3.0], [2.0, -4.0])
    assert run(tf.abs(z)).tolist() == pytest.approx([5**0.5, 5])
    assert run(tf.conj(z)).tolist() == [1 - 2j, 3 + 4j]
    assert run(tf.real(z)).tolist() == [1, 3] and run(tf.imag(z)).tolist() == [2, -4]
    a = np.array([[1 + 2j, 3], [4j, 5 - 1j]])
    assert np.allclose(run(tf.matmul(a, a, adjoint_a=True)), a.conj().T @ a)
    batch = np.stack([a, a + 1])
    assert np.allclose(
        run(tf.matmul(batch, batch, transpose_a=True)), batch.transpose(0, 2, 1) @ batch
    )
    assert np.allclose(
        run(tf.matmul(batch, batch, adjoint_b=True)), batch @ batch.conj().transpose(0, 2, 1)
    )
    with pytest.raises(TypeError, match="float32 or float64"):
        tf.complex([1], [2])


def test_gradients_of_complex_products_are_conjugated():
    x = tf.constant([1 + 2j])
    gradient = tf.gradients(tf.real(x * (3 - 1j)), [x])[0]
    assert run(gradient).tolist() == [3 + 1j]


def test_blocks_and_back():
    x = np.arange(16.0).reshape(1, 4, 4, 1)
    blocks = tf.space_to_batch(x, [[0, 0], [0, 0]], 2)
    assert np.array_equal(run(tf.batch_to_space(blocks, [[0, 0], [0, 0]], 2)), x)
    assert np.array_equal(run(tf.depth_to_space(tf.space_to_depth(x, 2), 2)), x)
    paddings, crops = tf.required_space_to_batch_paddings([5, 4], [2, 2])
    assert run(paddings).tolist() == [[0, 1], [0, 0]] and run(crops).tolist() == [[0, 1], [0, 0]]


def test_mirrors_and_grids():
    x = np.array([[1, 2, 3]])
    assert np.array_equal(
        run(tf.pad(x, [[0, 0], [1, 2]], "REFLECT")), np.pad(x, [(0, 0), (1, 2)], "reflect")
    )
    with pytest.raises(ValueError, match="Unknown padding mode"):
        tf.pad(x, [[0, 0], [0, 0]], "WRAP")
    for indexing in ("xy", "ij"):
        ours = run(tf.meshgrid([1, 2, 3], [4, 5], indexing=indexing))
        theirs = np.meshgrid([1, 2, 3], [4, 5], indexing=indexing)
        assert all(np.array_equal(one, other) for one, other in zip(ours, theirs))


def test_sequences_are_reversed_as_far_as_they_go():
    x = [[1, 2, 3], [4, 5, 6]]
    assert run(tf.reverse_sequence(x, [2, 3], seq_axis=1)).tolist() == [[2, 1, 3], [6, 5, 4]]


def test_a_sparse_tensor_becomes_dense():
    assert run(tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 6])).tolist() == [[0, 5], [6, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
        run(tf.sparse_to_dense([3, 1], [4], 1))


def test_gathers_share_batch_axes():
    x = np.arange(12.0).reshape(2, 3, 2)
    picked = tf.gather(x, [[2], [0]], batch_dims=1)
    assert np.array_equal(run(picked), [[x[0, 2]], [x[1, 0]]])
    variable = tf.constant(x)
    gradient = tf.gradients(tf.gather(variable, [[2, 2], [0, 1]], batch_dims=1), [variable])[0]
    assert run(gradient)[:, :, 0].tolist() == [[0, 0, 2], [1, 1, 0]]


def test_the_product_of_a_zero_has_a_gradient():
    x = tf.constant([[2.0, 0.0, 3.0], [1.0, 4.0, 5.0]])
    gradient = tf.gradients(tf.reduce_prod(x, 1), [x])[0]
    assert run(gradient).tolist() == [[0, 6, 0], [20, 5, 4]]


def test_classes_and_counts_are_drawn_as_often_as_they_should_be():
    drawn = run(tf.multinomial(np.log([[0.1, 0.9]]), 4000, seed=3))
    assert drawn.mean() == pytest.approx(0.9, abs=0.03)
    gamma = run(tf.random_gamma([4000], 2.0, beta=4.0, seed=3))
    assert gamma.mean() == pytest.approx(0.5, abs=0.03)
    for rate in (3.0, 50.0):
        counts = run(tf.random_poisson(rate, [4000], seed=3))
        assert counts.mean() == pytest.approx(rate, rel=0.03)


def test_stateless_numbers_are_the_seeds_own():
    one, other = (tf.random.stateless_normal([5], seed=[1, 2]) for _ in range(2))
    assert np.array_equal(*run([one, other]))
    whole = run(tf.random.stateless_uniform([9], [1, 2], 3, 5, dtype=tf.int32))
    assert set(whole) <= {3, 4}


def test_bits():
    assert run(tf.bitwise.bitwise_xor([12, 5], [6, 5])).tolist() == [10, 0]
    assert run(tf.bitwise.left_shift([1], [4])).tolist() == [16]


def test_variances_and_polynomials():
    x = np.array([[1.0, 2, 4], [3, 5, 9]])
    assert np.allclose(run(tf.math.reduce_variance(x, 1)), x.var(1))
    assert np.allclose(run(tf.math.reduce_std(x, keepdims=True)), x.std(keepdims=True))
    assert run(tf.math.polyval([2.0, 0.0, 1.0], 3.0)) == 19
    assert run(tf.math.multiply_no_nan([np.inf, 2.0], [0.0, 3.0])).tolist() == [0, 6]
    assert run(tf.math.reciprocal_no_nan([0.0, 4.0])).tolist() == [0, 0.25]
    assert run(tf.math.lbeta([2.0, 3.0])) == pytest.approx(np.log(1 / 12))
    assert run(tf.is_non_decreasing([1, 1, 2])) and not run(tf.is_strictly_increasing([1, 1]))
