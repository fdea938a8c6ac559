"""Rows of rows.py for ops that take matrices apart, solve by them, and make functions of them.

Vectors whose sign is free are left out, or the matrix is such that there is one answer only.
"""

import numpy as np

from cases import COMPLEX, WIDE, Row

ALL = [*WIDE, *COMPLEX]
HALF_TOO = [*ALL, "float16"]
WHOLE = {"complex64": "float32", "complex128": "float64"}


def flag(m):
    return bool(m.one_in(2))


def batch(m):
    return m.choice([(), (), (2,), (2, 1), (0,)])


def size(m, most=4):
    return 0 if m.one_in(12) else int(m.rng.integers(1, most + 1))


def conjugate(array):
    return np.conj(np.swapaxes(array, -1, -2))


def matrices(m, rows, columns, outer=()):
    return m.values((*outer, rows, columns))[1]


def regular(m, n, outer=()):
    """Far from singular."""
    return (matrices(m, n, n, outer) / 3 + 2 * np.eye(n)).astype(stored(m))


def stored(m):
    return "float32" if m.dtype == "bfloat16" else m.dtype


def positive(m, n, outer=()):
    some = matrices(m, n, n, outer).astype("complex128" if "complex" in m.dtype else "float64")
    return (some @ conjugate(some) / 8 + np.eye(n)).astype(stored(m))


def symmetric(m, n, outer=()):
    """With eigenvalues that lie apart."""
    some = matrices(m, n, n, outer)
    return ((some + conjugate(some)) / 8 + np.diag(np.arange(n)) * 3).astype(stored(m))


def wrong(m, array):
    """Not square, or no matrix."""
    return m.choice([array[..., :1, :] if array.shape[-1] > 1 else array[..., :0], array.ravel()])


def square(kind, name="input"):
    def make(m):
        array = kind(m, size(m), batch(m))
        if m.one_in(10):
            array = wrong(m, array)
        return {name: (m.dtype, array)}, {}

    return make


def with_flag(make, name):
    def made(m):
        inputs, attrs = make(m)
        return inputs, {**attrs, name: flag(m)}

    return made


def determined(m):
    kind = m.choice([regular, lambda m, n, outer: matrices(m, n, n, outer), singular])
    return square(kind)(m)


def singular(m, n, outer):
    return matrices(m, n, n, outer) * 0


def solved(kind, names=("matrix", "rhs")):
    def make(m):
        n, outer = size(m), batch(m)
        array = kind(m, n, outer)
        if m.one_in(12) and n:
            array = array * 0  # singular
        right = matrices(m, n + (1 if m.one_in(8) else 0), size(m, 3), outer)
        return {names[0]: (m.dtype, array), names[1]: (m.dtype, right)}, {"adjoint": flag(m)}

    return make


def triangular(m):
    inputs, attrs = solved(regular)(m)
    if m.one_in(4):
        # One for a whole batch.
        inputs["rhs"] = (m.dtype, inputs["rhs"][1][None])
    return inputs, {**attrs, "lower": flag(m)}


def old_triangular(m):
    inputs, attrs = solved(regular)(m)
    return inputs, {**attrs, "lower": flag(m)}


def banded(m):
    n, outer = max(size(m), 1), m.choice([(), (2,)])
    bands = int(m.rng.integers(1, n + 1))
    lower = flag(m)
    array = matrices(m, bands, n, outer) / 4
    array[..., 0 if lower else bands - 1, :] += 3
    right = matrices(m, n + (1 if m.one_in(8) else 0), size(m, 3), outer)
    inputs = {"matrix": (m.dtype, array.astype(m.dtype)), "rhs": (m.dtype, right)}
    return inputs, {"lower": lower, "adjoint": flag(m)}


def least_squares(m):
    rows, columns = (int(n) for n in m.rng.integers(1, 5, 2))
    outer = m.choice([(), (2,)])
    array = matrices(m, rows, columns, outer) / 4
    array[..., range(min(rows, columns)), range(min(rows, columns))] += 2
    right = matrices(m, rows + (1 if m.one_in(8) else 0), size(m, 3), outer)
    regularizer = m.choice([0.0, 0.0, 0.5, 2.0, -1.0 if m.one_in(2) else 1.0])
    inputs = {
        "matrix": (m.dtype, array.astype(m.dtype)),
        "rhs": (m.dtype, right),
        "l2_regularizer": ("float64", np.full((1,) if m.one_in(16) else (), regularizer)),
    }
    return inputs, {"fast": flag(m)}


def cholesky_gradient(m):
    n, outer = size(m), batch(m)
    lower = np.linalg.cholesky(positive(m, n, outer).astype("float64"))
    grown = matrices(m, n + (1 if m.one_in(8) else 0), n, outer)
    return {"l": (m.dtype, lower.astype(m.dtype)), "grad": (m.dtype, grown)}, {}


def eigenvalues(m):
    wide = {"float32": "complex64", "float64": "complex128"}.get(m.dtype, m.dtype)
    # Of triangles, lest their order hang on rounding.
    array = np.triu(symmetric(m, size(m), batch(m)))
    return {"input": (m.dtype, array)}, {"compute_v": False, "Tout": wide}


def factored(m):
    inputs, _ = square(regular)(m)
    return inputs, {"output_idx_type": m.choice(["int32", "int64"])}


def rectangle(m):
    # No two singular values alike.
    rows, columns, outer = size(m), size(m), batch(m)
    return {"input": (m.dtype, matrices(m, rows, columns, outer))}, {}


