"""Linear operators beside the matrices that they stand for, which NumPy multiplies and solves for."""

import numpy as np
import pytest

import millrace as tf

la = tf.linalg
_RANDOM = np.random.RandomState(3)


def _any(*shape):
    return _RANDOM.normal(size=shape)


def _complex(*shape):
    return _any(*shape) + 1j * _any(*shape)


def _positive(*shape):
    a = _any(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def _h(a):
    return np.conj(np.swapaxes(a, -1, -2))


def _circulant(spectrum, depth):
    """The matrix that filters each unit block by the spectrum."""
    block = spectrum.shape[-depth:]
    units = np.eye(int(np.prod(block))).reshape(-1, *block)
    axes = range(-depth, 0)
    made = np.fft.ifftn(np.fft.fftn(units, axes=axes) * spectrum, axes=axes)
    return made.reshape(len(units), -1).T


def _toeplitz(col, row):
    size = len(col)
    return np.array(
        [[col[i - j] if i >= j else row[j - i] for j in range(size)] for i in range(size)]
    )


A, B, P = _any(2, 3, 3) + 3 * np.eye(3), _any(2, 2) + 2 * np.eye(2), _positive(2, 3, 3)
D, C = _any(2, 3) + 4, _complex(3, 3) + 3 * np.eye(3)
U, V, S = _any(3, 2), _any(3, 2), _any(2, 3) + 5
COL, ROW = _any(4) + np.array([6.0, 0, 0, 0]), _any(4)
Z1, Z2, Z3 = _complex(5) + 4, _complex(2, 3) + 4, _complex(2, 2, 2) + 4
W = _any(3)


def _full(a, **known):
    return la.LinearOperatorFullMatrix(a, **known)


OPERATORS = {
    "identity": lambda: (la.LinearOperatorIdentity(3, [2], tf.float64), np.stack([np.eye(3)] * 2)),
    "scaled identity": lambda: (
        la.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0])),
        np.array([2.0, -3.0])[:, None, None] * np.eye(3),
    ),
    "diagonal": lambda: (la.LinearOperatorDiag(D), D[..., None] * np.eye(3)),
    "complex diagonal": lambda: (la.LinearOperatorDiag(C[0]), np.diag(C[0])),
    "full": lambda: (_full(A), A),
    "complex": lambda: (_full(C), C),
    "positive": lambda: (_full(P, is_self_adjoint=True, is_positive_definite=True), P),
    "triangle": lambda: (la.LinearOperatorLowerTriangular(A), np.tril(A)),
    "adjoint": lambda: (la.LinearOperatorAdjoint(_full(C)), _h(C)),
    "inverse": lambda: (la.LinearOperatorInversion(_full(A)), np.linalg.inv(A)),
    "composition": lambda: (
        la.LinearOperatorComposition([_full(A), la.LinearOperatorDiag(D[0])]),
        A @ np.diag(D[0]),
    ),
    "blocks": lambda: (
        la.LinearOperatorBlockDiag([_full(A), la.LinearOperatorDiag(D[0, :2])]),
        np.stack(
            [np.block([[a, np.zeros((3, 2))], [np.zeros((2, 3)), np.diag(D[0, :2])]]) for a in A]
        ),
    ),
    "kronecker": lambda: (
        la.LinearOperatorKronecker([_full(A), _full(B), la.LinearOperatorDiag(D[1, :2])]),
        np.stack([np.kron(np.kron(a, B), np.diag(D[1, :2])) for a in A]),
    ),
    "complex kronecker": lambda: (
        la.LinearOperatorKronecker([_full(C), _full(C[:2, :2])]),
        np.kron(C, C[:2, :2]),
    ),
    "update": lambda: (
        la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(S), U, D[0, :2], V),
        S[..., None] * np.eye(3) + U @ np.diag(D[0, :2]) @ V.T,
    ),
    "positive update": lambda: (
        la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(S, is_positive_definite=True), U),
        S[..., None] * np.eye(3) + U @ U.T,
    ),
    "mirror": lambda: (
        la.LinearOperatorHouseholder(W),
        np.eye(3) - 2 * np.outer(W, W) / (W @ W),
    ),
    "complex mirror": lambda: (
        la.LinearOperatorHouseholder(C[0]),
        np.eye(3) - 2 * np.outer(C[0], C[0].conj()) / (C[0] @ C[0].conj()),
    ),
    "toeplitz": lambda: (la.LinearOperatorToeplitz(COL, ROW), _toeplitz(COL, ROW)),
    "circulant": lambda: (
        la.LinearOperatorCirculant(Z1, tf.complex128),
        _circulant(Z1, 1),
    ),
    "circulant 2D": lambda: (la.LinearOperatorCirculant2D(Z2, tf.complex128), _circulant(Z2, 2)),
    "circulant 3D": lambda: (la.LinearOperatorCirculant3D(Z3, tf.complex128), _circulant(Z3, 3)),
}


