"""Labels, predictions and weights brought to shapes that go together."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import Assert, no_op
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones_like, rank, squeeze
from millrace._ops.arrays import shape as shape_of
from millrace._ops.reductions import reduce_all


def _may_squeeze(tensor):
    dims = tensor.shape.as_list()
    return bool(dims) and dims[-1] in (1, None)


def _squeezed_if(condition, tensor):
    return cond(condition, lambda: squeeze(tensor, [-1]), lambda: gen_ops.identity(tensor))


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """(labels, predictions), a last axis of size 1 taken from the one whose rank is 1 too high.

    Args:
      labels, predictions: Tensors or what converts to them.
      expected_rank_diff: by how much the rank of the predictions should be above that of the labels.
      name: the name scope.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = convert(labels), convert(predictions)
        ranks = labels.shape.ndims, predictions.shape.ndims
        if None not in ranks:
            more = ranks[1] - ranks[0] - expected_rank_diff
            if more == 1 and _may_squeeze(predictions):
                predictions = squeeze(predictions, [-1])
            elif more == -1 and _may_squeeze(labels):
                labels = squeeze(labels, [-1])
            return labels, predictions
        more = rank(predictions) - rank(labels) - expected_rank_diff
        narrow_labels = gen_ops.equal(more, -1)
        if ranks[1] is None or _may_squeeze(predictions):
            predictions = _squeezed_if(gen_ops.equal(more, 1), predictions)
        if ranks[0] is None or _may_squeeze(labels):
            labels = _squeezed_if(narrow_labels, labels)
        return labels, predictions


def fit_weights(weights, values):
    """Weights whose rank differs by 1 from that of the values, with a last axis of size 1 less or more."""
    weights = convert(weights)
    ranks = weights.shape.ndims, values.shape.ndims
    if ranks[0] == 0 or None in ranks or ranks[0] == ranks[1]:
        return weights
    if ranks[0] - ranks[1] == 1:
        return squeeze(weights, [-1])
    return gen_ops.expand_dims(weights, -1) if ranks[1] - ranks[0] == 1 else weights


_CANNOT = "weights can not be broadcast to values."


def assert_broadcastable(weights, values):
    """An Operation that fails unless weights are a scalar, or of the rank of the values and in each axis
    of size 1 or of theirs.

    Raises:
      ValueError: if it is known already that they are not.
    """
    with name_scope("assert_broadcastable", values=[weights, values]) as scope:
        weights, values = convert(weights, name="weights"), convert(values, name="values")
        dims, others = weights.shape.dims, values.shape.dims
        if weights.shape.ndims == 0:
            return no_op(name="static_scalar_check_success")
        if dims is not None and others is not None:
            _check_known(weights, values)
            if weights.shape.is_fully_defined() and values.shape.is_fully_defined():
                return no_op(name="static_dims_check_success")
        shape, other = shape_of(weights), shape_of(values)
        is_scalar = gen_ops.equal(rank(weights), 0)

        def fits():
            is_one_or_same = gen_ops.logical_or(
                gen_ops.equal(shape, 1), gen_ops.equal(shape, other)
            )
            return reduce_all(is_one_or_same)

        is_valid = cond(
            gen_ops.equal(rank(weights), rank(values)), fits, lambda: gen_ops.identity(is_scalar)
        )
        told = [_CANNOT, "weights.shape=", shape, "values.shape=", other]
        return Assert(is_valid, told, summarize=8, name=scope)


def _check_known(weights, values):
    sizes, others = weights.shape.as_list(), values.shape.as_list()
    told = f"values.shape={others}. weights.shape={sizes}."
    if len(sizes) != len(others):
        raise ValueError(f"{_CANNOT} values.rank={len(others)}. weights.rank={len(sizes)}. {told}")
    for axis, (size, other) in enumerate(zip(sizes, others)):
        if size not in (1, None) and other is not None and size != other:
            raise ValueError(f"{_CANNOT} Mismatch at dim {axis}. {told}")


def broadcast_weights(weights, values):
    """Weights of the type and shape of the values. Errors as of `assert_broadcastable`."""
    with name_scope("broadcast_weights", values=[weights, values]) as scope:
        values = convert(values, name="values")
        weights = cast(convert(weights, name="weights"), values.dtype.base_dtype)
        both = weights.shape, values.shape
        if (
            all(shape.is_fully_defined() for shape in both)
            and both[0].as_list() == both[1].as_list()
        ):
            return weights
        with control_dependencies([assert_broadcastable(weights, values)]):
            return gen_ops.mul(weights, ones_like(values), name=scope)
