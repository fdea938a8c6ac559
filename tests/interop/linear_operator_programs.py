"""Linear operators beside each other, the same text for TensorFlow and for Millrace.

`python3 linear_operator_programs.py tensorflow` (or `millrace`) prints a JSON object: of each operator what it
gives, and what is known of it. Run by test_linear_operators_beside_tensorflow.py.
"""

import numpy as np

from numeric_programs import complex_random, plain, positive, random
from programs import print_results

KNOWN = {"is_self_adjoint": True, "is_positive_definite": True}


def made_of(tf):
    """Operators, by what they are called."""
    la, d64 = tf.linalg, tf.float64
    a, p, c = (
        random(1, 2, 3, 3) + 3 * np.eye(3),
        positive(random(2, 2, 3, 3)),
        complex_random(3, 3, 3),
    )
    d, u, v = random(4, 2, 3) + 4, random(5, 3, 2), random(6, 3, 2)
    z = complex_random(7, 2, 2, 3) + 4
    full, sure = la.LinearOperatorFullMatrix(a), la.LinearOperatorFullMatrix(p, **KNOWN)
    diagonal = la.LinearOperatorDiag(d, is_positive_definite=True)
    triangle = la.LinearOperatorLowerTriangular(a, is_non_singular=True)
    wide = la.LinearOperatorFullMatrix(random(8, 3, 2))
    spread = la.LinearOperatorScaledIdentity(2, np.array([2.0, 3.0]))
    return {
        "identity": la.LinearOperatorIdentity(3, [2], d64),
        "scaled": la.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0])),
        "zeros": la.LinearOperatorZeros(3, batch_shape=[2], dtype=d64),
        "diagonal": diagonal,
        "complex diagonal": la.LinearOperatorDiag(c[0]),
        "full": full,
        "positive": sure,
        "complex": la.LinearOperatorFullMatrix(c),
        "wide": wide,
        "triangle": triangle,
        "adjoint": la.LinearOperatorAdjoint(la.LinearOperatorFullMatrix(c)),
        "inverse": la.LinearOperatorInversion(sure),
        "composition": la.LinearOperatorComposition([full, diagonal]),
        "mirrored": la.LinearOperatorComposition([triangle, triangle.H]),
        "wide composition": la.LinearOperatorComposition([wide, wide.H]),
        "blocks": la.LinearOperatorBlockDiag([sure, diagonal, spread]),
        "kronecker": la.LinearOperatorKronecker([full, spread]),
        "positive kronecker": la.LinearOperatorKronecker([sure, diagonal]),
        "update": la.LinearOperatorLowRankUpdate(diagonal, u, random(9, 2, 2) + 3, v),
        "positive update": la.LinearOperatorLowRankUpdate(diagonal, u),
        "mirror": la.LinearOperatorHouseholder(d),
        "toeplitz": la.LinearOperatorToeplitz(d, random(10, 2, 3)),
        "circulant": la.LinearOperatorCirculant(z, tf.complex128),
        "real circulant": la.LinearOperatorCirculant(d, tf.complex128, is_positive_definite=True),
        "circulant 2D": la.LinearOperatorCirculant2D(z, tf.complex128),
        "circulant 3D": la.LinearOperatorCirculant3D(z, tf.complex128),
    }


def known_of(it):
    hints = it.is_non_singular, it.is_self_adjoint, it.is_positive_definite, it.is_square
    return [
        str(each) for each in (*hints, it.shape.as_list(), it.tensor_rank, it.name, it.dtype.name)
    ]


def values_of(tf, it, whole):
    """What an operator gives, by the name of what was asked; only what TensorFlow can if it is not `whole`."""
    rows, columns = (int(size) for size in it.shape.as_list()[-2:])
    some = complex_random if it.dtype.is_complex else random
    x, y = some(11, 2, columns, 2), some(12, 2, rows, 2)
    made = {
        "matmul": it.matmul(x),
        "matmul of adjoint": it.matmul(y, adjoint=True),
        "matmul with adjoint": it.matmul(np.conj(np.swapaxes(x, -1, -2)), adjoint_arg=True),
        "matvec": it.matvec(x[..., 0]),
        "to_dense": it.to_dense(),
        "diag_part": it.diag_part(),
        "add_to_tensor": it.add_to_tensor(tf.constant(some(13, 2, rows, columns))),
        "H": it.H.to_dense(),
        "shape": it.shape_tensor(),
    }
    if it.is_square and whole:
        made["determinant"], made["trace"] = it.determinant(), it.trace()
        if it.is_non_singular is not False:
            made["log_abs_determinant"] = tf.cast(it.log_abs_determinant(), tf.float64)
    if it.is_square and it.is_non_singular is not False and whole:
        made["solve"] = it.solve(x)
        made["solvevec of adjoint"] = it.solvevec(x[..., 0], adjoint=True)
        made["inverse"] = it.inverse().to_dense()
        made["product"] = it.matmul(it).to_dense()
    if it.is_self_adjoint and it.is_positive_definite:
        made["cholesky"] = it.cholesky().to_dense()
    return made


def operators(tf, session):
    results = {}
    for name, it in made_of(tf).items():
        made = session.run(values_of(tf, it, whole=name != "wide composition"))
        results[name] = {what: plain(value) for what, value in made.items()}
    return results


def what_is_known(tf, session):
    made = made_of(tf)
    results = {name: known_of(it) for name, it in made.items()}
    for name in ("full", "positive", "diagonal", "triangle", "mirrored"):
        it = made[name]
        others = {"H": it.H, "inverse": it.inverse()}
        if it.is_self_adjoint and it.is_positive_definite:
            others["cholesky"] = it.cholesky()
        for what, other in others.items():
            results[f"{what} of {name}"] = [type(other).__name__, *known_of(other)[:6]]
    # Not the triangle times the diagonal: with a batch, TensorFlow cannot.
    pairs = [("full", "diagonal"), ("diagonal", "positive"), ("diagonal", "diagonal")]
    pairs += [("identity", "full"), ("full", "identity"), ("zeros", "full")]
    for left, right in pairs:
        product = made[left].matmul(made[right])
        results[f"{left} times {right}"] = [type(product).__name__, *known_of(product)[:6]]
    return results


PROGRAMS = [operators, what_is_known]

if __name__ == "__main__":
    print_results(PROGRAMS)
