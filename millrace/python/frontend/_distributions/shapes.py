"""The shapes of distributions: what parameters broadcast to, as far as it is known and as Tensors."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def broadcast(*shapes):
    """The TensorShape to which these broadcast. ValueError if they do not."""
    if any(shape.ndims is None for shape in shapes):
        return TensorShape(None)
    rank = max((shape.ndims for shape in shapes), default=0)
    aligned = [[1] * (rank - shape.ndims) + shape.as_list() for shape in shapes]
    made = []
    for sizes in zip(*aligned):
        larger = {size for size in sizes if size not in (None, 1)}
        if len(larger) > 1:
            raise ValueError(
                f"Incompatible shapes for broadcasting: {' and '.join(map(str, shapes))}"
            )
        unknown = None if None in sizes else 1
        made.append(larger.pop() if larger else unknown)
    return TensorShape(made)


def as_vector(shape, dynamic):
    """A known shape as a constant; else what `dynamic()` gives."""
    if shape.is_fully_defined():
        return constant(shape.as_list(), dtypes.int32, [shape.ndims])
    return dynamic()


def broadcast_tensors(*tensors):
    """The shape to which Tensors broadcast, an int32 vector."""

    def dynamic():
        made = gen_ops.shape(tensors[0])
        for tensor in tensors[1:]:
            made = gen_ops.broadcast_args(made, gen_ops.shape(tensor))
        return made

    return as_vector(broadcast(*(tensor.shape for tensor in tensors)), dynamic)


def joined(*vectors):
    """Vectors of sizes, one after another: int32."""
    return gen_ops.concat_v2([convert(each, dtypes.int32) for each in vectors], 0)


def dtype_of(values):
    """The type of the first of some values that has one, Tensor or array; None if all are plain numbers or None."""
    typed = next((value for value in values if hasattr(value, "dtype")), None)
    return None if typed is None else convert(typed).dtype.base_dtype
