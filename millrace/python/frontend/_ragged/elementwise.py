"""Functions of single elements, of ragged tensors: they are called with the flat values."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.composite import composite_among
from millrace._graph.conversion import constant, convert, is_convertible
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.operation import Tensor
from millrace._flow.checks import assert_equal
from millrace._ops.arithmetic import cast
from millrace._ops.operators import NAMES
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from millrace._ragged.values import RaggedTensorValue


def map_flat_values(op, *args, **kwargs):
    """What `op` makes of the flat values of ragged tensors with the same rows, in rows like these.

    Args:
      op: called with the arguments, the flat values in the place of each RaggedTensor, in lists too. Its
        result has as many rows as they.

    Returns:
      a RaggedTensor; what `op` returns if there is none among the arguments.
    """
    found = []
    args = _replaced(args, found)
    kwargs = _replaced(kwargs, found)
    if not found:
        return op(*args, **kwargs)
    with control_dependencies(_same_rows(found)):
        return found[0].with_flat_values(op(*args, **kwargs))


def _replaced(value, found):
    """`value` with flat values for the ragged tensors in it, which are put into the list `found`."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_replaced(item, found) for item in value)
    if isinstance(value, dict):
        return {key: _replaced(item, found) for key, item in value.items()}
    if isinstance(value, (RaggedTensor, RaggedTensorValue)):
        ragged = as_ragged_or_tensor(value)
        found.append(ragged)
        return ragged.flat_values
    return value


def _same_rows(ragged):
    """The checks that all of them have the same nested rows. ValueError if they can't have."""
    first, checks = ragged[0], []
    for other in ragged[1:]:
        if other.ragged_rank != first.ragged_rank:
            raise ValueError(
                f"Inputs must have identical ragged splits, but their ragged ranks are "
                f"{first.ragged_rank} and {other.ragged_rank}"
            )
        checks += same_splits(first.nested_row_splits, other.nested_row_splits)
    return checks


def same_splits(first, second):
    """The checks that two lists of splits are the same; none for those that are one Tensor.

    Raises:
      ValueError: if types or sizes differ.
    """
    checks = []
    for a, b in zip(first, second):
        if a == b:
            continue
        if a.dtype.base_dtype != b.dtype.base_dtype:
            raise ValueError(
                f"row splits are {a.dtype.name} here and {b.dtype.name} there: use "
                "with_row_splits_dtype"
            )
        a.shape.assert_is_compatible_with(b.shape)
        message = "Inputs must have identical ragged splits"
        # Before their elements, which could only be compared if they are as many.
        sizes = assert_equal(gen_ops.size(a), gen_ops.size(b), message=message)
        with control_dependencies([sizes]):
            checks.append(assert_equal(gen_ops.identity(a), b, message=message))
    return checks


def elementwise(function, *operands):
    """What a function of elements makes of operands that broadcast, some of them ragged.

    A Tensor broadcasts to a RaggedTensor; one of more dimensions than its flat values' rows have needs
    a size of 1, or that of all rows, where the RaggedTensor is ragged. Two RaggedTensors have the same rows,
    or one of them, of the same rank, ends in sizes of 1.

    Args:
      function: takes Tensors in the place of RaggedTensors.
      operands: numbers, Tensors, RaggedTensors, and what converts to one of the latter.
    """
    with name_scope(None, "RaggedElementwise", _tensors_of(operands)):
        ragged = [each for each in operands if isinstance(each, (RaggedTensor, RaggedTensorValue))]
        deepest = max(map(as_ragged_or_tensor, ragged), key=lambda each: each.ragged_rank)
        checks = []
        flat = [_aligned(each, deepest, checks) for each in operands]
        with control_dependencies(checks):
            return deepest.with_flat_values(function(*flat))


def _tensors_of(operands):
    return [each for each in operands if hasattr(each, "graph")]


def _aligned(operand, to, checks):
    """What stands for an operand beside the flat values of `to`; `checks` gets what that relies on."""
    if operand is to:
        return to.flat_values
    if isinstance(operand, (RaggedTensor, RaggedTensorValue)):
        return _aligned_ragged(as_ragged_or_tensor(operand), to, checks)
    if not hasattr(operand, "_as_tensor"):
        if not isinstance(operand, (list, tuple)) and getattr(operand, "ndim", 0) == 0:
            return operand
        operand = convert(operand, hint=to.dtype.base_dtype)
    operand = convert(operand)
    rank = operand.shape.ndims
    if rank is None:
        raise ValueError(f"The rank of {operand} must be known beside a ragged tensor")
    inner = to.flat_values.shape.ndims
    if rank == 0 or (inner is not None and rank < inner):
        return operand
    if inner is None:
        raise ValueError(f"The rank of {to} must be known beside a Tensor of rank {rank}")
    missing = to.ragged_rank + inner - rank
    if missing < 0:
        raise ValueError(
            f"A Tensor of shape {operand.shape} does not broadcast to a ragged tensor of shape {to.shape}"
        )
    for _ in range(missing):
        operand = operand[None]
    return _rows_beside(operand, to, checks)