def taken_apart(m):
    """Q and R of a matrix with as many rows as columns, or more, or fewer."""
    rows, columns = max(1, size(m)), max(1, size(m))
    array = matrices(m, rows, columns, batch(m)) / 4
    array[..., range(min(rows, columns)), range(min(rows, columns))] += 2
    return {"input": (m.dtype, array.astype(stored(m)))}, {"full_matrices": flag(m)}


def tridiagonal_product(m):
    n, columns, outer = size(m), size(m, 3), batch(m)
    bands = {name: m.values((*outer, 1, n)) for name in ("superdiag", "maindiag", "subdiag")}
    if m.one_in(8):
        bands["subdiag"] = m.values((*outer, 1, n + 1))
    return {**bands, "rhs": m.values((*outer, n, columns))}, {}


def tridiagonal_solution(m):
    n, columns, outer = size(m), size(m, 3), batch(m)
    bands = matrices(m, 2 if m.one_in(10) else 3, n, outer) / 3
    bands[..., 1, :] += 2.5
    if m.one_in(10) and m.dtype in WIDE:
        bands = bands * 0
    right = matrices(m, n + (1 if m.one_in(10) else 0), columns, outer)
    pivots = flag(m)
    inputs = {"diagonals": (m.dtype, bands.astype(m.dtype)), "rhs": (m.dtype, right)}
    return inputs, {"partial_pivoting": pivots, "perturb_singular": pivots and bool(m.one_in(4))}


def without_vectors(m):
    inputs, attrs = square(symmetric)(m)
    return inputs, {**attrs, "compute_v": False}


def with_vectors(m):
    inputs, attrs = square(symmetric)(m)
    return inputs, {**attrs, "compute_v": True}


def singular_values(m):
    inputs, _ = rectangle(m)
    return inputs, {"compute_uv": False}


def singular_vectors(m):
    rows, columns = (int(n) for n in m.rng.integers(1, 5, 2))
    inputs = {"input": (m.dtype, matrices(m, rows, columns, batch(m)))}
    return inputs, {"compute_uv": True, "full_matrices": flag(m)}


# Gradients of complex matrices are left out where TensorFlow forgets to conjugate.
REALS_TOO = [*WIDE, "float16"]
# The phase of a vector is free; with fewer bits it is another one here.
PHASED = [*WIDE, "complex128"]

TABLE = [
    Row("MatrixTriangularSolve", [*HALF_TOO, "bfloat16"], triangular, True, 50),
    Row("BatchMatrixTriangularSolve", WIDE, old_triangular, False, 50),
    Row("BandedTriangularSolve", HALF_TOO, banded, True, 50),
    Row("BatchMatrixSolve", WIDE, solved(regular), False, 50),
    Row("MatrixSolveLs", REALS_TOO, least_squares, True, 100),
    Row("MatrixSolveLs", COMPLEX, least_squares, False, 100),
    Row("BatchMatrixSolveLs", WIDE, least_squares, False, 100),
    Row("BatchMatrixInverse", WIDE, with_flag(square(regular), "adjoint"), False, 50),
    Row("BatchMatrixDeterminant", ALL, determined, False, 50),
    Row("LogMatrixDeterminant", HALF_TOO, determined, True, 50),
    Row("BatchCholesky", WIDE, square(positive), False, 20),
    Row("CholeskyGrad", REALS_TOO, cholesky_gradient, False, 50),
    Row("BatchCholeskyGrad", WIDE, cholesky_gradient, False, 50),
    Row("SelfAdjointEig", REALS_TOO, square(symmetric), False, 50),
    Row("BatchSelfAdjointEig", WIDE, square(symmetric), False, 50),
    Row("SelfAdjointEigV2", HALF_TOO, without_vectors, True, 50),
    Row("SelfAdjointEigV2", PHASED, with_vectors, True, 50),
    Row("BatchSelfAdjointEigV2", WIDE, without_vectors, False, 50),
    Row("BatchSelfAdjointEigV2", WIDE, with_vectors, False, 50),
    Row("Eig", ALL, eigenvalues, False, 50),
    Row("Svd", HALF_TOO, singular_values, True, 50),
    Row("Svd", PHASED, singular_vectors, True, 200),
    Row("BatchSvd", ALL, singular_values, False, 50),
    Row("BatchSvd", PHASED, singular_vectors, False, 200),
    Row("Qr", ALL, taken_apart, True, 100),
    Row("Lu", HALF_TOO, factored, True, 50),
    Row("MatrixExponential", HALF_TOO, square(symmetric), False, 50),
    Row("MatrixLogarithm", COMPLEX, square(positive), False, 100),
    Row("MatrixSquareRoot", REALS_TOO, square(positive), True, 100),
    Row("MatrixSquareRoot", COMPLEX, square(positive), False, 100),
    Row("TridiagonalMatMul", ALL, tridiagonal_product, True, 10),
    Row("TridiagonalSolve", WIDE, tridiagonal_solution, True, 100),
    Row("TridiagonalSolve", COMPLEX, tridiagonal_solution, False, 100),
]

_UNSET = "vectors that nobody asks for are whatever its memory holds"

REASONS = {
    (op, "in TensorFlow, array([], dtype"): _UNSET
    for op in ("SelfAdjointEigV2", "BatchSelfAdjointEigV2", "Eig", "Svd", "BatchSvd")
}
