"""tf.linalg beside NumPy, gradients beside finite differences, and volumes."""

import numpy as np
import pytest

import millrace as tf

_RANDOM = np.random.RandomState(7)


def _any(*shape):
    return _RANDOM.normal(size=shape)


def _positive(*shape):
    a = _any(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def _run(x):
    with tf.Session() as session:
        return session.run(x)


def test_what_solves_gives_what_numpy_gives():
    a, b = _any(2, 3, 3) + 3 * np.eye(3), _any(2, 3, 2)
    expected = np.linalg.solve(a, b)
    np.testing.assert_allclose(_run(tf.matrix_solve(a, b)), expected, rtol=1e-9)
    np.testing.assert_allclose(_run(tf.matrix_inverse(a)), np.linalg.inv(a), rtol=1e-9)
    np.testing.assert_allclose(_run(tf.matrix_determinant(a)), np.linalg.det(a), rtol=1e-9)
    lower = np.tril(a)
    solved = _run(tf.matrix_triangular_solve(lower, b))
    np.testing.assert_allclose(solved, np.linalg.solve(lower, b), rtol=1e-9)
    lu, perm = tf.linalg.lu(a)
    np.testing.assert_allclose(_run(tf.linalg.lu_solve(lu, perm, b)), expected, rtol=1e-9)
    np.testing.assert_allclose(_run(tf.linalg.lu_reconstruct(lu, perm)), a, rtol=1e-9)
    p = _positive(2, 3, 3)
    solved = _run(tf.cholesky_solve(tf.cholesky(p), b))
    np.testing.assert_allclose(solved, np.linalg.solve(p, b), rtol=1e-9)
    sign, size = _run(tf.linalg.slogdet(-p))
    np.testing.assert_allclose(sign * np.exp(size), np.linalg.det(-p), rtol=1e-9)
    np.testing.assert_allclose(_run(tf.linalg.logdet(p)), np.log(np.linalg.det(p)), rtol=1e-9)


def test_least_squares_are_numpys():
    for shape in ((5, 3), (3, 5)):
        a, b = _any(*shape), _any(shape[0], 2)
        expected = np.linalg.lstsq(a, b, rcond=None)[0]
        for fast in (True, False):
            np.testing.assert_allclose(
                _run(tf.matrix_solve_ls(a, b, fast=fast)), expected, rtol=1e-7
            )


@pytest.mark.parametrize("rows, columns, rank", [(5, 3, 2), (3, 5, 2), (3, 5, 3), (4, 4, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_the_slow_least_squares_are_the_shortest_whatever_the_rank(rows, columns, rank, dtype):
    def some(*shape):
        is_complex = np.issubdtype(dtype, np.complexfloating)
        return (_any(*shape) + 1j * _any(*shape) if is_complex else _any(*shape)).astype(dtype)

    is_narrow = dtype in (np.float32, np.complex64)
    a, b = some(rows, rank) @ some(rank, columns), some(rows, 2)
    # What rounding left of a lower rank counts for nothing.
    expected = np.linalg.lstsq(a, b, rcond=1e-5 if is_narrow else 1e-10)[0]
    found = _run(tf.matrix_solve_ls(a, b, fast=False))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-2 if is_narrow else 1e-7)


def test_narrow_complex_matrices_are_taken_apart_in_the_wide_type():
    a = (_any(2, 4, 4) + 1j * _any(2, 4, 4)).astype(np.complex64)
    e, v = _run(tf.linalg.eig(a))
    assert e.dtype == v.dtype == np.complex64
    np.testing.assert_allclose(a @ v, v * e[:, None], rtol=1e-4, atol=1e-5)
    s, u, w = _run(tf.svd(a))
    assert (s.dtype, u.dtype) == (np.float32, np.complex64)
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-5)
    np.testing.assert_allclose((u * s[:, None]) @ w.conj().swapaxes(1, 2), a, atol=1e-5)
    np.testing.assert_allclose(_run(tf.matrix_inverse(a)), np.linalg.inv(a), rtol=1e-3, atol=1e-5)


def test_singular_values_and_eigenvalues_are_numpys():
    a, p = _any(2, 4, 3), _positive(2, 3, 3)
    s, u, v = _run(tf.svd(a))
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-9)
    made = (u * s[..., None, :]) @ np.swapaxes(v, -1, -2)
    np.testing.assert_allclose(made, a, rtol=1e-9)
    np.testing.assert_allclose(_run(tf.svd(a, compute_uv=False)), s, rtol=1e-9)
    e, w = _run(tf.self_adjoint_eig(p))
    np.testing.assert_allclose(e, np.linalg.eigvalsh(p), rtol=1e-9)
    np.testing.assert_allclose(p @ w, w * e[..., None, :], rtol=1e-8)
    assert _run(tf.linalg.matrix_rank(np.ones((3, 3)))) == 1
    np.testing.assert_allclose(_run(tf.linalg.pinv(a)), np.linalg.pinv(a), rtol=1e-8)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: tf.cholesky(tf.matmul(a, a, transpose_b=True) + tf.eye(3, dtype=tf.float64)),
        tf.matrix_inverse,
        tf.linalg.expm,
        lambda a: tf.svd(a, compute_uv=False),
        lambda a: tf.linalg.qr(a)[1],
        lambda a: tf.self_adjoint_eigvals(a + tf.transpose(a)),
        lambda a: tf.linalg.logdet(tf.matmul(a, a, transpose_b=True)),
    ],
    ids="cholesky inverse expm svd qr eigenvalues logdet".split(),
)
def test_gradients_are_differences(function):
    at = _any(3, 3) + 2 * np.eye(3)
    x = tf.placeholder(tf.float64, [3, 3])
    y = function(x)
    total = tf.reduce_sum(
        y * np.linspace(0.5, 1.5, int(np.prod(y.shape.as_list()))).reshape(y.shape.as_list())
    )
    gradient = tf.gradients(total, x)[0]
    with tf.Session() as session:
        found = session.run(gradient, {x: at})
        for place in np.ndindex(3, 3):
            values = []
            for by in (1e-6, -1e-6):
                moved = at.copy()
                moved[place] += by
                values.append(session.run(total, {x: moved}))
            assert found[place] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-4, abs=1e-5)