@pytest.mark.parametrize("kind", OPERATORS)
def test_an_operator_does_what_its_matrix_does(session, kind):
    it, dense = OPERATORS[kind]()
    assert it.shape.as_list() == list(dense.shape)
    assert it.dtype.as_numpy_dtype == dense.dtype
    x = (_complex if dense.dtype.kind == "c" else _any)(2, dense.shape[-1], 2)
    det = np.linalg.det(dense)
    expected = {
        "to_dense": (it.to_dense(), dense),
        "matmul": (it.matmul(x), dense @ x),
        "of adjoint": (it.matmul(x, adjoint=True), _h(dense) @ x),
        "with adjoint": (it.matmul(_h(x), adjoint_arg=True), dense @ x),
        "matvec": (it.matvec(x[..., 0]), np.einsum("...ij,...j", dense, x[..., 0])),
        "solve": (it.solve(x), np.linalg.solve(np.broadcast_to(dense, (2, *dense.shape[-2:])), x)),
        "solve adjoint": (
            it.solve(_h(x), adjoint=True, adjoint_arg=True),
            np.linalg.solve(np.broadcast_to(_h(dense), (2, *dense.shape[-2:])), x),
        ),
        "solvevec": (it.solvevec(x[..., 0]), (np.linalg.inv(dense) @ x[..., :1])[..., 0]),
        "determinant": (it.determinant(), det),
        "log": (tf.real(it.log_abs_determinant()), np.log(np.abs(det))),
        "trace": (it.trace(), np.trace(dense, axis1=-2, axis2=-1)),
        "diag_part": (it.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1)),
        "added": (it.add_to_tensor(dense * 3), dense * 4),
        "H": (it.H.to_dense(), _h(dense)),
        "inverse": (it.inverse().to_dense(), np.linalg.inv(dense)),
        "shape": (it.shape_tensor(), np.array(dense.shape)),
        "batch": (it.batch_shape_tensor(), np.array(dense.shape[:-2], int)),
        "sizes": (
            tf.stack([it.domain_dimension_tensor(), it.tensor_rank_tensor()]),
            np.array([dense.shape[-1], dense.ndim]),
        ),
    }
    session.run([it.assert_non_singular()])
    found = session.run({name: made for name, (made, _) in expected.items()})
    for name, (_, right) in expected.items():
        np.testing.assert_allclose(found[name], right, rtol=1e-6, atol=1e-9, err_msg=name)
        assert found[name].shape == right.shape, name


def test_shapes_may_be_known_only_when_they_run(session):
    fed = tf.placeholder(tf.float64, [None, None, None])
    vector = tf.placeholder(tf.float64, [None])
    x = tf.placeholder(tf.float64, [None, None])
    full = la.LinearOperatorFullMatrix(fed)
    assert full.is_square is None and full.shape.as_list() == [None, None, None]
    made = [
        la.LinearOperatorBlockDiag([full, la.LinearOperatorDiag(vector)]),
        la.LinearOperatorKronecker([full, la.LinearOperatorDiag(vector)], is_square=True),
        la.LinearOperatorComposition([full, la.LinearOperatorDiag(vector)]),
        la.LinearOperatorToeplitz(vector, vector),
        la.LinearOperatorIdentity(tf.size(vector), dtype=tf.float64),
    ]
    values = {fed: A, vector: D[0], x: _any(3, 2)}
    for it in made:
        dense, sizes = session.run([it.to_dense(), it.shape_tensor()], values)
        assert sizes.tolist() == list(dense.shape)
        columns = _any(dense.shape[-1], 2)
        product, solved = session.run([it.matmul(x), it.solve(x)], {**values, x: columns})
        np.testing.assert_allclose(product, dense @ columns, atol=1e-9)
        np.testing.assert_allclose(
            dense @ solved, np.broadcast_to(columns, solved.shape), atol=1e-9
        )


