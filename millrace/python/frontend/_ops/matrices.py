"""Matrices and their diagonals, norms and general products, as tf.* and tf.linalg name them."""

import re

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.complex_values import conj
from millrace._ops.arrays import matrix_transpose
from millrace._ops.reductions import reduce_max, reduce_sum

__all__ = [
    "einsum",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_set_diag",
    "norm",
    "tensor_diag",
    "tensor_diag_part",
    "trace",
]


def _padding(like, value):
    return convert(value, like.dtype.base_dtype, "padding_value")


def matrix_diag(
    diagonal,
    name="diag",
    k=0,
    num_rows=-1,
    num_cols=-1,
    padding_value=0,
    align="RIGHT_LEFT",
):
    """Matrices with the given diagonals.

    Args:
      diagonal: a Tensor of shape [..., length], or [..., number of diagonals, length].
      name: a name for the node.
      k: which diagonals they are: a number, or the lowest and the highest; 0 is the main one.
      num_rows, num_cols: sizes of the matrices; -1 for as small as can be.
      padding_value: what the rest is.
      align: on which side diagonals above and below the main one stand in their rows.

    Returns:
      a Tensor of shape [..., num_rows, num_cols].
    """
    diagonal = convert(diagonal, name="diagonal")
    padding = _padding(diagonal, padding_value)
    return gen_ops.matrix_diag_v3(diagonal, k, num_rows, num_cols, padding, align=align, name=name)


def matrix_diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    """Diagonals of matrices, of shape [..., rows, columns].

    Args: as for `matrix_diag`.

    Returns:
      a Tensor of shape [..., length], or [..., number of diagonals, length of the longest].
    """
    input = convert(input, name="input")
    padding = _padding(input, padding_value)
    return gen_ops.matrix_diag_part_v3(input, k, padding, align=align, name=name)


def matrix_set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):
    """The matrices with other diagonals; see `matrix_diag`."""
    return gen_ops.matrix_set_diag_v3(input, diagonal, k, align=align, name=name)


def tensor_diag(diagonal, name=None):
    """Zeros of twice the rank with the input on the diagonal: [i..., i...] is its [i...]."""
    return gen_ops.diag(diagonal, name=name)


def tensor_diag_part(input, name=None):
    """The diagonal of a Tensor whose axes are the same twice."""
    return gen_ops.diag_part(input, name=name)


def adjoint(matrix, name=None):
    """Matrices transposed and conjugated. Needs a known rank."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert(matrix, name="matrix"), conjugate=True)


def trace(x, name=None):
    """The sums of the main diagonals of matrices, of shape [..., rows, columns]."""
    with name_scope(name, "Trace", [x]) as scope:
        return reduce_sum(matrix_diag_part(convert(x, name="x")), [-1], name=scope)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """The norm of vectors or matrices.

    Args:
      tensor: a Tensor of floating or complex numbers.
      ord: "euclidean" or 2, 1, any positive number, or np.inf; "fro" of matrices.
      axis: the axis of vectors, or the two of matrices; None for all elements as one vector.
      keepdims: True to keep the axes, with size 1.
      name: the name scope.
      keep_dims: the older name of keepdims.

    Raises:
      ValueError: for another ord, or one that is not for matrices.
    """
    keep = bool(keepdims if keepdims is not None else keep_dims)
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    if ord not in ("fro", "euclidean", 1, 2, np.inf) and (
        not np.isreal(ord) or isinstance(ord, str) or ord <= 0
    ):
        raise ValueError(
            f"'ord' must be a positive number, 'euclidean', 'fro', 1, 2 or np.inf, got {ord!r}"
        )
    if is_matrix and ord not in ("euclidean", "fro", 1, np.inf):
        raise ValueError(f"'ord' of a matrix must be 'euclidean', 'fro', 1 or np.inf, got {ord!r}")
    with name_scope(name, "norm", [tensor]) as scope:
        tensor = convert(tensor)
        if ord in ("fro", "euclidean") or ord == 2:
            squares = reduce_sum(magnitude(tensor * conj(tensor)), axis, keepdims=True)
            made = gen_ops.sqrt(squares)
        else:
            size = magnitude(tensor)
            if ord == np.inf:
                first = reduce_sum(size, axis[1], keepdims=True) if is_matrix else size
                made = reduce_max(first, axis[0] if is_matrix else axis, keepdims=True)
            elif ord == 1:
                first = reduce_sum(size, axis[0] if is_matrix else axis, keepdims=True)
                made = reduce_max(first, axis[1], keepdims=True) if is_matrix else first
            else:
                power = constant(ord, size.dtype.base_dtype)
                total = reduce_sum(gen_ops.pow(size, power), axis, keepdims=True)
                made = gen_ops.pow(total, gen_ops.reciprocal(power))
        if keep:
            return gen_ops.identity(made, name=scope)
        axes = axis if axis is None or isinstance(axis, (tuple, list)) else [axis]
        return gen_ops.squeeze(made, squeeze_dims=list(axes) if axes is not None else [])


def einsum(equation, *inputs, **kwargs):
    """The sums of products that an equation of letters for axes tells: "ij,jk->ik" is a matrix product.

    Args:
      equation: "ij,jk->ik"; without "->", the letters that come once, in order. "..." stands for any
        axes, which broadcast.
      *inputs: a Tensor for each operand, of one type.
      name: the name scope.

    Raises:
      ValueError: if the equation names another number of operands.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"einsum() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = tuple(inputs[0])
    letters, output = _parse_equation(equation)
    if len(letters) != len(inputs):
        raise ValueError(
            f"Got {len(inputs)} arguments for equation '{equation}', expecting {len(letters)}"
        )
    with name_scope(name, "einsum", list(inputs)) as scope:
        operands = [convert(item) for item in inputs]
        while len(operands) > 2:
            kept = "".join(letters[2:]) + output
            shared = _kept_letters(letters[0], letters[1], kept)
            pair = gen_ops.einsum(operands[:2], equation=f"{letters[0]},{letters[1]}->{shared}")
            operands, letters = [pair, *operands[2:]], [shared, *letters[2:]]
        return gen_ops.einsum(operands, equation=f"{','.join(letters)}->{output}", name=scope)


def _parse_equation(equation):
    """(letters of each operand, letters of the result)."""
    text = equation.replace(" ", "")
    if not re.fullmatch(r"[a-zA-Z.,]*(->[a-zA-Z.]*)?", text):
        raise ValueError(f"Indices have incorrect format: {equation}")
    left, arrow, output = text.partition("->")
    letters = left.split(",")
    if not arrow:
        named = left.replace(",", "").replace("...", "")
        output = "".join(sorted(each for each in set(named) if named.count(each) == 1))
        if "..." in left:
            output = "..." + output
    return letters, output


def _kept_letters(first, second, later):
    """What a product of two operands must keep for those that come later."""
    dots = "..." if "..." in first + second else ""
    letters = dict.fromkeys((first + second).replace(".", ""))
    return dots + "".join(letter for letter in letters if letter in later)
