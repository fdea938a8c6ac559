"""Vectors as triangles, and matrices by their diagonals: what distributions of matrices are parametrised by."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, gather, reshape, reverse, shape
from millrace._ops.matrices import matrix_diag, matrix_diag_part, matrix_set_diag


def fill_triangular(x, upper=False, name=None):
    """Triangles of the elements of vectors, which wind around as [1, 2, 3, 4, 5, 6] does in
    [[4, 0, 0], [6, 5, 0], [3, 2, 1]], or in [[1, 2, 3], [0, 5, 6], [0, 0, 4]] if `upper`.

    Args:
      x: a Tensor of shape [..., n (n + 1) / 2], whose last size is known.
      upper: True for upper triangles.
      name: the name scope.

    Returns:
      a Tensor of shape [..., n, n].

    Raises:
      ValueError: if that size is not known, or of no triangle.
    """
    with name_scope(name, "fill_triangular", [x]):
        x = convert(x, name="x")
        count = x.shape[-1].value if x.shape.ndims else None
        if count is None:
            raise ValueError(f"fill_triangular: the last size must be known, of {x}")
        size = int(round(np.sqrt(0.25 + 2.0 * count) - 0.5))
        if size * (size + 1) // 2 != count:
            raise ValueError(
                f"Input right-most shape ({count}) does not correspond to a triangular matrix."
            )
        # The vector, and what of it is not in the first row, backwards: of these, the half is cut off.
        if upper:
            whole = concat([x, reverse(x[..., size:], [-1])], -1)
        else:
            whole = concat([x[..., size:], reverse(x, [-1])], -1)
        made = reshape(whole, concat([shape(x)[:-1], [size, size]], 0))
        made.set_shape(x.shape[:-1].concatenate([size, size]))
        lower, above = (0, -1) if upper else (-1, 0)
        return gen_ops.matrix_band_part(made, lower, above)


def fill_triangular_inverse(x, upper=False, name=None):
    """The vectors of which `fill_triangular` makes x, of shape [..., n, n] with n known. ValueError if it is not."""
    with name_scope(name, "fill_triangular_inverse", [x]):
        x = convert(x, name="x")
        size = x.shape[-1].value if x.shape.ndims else None
        if size is None:
            raise ValueError(f"fill_triangular_inverse: the last size must be known, of {x}")
        # Where each element of the vector stands.
        count = size * (size + 1) // 2
        positions = np.arange(size * size)
        numbers = np.arange(1, count + 1)
        if upper:
            whole = np.concatenate([numbers, numbers[size:][::-1]]).reshape(size, size)
            whole = np.triu(whole)
        else:
            whole = np.concatenate([numbers[size:], numbers[::-1]]).reshape(size, size)
            whole = np.tril(whole)
        places = np.zeros(count, np.int32)
        places[whole.ravel()[whole.ravel() > 0] - 1] = positions[whole.ravel() > 0]
        flat = reshape(x, concat([shape(x)[:-2], [size * size]], 0))
        made = gather(flat, places, axis=-1)
        made.set_shape(x.shape[:-2].concatenate([count]))
        return made


def tridiag(below=None, diag=None, above=None, name=None):
    """Matrices of three diagonals.

    Args:
      below, above: Tensors of shape [..., n - 1], or None for zeros.
      diag: a Tensor of shape [..., n], or None for zeros.
      name: the name scope.

    Returns:
      a Tensor of shape [..., n, n].

    Raises:
      ValueError: if all are None.
    """
    given = {-1: below, 0: diag, 1: above}
    if all(each is None for each in given.values()):
        raise ValueError("Must specify at least one of {below, diag, above}.")
    with name_scope(name, "tridiag", [below, diag, above]):
        made = None
        for k, each in given.items():
            if each is not None:
                part = matrix_diag(each, k=k)
                made = part if made is None else made + part
        return made


def matrix_diag_transform(matrix, transform=None, name=None):
    """Matrices with transform(diagonals) for their diagonals, or as they are if it is None.

    Args:
      matrix: a Tensor of shape [..., n, n].
      transform: a function of a Tensor of shape [..., n] that gives one of that shape.
      name: the name scope.
    """
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))
