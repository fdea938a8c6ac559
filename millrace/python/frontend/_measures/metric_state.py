"""What metrics keep from step to step, and how their results are announced."""

from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import add_to_collections
from millrace._measures.ranks import fit_weights, remove_squeezable_dimensions
from millrace._ops.arrays import zeros
from millrace._state.variable_sharing import VariableAggregation, VariableSynchronization
from millrace._state.variables import Variable


def metric_variable(shape, dtype, name, validate_shape=True):
    """A local Variable of zeros, in the collections of local and of metric variables; each replica has its own.

    With validate_shape=False it may become of another shape.
    """
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        validate_shape=validate_shape,
    )


def fitted(labels, predictions, weights):
    """(labels, predictions, weights) of ranks that go together; labels and weights may be None.

    Raises:
      ValueError: if labels and predictions have other shapes.
    """
    predictions = convert(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is not None:
        weights = fit_weights(weights, predictions)
    return labels, predictions, weights


def announced(value, update, metrics_collections, updates_collections):
    """(value, update), after each has joined its collections."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update