def test_three_diagonals_come_in_three_forms():
    diagonals = _any(3, 4) + np.array([[0.0], [4.0], [0.0]])
    above, main, below = diagonals
    dense = np.diag(main) + np.diag(above[:-1], 1) + np.diag(below[1:], -1)
    rhs = _any(4, 2)
    expected = np.linalg.solve(dense, rhs)
    forms = {"compact": diagonals, "sequence": [above, main, below], "matrix": dense}
    for form, given in forms.items():
        solved = _run(tf.linalg.tridiagonal_solve(given, rhs, diagonals_format=form))
        np.testing.assert_allclose(solved, expected, rtol=1e-9)
        product = _run(tf.linalg.tridiagonal_matmul(given, rhs, diagonals_format=form))
        np.testing.assert_allclose(product, dense @ rhs, rtol=1e-9)
    with pytest.raises(ValueError, match="diagonals_format"):
        tf.linalg.tridiagonal_solve(diagonals, rhs, diagonals_format="loose")


def test_a_lower_triangle_is_an_operator():
    a = _any(3, 3) + 3 * np.eye(3)
    operator = tf.linalg.LinearOperatorLowerTriangular(tf.constant(a))
    lower, x = np.tril(a), _any(3, 2)
    np.testing.assert_allclose(_run(operator.matmul(x)), lower @ x, rtol=1e-9)
    np.testing.assert_allclose(_run(operator.solve(x)), np.linalg.solve(lower, x), rtol=1e-9)
    np.testing.assert_allclose(_run(operator.matvec(x[:, 0], adjoint=True)), lower.T @ x[:, 0])
    np.testing.assert_allclose(_run(operator.solvevec(x[:, 0])), np.linalg.solve(lower, x[:, 0]))
    np.testing.assert_allclose(_run(operator.determinant()), np.linalg.det(lower))
    np.testing.assert_allclose(_run(operator.to_dense()), lower)
    with pytest.raises(NotImplementedError, match="singular"):
        tf.linalg.LinearOperatorLowerTriangular(a, is_non_singular=False).solve(x)
    with pytest.raises(ValueError, match="2 dimensions"):
        tf.linalg.LinearOperatorLowerTriangular(a[0])


def test_volumes_are_convolved_and_pooled_by_layers():
    x = tf.constant(_any(2, 4, 5, 6, 3).astype(np.float32))
    made = tf.layers.conv3d(x, 4, 2, strides=(1, 2, 2), padding="same", name="deep")
    assert made.shape.as_list() == [2, 4, 3, 3, 4]
    kernel, bias = tf.trainable_variables()[-2:]
    assert kernel.shape.as_list() == [2, 2, 2, 3, 4]
    direct = tf.nn.conv3d(x, kernel, [1, 1, 2, 2, 1], "SAME") + bias
    larger = tf.layers.conv3d_transpose(x, 2, 3, strides=2, name="larger")
    pooled = tf.layers.max_pooling3d(x, 2, 2)
    averaged = tf.layers.average_pooling3d(x, 2, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        one, other = session.run([made, direct])
        np.testing.assert_allclose(one, other, rtol=1e-5)
        assert session.run(larger).shape == (2, 9, 11, 13, 2)
        values, largest, mean = session.run([x, pooled, averaged])
    blocks = values[:, :4, :4, :6].reshape(2, 2, 2, 2, 2, 3, 2, 3)
    np.testing.assert_allclose(largest, blocks.max((2, 4, 6)), rtol=1e-6)
    np.testing.assert_allclose(mean, blocks.mean((2, 4, 6)), rtol=1e-5)


def test_windows_over_volumes_have_one_three_or_five_numbers():
    with pytest.raises(ValueError, match="length 1, 3 or 5"):
        tf.nn.max_pool3d(np.zeros((1, 2, 2, 2, 1), np.float32), [2, 2], 1, "SAME")
