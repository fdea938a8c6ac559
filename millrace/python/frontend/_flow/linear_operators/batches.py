"""Many matrices in one Tensor: to which batch several broadcast, and Tensors of one batch."""

import functools

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._ops.arrays import broadcast_to, concat, expand_dims, shape
from millrace._ops.broadcasting import broadcast_static_shape
from millrace._ops.matrices import matrix_diag_part, matrix_set_diag
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def common_shape(shapes):
    """The TensorShape to which shapes broadcast. ValueError if they do not."""
    return functools.reduce(broadcast_static_shape, shapes)


def common_sizes(vectors):
    """The sizes to which vectors of sizes broadcast."""
    return functools.reduce(gen_ops.broadcast_args, vectors)


def same_batches(*matrices):
    """Tensors of shape [..., n, k] whose batches are the one to which theirs broadcast."""
    batches = [matrix.shape[:-2] for matrix in matrices]
    whole = common_shape(batches)
    if whole.is_fully_defined() and all(batch == whole for batch in batches):
        return list(matrices)
    sizes = common_sizes([shape(matrix)[:-2] for matrix in matrices])
    made = []
    for matrix in matrices:
        spread = broadcast_to(matrix, concat([sizes, shape(matrix)[-2:]], 0))
        spread.set_shape(whole.concatenate(matrix.shape[-2:]))
        made.append(spread)
    return made


def product(a, b, adjoint_a=False, adjoint_b=False):
    """The products of matrices, whose batches broadcast."""
    return gen_ops.batch_mat_mul_v2(a, b, adj_x=adjoint_a, adj_y=adjoint_b)


def sum_of_logs(logs, dtype):
    """The sum of logarithms: in their type, or in that of the operators if some are real and some complex."""
    if any(log.dtype != logs[0].dtype for log in logs):
        logs = [gen_ops.cast(log, DstT=dtype) for log in logs]
    return functools.reduce(gen_ops.add, logs)


def added_to_diagonal(matrices, diagonal):
    """Matrices plus what stands on their diagonals, of shape [..., n]; their batches broadcast."""
    matrices, columns = same_batches(matrices, expand_dims(diagonal, -1))
    return matrix_set_diag(matrices, matrix_diag_part(matrices) + columns[..., 0])


def of_one_dtype(operators):
    """A list of operators, and their type.

    Raises:
      ValueError: if there are none. TypeError: if their types differ.
    """
    if not isinstance(operators, (list, tuple)):
        raise TypeError(f"Expected argument operators to be a list, got {operators!r}")
    if not operators:
        raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
    if any(operator.dtype != operators[0].dtype for operator in operators):
        told = "   ".join(f"{operator.name}: {operator.dtype.name}" for operator in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {told}")
    return list(operators), operators[0].dtype


def batch_of(operators):
    """The TensorShape of the batch of several operators."""
    return common_shape([operator.batch_shape for operator in operators])


def batch_sizes_of(operators):
    """The same as an int32 vector."""
    return common_sizes([operator.batch_shape_tensor() for operator in operators])


def size_argument(value, name, checks):
    """(an int32 scalar, the number or None) of a size that a caller gives.

    Args:
      value: a number, or an integer Tensor.
      name: what the argument is called.
      checks: a function of the Tensor that gives it with what must run before; or None.

    Raises:
      TypeError: if it is no integer. ValueError: if it is known, and negative or no scalar.
    """
    return _sizes(value, name, checks, 0)


def batch_argument(value, checks):
    """(an int32 vector, its TensorShape) of the batch_shape that a caller gives; errors: as size_argument."""
    sizes, known = _sizes(value, "batch_shape", checks, 1)
    return sizes, TensorShape(known)


def _sizes(value, name, checks, rank):
    given = convert(value, name=name, hint=dtypes.int32)
    if not given.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {given}")
    known = constant_value(given)
    if known is not None:
        if known.ndim != rank:
            raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {known}")
        if (known < 0).any():
            raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
        known = known.tolist()
    elif checks is not None:
        given = checks(given, rank, name)
    elif rank and given.shape.ndims is not None:
        known = [None] * given.shape[0].value if given.shape[0].value is not None else None
    return gen_ops.cast(given, DstT=dtypes.int32), known
