"""Metrics of the classes that are predicted first: how many of them are right, and of what is right how many."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor, to_tensor_or_sparse
from millrace._measures.means import documented
from millrace._measures.metric_state import announced, metric_variable
from millrace._measures.ranks import broadcast_weights
from millrace._ops.arithmetic import cast, cumsum
from millrace._ops.arrays import concat, expand_dims, fill, ones_like
from millrace._ops.arrays import shape as shape_of
from millrace._ops.arrays import size as size_of
from millrace._ops.layers import top_k
from millrace._ops.reductions import reduce_any, reduce_sum
from millrace._ops.sets import set_difference, set_intersection, set_size
from millrace._ops.sparse import sparse_tensor_to_dense
from millrace._ops.sparse_layout import sparse_reshape
from millrace._state.assignments import assign_add
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes

_LABELS = (
    "labels: int64, a Tensor or SparseTensor of shape [..., labels], or [...] for one label each.\n"
)
_CLASS = "\n      class_id: the one class to count; None for all."
_SCORES = (
    f"{_LABELS}      predictions: numbers, [..., classes].\n      k: how many of the highest count."
)
_TOP = (
    f"{_LABELS}      predictions_idx: int64, [..., k]: the classes that are predicted first.\n"
    "      k: accepted; the last axis tells it."
)


def _name(name, k, class_id=None):
    name = f"{name}_at_k" if k is None else f"{name}_at_{k}"
    return name if class_id is None else f"{name}_class{class_id}"


def _with_axis_of_labels(labels, predictions):
    """Labels with an axis for several of them, as predictions have one for classes."""
    labels = to_tensor_or_sparse(labels)
    rank, own = predictions.shape.ndims, labels.shape.ndims
    if rank is None or own is None:
        raise ValueError("the ranks of labels and predictions must be known")
    if own == rank:
        return labels
    if own != rank - 1:
        raise ValueError(
            f"Expected labels of rank {rank - 1} or {rank} for predictions of shape "
            f"{predictions.shape}, got {labels.shape}"
        )
    if isinstance(labels, SparseTensor):
        return sparse_reshape(labels, concat([labels.dense_shape, [1]], 0))
    return expand_dims(labels, -1)


def _of_class(ids, class_id):
    """Of each row of ids the one, as a SparseTensor; the row is empty where it is not among them."""
    if class_id is None:
        return ids
    sizes = (
        ids.dense_shape if isinstance(ids, SparseTensor) else shape_of(ids, out_type=dtypes.int64)
    )
    alone = fill(concat([sizes[:-1], [1]], 0), constant(class_id, dtypes.int64))
    alone.set_shape([*ids.shape.as_list()[:-1], 1])
    return set_intersection(alone, ids)


def _both(found, labels):
    return set_intersection(found, labels)


def _only_found(found, labels):
    return set_difference(found, labels)


def _only_labels(found, labels):
    return set_difference(found, labels, aminusb=False)


def _counted(kind, name, labels, found, weights):
    """(Variable, update): the sum of weights of what a function gives of both sets, row by row."""
    count = cast(set_size(kind(found, labels)), dtypes.float64)
    if weights is not None:
        count = count * broadcast_weights(cast(weights, dtypes.float64), count)
    held = metric_variable([], dtypes.float64, name)
    return held, assign_add(held, reduce_sum(count))


def _share(noun, other_name, other_kind, what):
    """Both metrics of a share: of given classes, and of those with the highest predictions."""

    def at_top_k(
        labels,
        predictions_idx,
        k=None,
        class_id=None,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        given = [predictions_idx, labels, weights]
        with variable_scope(name, _name(noun, k, class_id), given):
            found = cast(predictions_idx, dtypes.int64)
            labels = _of_class(_with_axis_of_labels(labels, found), class_id)
            found = _of_class(found, class_id)
            pairs = [
                _counted(kind, _name(kept, k, class_id), labels, found, weights)
                for kept, kind in (("true_positive", _both), (other_name, other_kind))
            ]
            (right, right_now), (wrong, wrong_now) = pairs
            value = gen_ops.real_div(convert(right), convert(right) + wrong, name="value")
            update = gen_ops.real_div(right_now, right_now + wrong_now, name="update")
            return announced(value, update, metrics_collections, updates_collections)

    def at_k(
        labels,
        predictions,
        k,
        class_id=None,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with name_scope(name, _name(noun, k, class_id), [predictions, labels, weights]) as scope:
            _, found = top_k(predictions, k)
            return at_top_k(
                labels,
                found,
                k,
                class_id,
                weights,
                metrics_collections,
                updates_collections,
                scope,
            )

    for function, suffix, inputs in ((at_top_k, "top_k", _TOP), (at_k, "k", _SCORES)):
        function.__name__ = function.__qualname__ = f"{noun}_at_{suffix}"
        documented(f"The weighted share of {what}.", inputs + _CLASS)(function)
    return at_k, at_top_k


recall_at_k, recall_at_top_k = _share(
    "recall", "false_negative", _only_labels, "labels that are among the first k predictions"
)
precision_at_k, precision_at_top_k = _share(
    "precision", "false_positive", _only_found, "the first k predictions that are labels"
)
sparse_precision_at_k = precision_at_k


@documented(
    "The mean, over rows, of the mean of precision_at_k at each label that is found.", _SCORES
)
def average_precision_at_k(
    labels,
    predictions,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    _, found = top_k(predictions, k)
    collections = [metrics_collections, updates_collections]
    return average_precision_at_top_k(labels, found, weights, *collections, name)


@documented(
    "The mean, over rows, of the mean of precision_at_top_k at each label that is found.",
    f"{_LABELS}      predictions_idx: int64, [..., k]: the classes that are predicted first; k is known.",
)
def average_precision_at_top_k(
    labels,
    predictions_idx,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    found = cast(predictions_idx, dtypes.int64)
    k = found.shape.as_list()[-1] if found.shape.ndims else None
    if k is None:
        raise ValueError(
            f"average_precision_at_top_k: the last axis of predictions has to be known, not {found.shape}"
        )
    with variable_scope(name, _name("average_precision", k), [found, labels, weights]):
        average = _average_precision(_with_axis_of_labels(labels, found), found, k)
        count = cast(size_of(average), dtypes.float64)
        if weights is not None:
            weights = broadcast_weights(cast(weights, dtypes.float64), average)
            average, count = average * weights, reduce_sum(weights)
        most, total = (metric_variable([], dtypes.float64, each) for each in ("max", "total"))
        most_now, total_now = assign_add(most, count), assign_add(total, reduce_sum(average))
        value = gen_ops.div_no_nan(total, most, name="mean")
        update = gen_ops.div_no_nan(total_now, most_now, name="update")
        return announced(value, update, metrics_collections, updates_collections)


sparse_average_precision_at_k = average_precision_at_k


def _average_precision(labels, found, k):
    """float64, of each row: the mean of the precisions where a label is found; NaN without labels."""
    if isinstance(labels, SparseTensor):
        count = set_size(labels)
        labels = sparse_tensor_to_dense(labels, default_value=-1, validate_indices=False)
    else:
        count = fill(shape_of(labels)[:-1], shape_of(labels)[-1])
    is_label = reduce_any(gen_ops.equal(expand_dims(found, -1), expand_dims(labels, -2)), -1)
    is_label = cast(is_label, dtypes.float64)
    precision = cumsum(is_label, -1) / cumsum(ones_like(is_label), -1)
    return reduce_sum(precision * is_label, -1) / cast(gen_ops.minimum(count, k), dtypes.float64)