def _aligned_ragged(other, to, checks):
    levels = other.ragged_rank
    if levels < to.ragged_rank and other.shape.ndims != to.shape.ndims:
        raise ValueError(
            f"Ragged tensors of shapes {other.shape} and {to.shape} do not broadcast: they need the "
            "same rank; use tf.expand_dims"
        )
    checks += same_splits(other.nested_row_splits, to.nested_row_splits)
    if levels == to.ragged_rank:
        return other.flat_values
    inner = to
    for _ in range(levels):
        inner = inner.values
    return _rows_beside(other.flat_values, inner, checks)


def _rows_beside(tensor, to, checks):
    """The parts of a Tensor of the rank of `to`, one beside each of its flat values' rows.

    Its first ragged_rank + 1 sizes are 1 or those of `to`.
    """
    levels = to.ragged_rank + 1
    dtype = to.row_splits.dtype.base_dtype
    sizes = gen_ops.shape(tensor, out_type=dtype)
    known = tensor.shape.as_list()[:levels]
    # Places along each axis of the row that a flat value is in, from the innermost axis outwards.
    place, stride = constant(0, dtype), constant(1, dtype)
    nested = to.nested_row_splits
    rowids = to.nested_value_rowids()
    count = gen_ops.shape(to.flat_values, out_type=dtype)[0]
    thing = gen_ops.range(constant(0, dtype), count, 1)
    for level in range(levels - 1, -1, -1):
        if level == 0:
            length = to.nrows()
            here, wanted, next_thing = thing, length, None
        else:
            next_thing = gen_ops.gather_v2(rowids[level - 1], thing, 0)
            here = gen_ops.sub(thing, gen_ops.gather_v2(nested[level - 1], next_thing, 0))
            starts, ends = nested[level - 1][:-1], nested[level - 1][1:]
            wanted = gen_ops.sub(ends, starts)
        if known[level] != 1:
            message = f"A Tensor of shape {tensor.shape} does not broadcast to {to.shape}"
            size = sizes[level]
            is_one = gen_ops.equal(size, constant(1, dtype))
            fits = gen_ops.logical_or(is_one, gen_ops.equal(wanted, size))
            checks.append(assert_equal(fits, constant(True), message=message))
            wide = cast(gen_ops.logical_not(is_one), dtype)
            place = gen_ops.add(place, gen_ops.mul(gen_ops.mul(here, wide), stride))
            stride = gen_ops.mul(stride, size)
        thing = next_thing
    outer = gen_ops.reshape(tensor, gen_ops.concat_v2([[-1], sizes[levels:]], 0))
    if all(size == 1 for size in known):
        return outer
    with control_dependencies(checks):
        return gen_ops.gather_v2(outer, gen_ops.identity(place), 0)


def take_elementwise(function, args, kwargs):
    """As RaggedTensor.takers have it: Tensors and what converts to them are operands, also in a list."""
    operands = []

    def hollowed(value, is_positional):
        """The argument with functions of the operands' values in the place of operands."""
        if isinstance(value, (list, tuple)) and composite_among(value) is not None:
            return [hollowed(item, True) for item in value]
        is_list = isinstance(value, (list, tuple)) and is_positional
        if isinstance(value, RaggedTensorValue) or is_list or _is_tensor(value):
            operands.append(value)
            return _Place(len(operands) - 1)
        return value

    hollow_args = [hollowed(value, True) for value in args]
    hollow_kwargs = {key: hollowed(value, False) for key, value in kwargs.items()}

    def call(*values):
        return function(
            *[_filled(value, values) for value in hollow_args],
            **{key: _filled(value, values) for key, value in hollow_kwargs.items()},
        )

    return elementwise(call, *operands)


class _Place:
    """Where an operand stands in a call."""

    def __init__(self, number):
        self.number = number


def _filled(value, values):
    if isinstance(value, _Place):
        return values[value.number]
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    return value


def _is_tensor(value):
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return is_ragged(value) or is_array or hasattr(value, "_as_tensor")


def _operator(name):
    on_tensors = getattr(Tensor, name)

    def apply(self, *others):
        if others and not (isinstance(others[0], RaggedTensorValue) or is_ragged(others[0])):
            if not is_convertible(others[0]):
                return NotImplemented
        return elementwise(on_tensors, self, *others)

    return apply


def install():
    """Gives RaggedTensor the operators of elements."""
    for name in NAMES:
        if name not in ("__getitem__", "__matmul__", "__rmatmul__"):
            setattr(RaggedTensor, name, _operator(name))
