"""tf.hessians: derivatives of second order of a scalar, by each x."""

from millrace import _gen as gen_ops
from millrace._flow.tensor_array import TensorArray
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, reshape, size
from millrace._ops.gradients import gradients

__all__ = ["hessians"]


def hessians(
    ys,
    xs,
    name="hessians",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
):
    """The matrix of second derivatives of the sum of `ys` by each of `xs`.

    Args:
      ys: a Tensor, or a list of them.
      xs: a Tensor or Variable, or a list of them.
      name: the name scope.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: as for tf.gradients.

    Returns:
      for each x a Tensor of shape x.shape + x.shape.

    Raises:
      LookupError: if an op on the way has no gradient; ValueError: if the ys don't depend on an x.
    """
    options = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    with name_scope(name, "hessians"):
        xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
        return [_hessian(first, x, options) for first, x in zip(gradients(ys, xs, **options), xs)]


def _hessian(first, x, options):
    if first is None:
        raise ValueError(f"tf.hessians: the ys do not depend on {x}")
    first = reshape(convert(first), [-1])
    count = size(first)

    def row(i, rows):
        (second,) = gradients(first[i], x, **options)
        second = gen_ops.zeros_like(convert(x)) if second is None else convert(second)
        return i + 1, rows.write(i, reshape(second, [-1]))

    _, rows = while_loop(
        lambda i, _: gen_ops.less(i, count),
        row,
        [convert(0), TensorArray(convert(x).dtype.base_dtype, size=count)],
    )
    shape = gen_ops.shape(convert(x))
    made = reshape(rows.stack(), concat([shape, shape], 0))
    made.set_shape(convert(x).shape.concatenate(convert(x).shape))
    return made
