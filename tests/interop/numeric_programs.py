"""Numeric families beside each other, the same text for TensorFlow and for Millrace: volumes, linear algebra, spectra.

`python3 numeric_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what its ops give,
and their gradients. Run by test_numerics_beside_tensorflow.py.
"""

import numpy as np

from programs import print_results


def plain(value):
    """Lists of numbers; complex ones as their two parts."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    array = np.asarray(value)
    if array.dtype.kind == "c":
        return [array.real.tolist(), array.imag.tolist()]
    if array.dtype.kind == "S" or array.dtype == object:
        return [each.hex() for each in array.ravel()]
    return array.tolist()


def weights(like):
    shape = like.shape.as_list()
    return np.linspace(0.5, 1.5, max(1, int(np.prod(shape)))).reshape(shape)


def values_and_gradients(tf, session, op, inputs, skip=(), moves=True, **attrs):
    """What an op gives for float64 (or complex128) inputs, and the gradients of a weighed sum of it.

    `skip` are outputs that are not looked at; `moves` is False where no gradient is taken.
    """
    fed = {name: tf.constant(value) for name, value in inputs.items()}
    made = getattr(tf.raw_ops, op)(**fed, **attrs)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    results = [plain(session.run(each)) for i, each in enumerate(outputs) if i not in skip]
    if not moves:
        return results
    total = 0.0
    for number, output in enumerate(outputs):
        if number in skip or not (output.dtype.is_floating or output.dtype.is_complex):
            continue
        parts = [tf.real(output), tf.imag(output)] if output.dtype.is_complex else [output]
        for part in parts:
            total += tf.reduce_sum(tf.cast(part, tf.float64) * weights(part))
    xs = [x for x in fed.values() if x.dtype.is_floating or x.dtype.is_complex]
    gradients = tf.gradients(total, xs) if not isinstance(total, float) else []
    return [results, [None if g is None else plain(session.run(g)) for g in gradients]]


def random(seed, *shape):
    return np.random.RandomState(seed).normal(size=shape)


def complex_random(seed, *shape):
    return random(seed, *shape) + 1j * random(seed + 1, *shape)


def positive(a):
    """A positive definite matrix of one of any kind."""
    return a @ np.conj(np.swapaxes(a, -1, -2)) + 0.5 * np.eye(a.shape[-1])


def volumes(tf, session):
    x, w = random(1, 2, 4, 5, 4, 2), random(2, 2, 3, 2, 2, 3)
    results = {}
    for padding in ("SAME", "VALID"):
        for step in (1, 2):
            strides = [1, step, 1, step, 1]
            windows = {"strides": strides, "padding": padding}
            results[f"conv {padding} {step}"] = values_and_gradients(
                tf, session, "Conv3D", {"input": x, "filter": w}, **windows
            )
            results[f"max {padding} {step}"] = values_and_gradients(
                tf,
                session,
                "MaxPool3D",
                {"input": x.astype(np.float32)},
                ksize=[1, 2, 3, 2, 1],
                **windows,
            )
            results[f"average {padding} {step}"] = values_and_gradients(
                tf,
                session,
                "AvgPool3D",
                {"input": x.astype(np.float32)},
                ksize=[1, 2, 3, 2, 1],
                **windows,
            )
    # Equals share what arrives.
    results["equals"] = values_and_gradients(
        tf,
        session,
        "MaxPool3D",
        {"input": np.ones((1, 2, 2, 3, 1), np.float32)},
        ksize=[1, 2, 2, 2, 1],
        strides=[1, 1, 1, 1, 1],
        padding="VALID",
    )
    wide = tf.constant(x.astype(np.float32))
    layer = tf.nn.conv3d_transpose(
        wide,
        tf.constant(random(4, 2, 2, 2, 3, 2).astype(np.float32)),
        [2, 8, 5, 8, 3],
        [1, 2, 1, 2, 1],
    )
    results["transposed"] = plain(session.run(layer))
    return results


def matrices(tf, session):
    a, b = random(1, 2, 4, 4), random(2, 2, 4, 3)
    c, d = complex_random(3, 3, 3), complex_random(5, 3, 2)
    results = {}

    def case(label, op, inputs, **attrs):
        results[label] = values_and_gradients(tf, session, op, inputs, **attrs)

    for kind, matrix, rhs in (("real", a, b), ("complex", c, d)):
        case(f"cholesky {kind}", "Cholesky", {"input": positive(matrix)})
        for adjoint in (False, True):
            case(f"inverse {kind} {adjoint}", "MatrixInverse", {"input": matrix}, adjoint=adjoint)
            case(
                f"solve {kind} {adjoint}",
                "MatrixSolve",
                {"matrix": matrix, "rhs": rhs},
                adjoint=adjoint,
            )
            for lower in (False, True):
                case(
                    f"triangle {kind} {lower} {adjoint}",
                    "MatrixTriangularSolve",
                    {"matrix": matrix + 3 * np.eye(matrix.shape[-1]), "rhs": rhs},
                    lower=lower,
                    adjoint=adjoint,
                )
                case(
                    f"bands {kind} {lower} {adjoint}",
                    "BandedTriangularSolve",
                    {"matrix": matrix[..., :2, :] + 2, "rhs": rhs},
                    lower=lower,
                    adjoint=adjoint,
                )
        # TensorFlow forgets to conjugate in these three gradients.
        moves = kind == "real"
        case(f"determinant {kind}", "MatrixDeterminant", {"input": matrix}, moves=moves)
        case(f"logarithm {kind}", "LogMatrixDeterminant", {"input": matrix}, skip=(0,))
        case(
            f"three {kind}",
            "TridiagonalSolve",
            {"diagonals": matrix[..., :3, :] + np.array([[0], [4], [0]]), "rhs": rhs},
            moves=moves,
        )
        case(
            f"times {kind}",
            "TridiagonalMatMul",
            {
                "superdiag": matrix[..., :1, :],
                "maindiag": matrix[..., 1:2, :],
                "subdiag": matrix[..., 2:3, :],
                "rhs": rhs,
            },
        )
        case(f"root {kind}", "MatrixSquareRoot", {"input": positive(matrix)}, moves=moves)
        results[f"lu {kind}"] = plain(session.run(list(tf.raw_ops.Lu(input=matrix))))
    shared = {"matrix": a[:1] + 3 * np.eye(4), "rhs": b}
    case("broadcast triangle", "MatrixTriangularSolve", shared)
    for label, matrix in (("high", random(6, 5, 3)), ("wide", random(7, 3, 5))):
        rhs = random(8, matrix.shape[0], 2)
        case(
            f"least {label}",
            "MatrixSolveLs",
            {"matrix": matrix, "rhs": rhs, "l2_regularizer": np.float64(0.25)},
        )
        slow = tf.matrix_solve_ls(tf.constant(matrix), tf.constant(rhs), fast=False)
        results[f"slow {label}"] = plain(session.run(slow))
    return results


def decompositions(tf, session):
    results = {}

    def case(label, op, inputs, **attrs):
        results[label] = values_and_gradients(tf, session, op, inputs, **attrs)

    for label, matrix in (
        ("square", random(1, 4, 4)),
        ("high", random(2, 2, 4, 3)),
        ("wide", random(3, 3, 4)),
        ("complex", complex_random(4, 3, 3)),
    ):
        case(f"qr {label}", "Qr", {"input": matrix})
        case(f"svd {label}", "Svd", {"input": matrix})
        case(f"svd values {label}", "Svd", {"input": matrix}, skip=(1, 2), compute_uv=False)
    case("svd full", "Svd", {"input": random(2, 2, 4, 3)}, full_matrices=True)
    case("qr full", "Qr", {"input": random(3, 3, 4)}, full_matrices=True)
    for label, matrix in (("real", random(5, 2, 3, 3)), ("complex", complex_random(6, 3, 3))):
        case(f"symmetric {label}", "SelfAdjointEigV2", {"input": positive(matrix)})
        results[f"symmetric values {label}"] = plain(
            session.run(tf.self_adjoint_eigvals(tf.constant(positive(matrix))))
        )
    case("eigen", "Eig", {"input": complex_random(6, 3, 3)}, Tout=tf.complex128)
    near = complex_random(9, 2, 3, 3) * 0.3 + np.eye(3)
    results["exponential"] = plain(session.run(tf.linalg.expm(tf.constant(near))))
    results["logarithm"] = plain(session.run(tf.linalg.logm(tf.constant(near))))
    x = tf.constant(random(11, 3, 3))
    y = tf.linalg.expm(x)
    results["exponential's gradient"] = plain(
        session.run(tf.gradients(tf.reduce_sum(y * weights(y)), [x]))
    )
    return results


def names_of_linalg(tf, session):
    a = tf.constant(positive(random(1, 2, 3, 3)))
    b = tf.constant(random(2, 2, 3, 2))
    lu, perm = tf.linalg.lu(a)
    operator = tf.linalg.LinearOperatorLowerTriangular(tf.linalg.cholesky(a))
    bands = tf.constant(random(3, 3, 4) + np.array([[0.0], [4.0], [0.0]]))
    made = {
        "cholesky_solve": tf.cholesky_solve(tf.cholesky(a), b),
        "logdet": tf.linalg.logdet(a),
        "slogdet": list(tf.linalg.slogdet(a)),
        "matrix_rank": tf.linalg.matrix_rank(a),
        "pinv": tf.linalg.pinv(b),
        "lu_solve": tf.linalg.lu_solve(lu, perm, b),
        "lu_reconstruct": tf.linalg.lu_reconstruct(lu, perm),
        "lu_matrix_inverse": tf.linalg.lu_matrix_inverse(lu, perm),
        "matvec": tf.linalg.matvec(a, b[..., 0]),
        "normalize": list(tf.linalg.normalize(b, axis=-1)),
        "tridiagonal_solve": tf.linalg.tridiagonal_solve(bands, tf.constant(random(4, 4))),
        "tridiagonal_matmul": tf.linalg.tridiagonal_matmul(bands, tf.constant(random(5, 4, 2))),
        "eigh": tf.linalg.eigh(a)[0],
        "eigvals": tf.reduce_sum(tf.real(tf.raw_ops.Eig(input=a, Tout=tf.complex128)[0]), -1),
        "operator matmul": operator.matmul(b),
        "operator solve": operator.solve(b, adjoint=True),
        "operator determinant": operator.log_abs_determinant(),
        "operator dense": operator.to_dense(),
    }
    return {name: plain(session.run(x)) for name, x in made.items()}


def spectra(tf, session):
    x, z = random(1, 2, 5, 6), complex_random(2, 2, 5, 6)
    results = {}
    for rank in (1, 2, 3):
        name = "FFT" if rank == 1 else f"FFT{rank}D"
        for op in (name, f"I{name}"):
            results[op] = values_and_gradients(tf, session, op, {"input": z})
        if rank == 3:
            continue  # TensorFlow has no gradient of real ones of three axes
        for length in (6, 5):
            fed = {"fft_length": np.array([2, 5, length][3 - rank :], np.int32)}
            results[f"R{name} {length}"] = values_and_gradients(
                tf, session, f"R{name}", {"input": x[..., :length], **fed}, Tcomplex=tf.complex128
            )
            half = z[..., : length // 2 + 1]
            results[f"IR{name} {length}"] = values_and_gradients(
                tf, session, f"IR{name}", {"input": half, **fed}, Treal=tf.float64
            )
    for kind in (1, 2, 3):
        line = tf.constant(x)
        for norm in (None, "ortho") if kind > 1 else (None,):
            made = [f(line, type=kind, norm=norm) for f in (tf.spectral.dct, tf.spectral.idct)]
            results[f"dct {kind} {norm}"] = plain(session.run(made))
    padded = [tf.spectral.rfft(line, [8]), tf.spectral.irfft(tf.constant(z), [12])]
    results["filled up"] = plain(session.run([*padded, tf.spectral.rfft2d(line)]))
    return results


PROGRAMS = [volumes, matrices, decompositions, names_of_linalg, spectra]

if __name__ == "__main__":
    print_results(PROGRAMS)