def test_parts_whose_sizes_are_not_known_may_be_square(session):
    a, b = (tf.placeholder(tf.float64, [None, None]) for _ in range(2))
    given, parts = {a: A[0], b: B}, [_full(a), _full(b)]
    apart = np.block([[A[0], np.zeros((3, 2))], [np.zeros((2, 3)), B]])
    for kind, dense in (
        (la.LinearOperatorBlockDiag, apart),
        (la.LinearOperatorKronecker, np.kron(A[0], B)),
    ):
        it = kind(parts)
        made = [it.determinant(), it.log_abs_determinant(), it.trace(), it.diag_part()]
        det, log, trace, diagonal = session.run(made, given)
        np.testing.assert_allclose([det, np.exp(log)], [np.linalg.det(dense), abs(det)])
        np.testing.assert_allclose(diagonal, np.diag(dense))
        assert trace == pytest.approx(np.trace(dense))


def test_determinants_of_complex_parts_of_all_kinds_go_together(session):
    triangle, diagonal = la.LinearOperatorLowerTriangular(C), la.LinearOperatorDiag(C[1])
    for it in (
        la.LinearOperatorComposition([triangle, diagonal]),
        la.LinearOperatorBlockDiag([diagonal, triangle]),
        la.LinearOperatorKronecker([triangle, diagonal]),
        la.LinearOperatorLowRankUpdate(triangle, C[:, :1], C[0, :1]),
    ):
        dense, log = session.run([it.to_dense(), it.log_abs_determinant()])
        np.testing.assert_allclose(log, np.linalg.slogdet(dense)[1], err_msg=it.name)


def test_zeros_have_no_inverse(session):
    it = la.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False, batch_shape=[2])
    assert it.shape.as_list() == [2, 2, 3] and it.is_square is False
    x = np.ones((3, 4), np.float32)
    made = session.run([it.matmul(x), it.matmul(x[:2], adjoint=True), it.diag_part()])
    assert [each.shape for each in made] == [(2, 2, 4), (2, 3, 4), (2, 2)]
    assert not any(each.any() for each in made)
    with pytest.raises(NotImplementedError, match="singular"):
        it.solve(x[:2])
    with pytest.raises(ValueError, match="num_rows"):
        la.LinearOperatorZeros(2, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-invertible"):
        la.LinearOperatorZeros(2).assert_non_singular()


def test_what_is_known_of_parts_is_known_of_the_whole():
    known = {"is_self_adjoint": True, "is_positive_definite": True}
    a, b = _full(P, **known), la.LinearOperatorDiag(np.ones(3), is_positive_definite=True)
    for kind in (la.LinearOperatorBlockDiag, la.LinearOperatorKronecker):
        whole = kind([a, b])
        assert whole.is_self_adjoint and whole.is_positive_definite and whole.is_non_singular
        with pytest.raises(ValueError, match="always positive-definite"):
            kind([a, b], is_positive_definite=False)
    product = la.LinearOperatorComposition([a, b])
    assert product.is_non_singular and product.is_self_adjoint is None
    full = _full(A, is_non_singular=True)
    mirrored = la.LinearOperatorComposition([full, full.H])
    assert mirrored.is_self_adjoint and mirrored.is_positive_definite and mirrored.is_square
    with pytest.raises(ValueError, match="self-adjoint"):
        la.LinearOperatorComposition([full, full.H], is_self_adjoint=False)
    inverse = full.inverse()
    assert inverse.is_non_singular and inverse.inverse() is full and full.H.H is full
    with pytest.raises(ValueError, match="contradicts"):
        la.LinearOperatorAdjoint(full, is_non_singular=False)
    update = la.LinearOperatorLowRankUpdate(b, U)
    assert update.is_positive_definite and update.is_self_adjoint
    assert _full(U).is_square is False and _full(A).is_square is True
    assert la.LinearOperatorCirculant(np.float32([1, 2])).is_self_adjoint


def test_hints_that_cannot_be_true_are_refused():
    for known, told in (
        ({"is_positive_definite": True, "is_non_singular": False}, "always non-singular"),
        ({"is_non_singular": True, "is_square": False}, "always square"),
        ({"is_self_adjoint": True, "is_square": False}, "always square"),
    ):
        with pytest.raises(ValueError, match=told):
            _full(A, **known)
    with pytest.raises(ValueError, match="real diagonal"):
        la.LinearOperatorDiag(D, is_self_adjoint=False)
    with pytest.raises(ValueError, match="always positive-definite"):
        la.LinearOperatorIdentity(2, is_positive_definite=False)
    with pytest.raises(ValueError, match="is_square is False"):
        _full(A, is_square=False).is_square


def test_arguments_that_do_not_fit_are_named():
    it = _full(A)
    with pytest.raises(ValueError, match=r"Dimensions 3 and 2 are not compatible"):
        it.matmul(np.ones((2, 2)))
    with pytest.raises(TypeError, match="dtype float64.  Found: float32"):
        it.matmul(np.ones((3, 2), np.float32))
    with pytest.raises(NotImplementedError, match="singular"):
        _full(A, is_non_singular=False).solve(A)
    with pytest.raises(NotImplementedError, match="not be square"):
        _full(U).determinant()
    with pytest.raises(ValueError, match="Cholesky"):
        it.cholesky()
    with pytest.raises(ValueError, match="not compatible"):
        la.LinearOperatorComposition([it, _full(B)])
    with pytest.raises(TypeError, match="same dtype"):
        la.LinearOperatorKronecker([it, _full(C)])
    with pytest.raises(ValueError, match="non-empty"):
        la.LinearOperatorBlockDiag([])
    with pytest.raises(ValueError, match="u has shape"):
        la.LinearOperatorLowRankUpdate(it, np.ones((2, 1)))
    with pytest.raises(ValueError, match="mismatched"):
        la.LinearOperatorToeplitz(COL, ROW[:2])
    with pytest.raises(TypeError, match="integer"):
        la.LinearOperatorIdentity(2.0)
    with pytest.raises(ValueError, match="non-negative"):
        la.LinearOperatorIdentity(-2)


def test_what_is_asserted_holds_or_fails_the_step(session):
    fails = {
        "non_singular": [_full(np.ones((2, 2))), la.LinearOperatorDiag([1.0, 0.0])],
        "self_adjoint": [_full(A), la.LinearOperatorDiag(C[0])],
        "positive_definite": [
            _full(-P, is_self_adjoint=True),
            la.LinearOperatorDiag([1.0, -1.0]),
            la.LinearOperatorScaledIdentity(2, -1.0),
        ],
    }
    for what, operators in fails.items():
        for it in operators:
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(getattr(it, f"assert_{what}")())
    known = {"is_self_adjoint": True, "is_positive_definite": True}
    for it in (_full(P, **known), la.LinearOperatorBlockDiag([_full(P, **known)])):
        checks = [it.assert_non_singular(), it.assert_self_adjoint(), it.assert_positive_definite()]
        session.run(checks)
    session.run(la.LinearOperatorCirculant(Z1 * 0 + 2, tf.complex128).assert_hermitian_spectrum())


def test_triangles_times_their_adjoints_are_what_they_were(session):
    known = {"is_self_adjoint": True, "is_positive_definite": True}
    triangle = la.LinearOperatorLowerTriangular(A * np.float64([1, -1, 1]), is_non_singular=True)
    for it in (
        _full(P, **known),
        la.LinearOperatorDiag(D**2, is_positive_definite=True),
        la.LinearOperatorScaledIdentity(3, 4.0, is_positive_definite=True),
        la.LinearOperatorKronecker([_full(P, **known), _full(P, **known)]),
        la.LinearOperatorBlockDiag(
            [_full(P, **known), la.LinearOperatorIdentity(2, dtype="float64")]
        ),
        la.LinearOperatorComposition([triangle, triangle.H]),
    ):
        lower, dense = session.run([it.cholesky().to_dense(), it.to_dense()])
        np.testing.assert_allclose(lower @ _h(lower), dense, rtol=1e-6, atol=1e-9)
        assert (np.diagonal(lower, axis1=-2, axis2=-1) > 0).all() and np.allclose(
            lower, np.tril(lower)
        )


def test_products_of_operators_stay_as_simple_as_they_can(session):
    diagonal, scaled = la.LinearOperatorDiag(D), la.LinearOperatorScaledIdentity(3, np.float64(2))
    triangle, eye = la.LinearOperatorLowerTriangular(A), la.LinearOperatorIdentity(
        3, dtype="float64"
    )
    ring, other = (la.LinearOperatorCirculant(z, tf.complex128) for z in (Z1, Z1 + 1))
    blocks = la.LinearOperatorBlockDiag([diagonal, triangle])
    for left, right, kind in (
        (diagonal, diagonal, la.LinearOperatorDiag),
        (diagonal, scaled, la.LinearOperatorDiag),
        (scaled, diagonal, la.LinearOperatorDiag),
        (scaled, scaled, la.LinearOperatorScaledIdentity),
        (diagonal, triangle, la.LinearOperatorLowerTriangular),
        (triangle, diagonal, la.LinearOperatorLowerTriangular),
        (ring, other, la.LinearOperatorCirculant),
        (blocks, blocks, la.LinearOperatorBlockDiag),
        (_full(A), triangle, la.LinearOperatorComposition),
        (eye, triangle, la.LinearOperatorLowerTriangular),
        (triangle, eye, la.LinearOperatorLowerTriangular),
        (_full(A, is_non_singular=True).inverse(), triangle, la.LinearOperatorComposition),
    ):
        both = left @ right
        assert isinstance(both, kind)
        a, b, product, solved = session.run(
            [each.to_dense() for each in (left, right, both, left.solve(right))]
        )
        np.testing.assert_allclose(product, a @ b, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            a @ solved, np.broadcast_to(b, solved.shape), rtol=1e-6, atol=1e-9
        )
    with pytest.raises(ValueError, match="incompatible"):
        diagonal.matmul(la.LinearOperatorDiag(np.ones(2)))
    zeros = la.LinearOperatorZeros(3, dtype="float64")
    assert diagonal @ zeros is zeros and zeros @ diagonal is zeros


def test_programs_may_make_operators_of_their_own(session):
    class Shift(la.LinearOperator):
        """Turns vectors on by one place."""

        def __init__(self, size):
            self._size = size
            super().__init__(tf.float64, is_non_singular=True, name="Shift")

        def _shape(self):
            return tf.TensorShape([self._size, self._size])

        def _shape_tensor(self):
            return tf.constant([self._size, self._size])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            x = la.adjoint(x) if adjoint_arg else x
            return tf.roll(x, -1 if adjoint else 1, -2)

    it, dense = Shift(4), np.roll(np.eye(4), 1, 0)
    x = _any(4, 2)
    made = [it.to_dense(), it.solve(x), it.determinant(), (it @ it.H).to_dense(), it.trace()]
    expected = [dense, dense.T @ x, np.linalg.det(dense), np.eye(4), 0]
    for found, right in zip(session.run(made), expected):
        np.testing.assert_allclose(found, right, atol=1e-9)


def test_gradients_go_through_operators(session):
    d, x = tf.constant(D[0]), tf.constant(_any(3, 2))
    it = la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(d), U)
    total = tf.reduce_sum(it.solve(x)) + it.log_abs_determinant()
    slope = session.run(tf.gradients(total, d)[0])
    inverse = np.linalg.inv(np.diag(D[0]) + U @ U.T)
    right = session.run(x)
    expected = np.diag(inverse) - (inverse.T @ np.ones((3, 2)) * (inverse @ right)).sum(1)
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
