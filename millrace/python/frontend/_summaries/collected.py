"""Summaries of all that is in a collection, as tf.contrib.layers makes them."""

import re

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_mean
from millrace._summaries import building
from millrace._values import dtypes


def summarize_tensor(tensor, tag=None):
    """A scalar summary of a scalar, a histogram of others; called "<node>_summary" without a tag."""
    tag = tag or f"{tensor.op.name}_summary"
    return (building.scalar if tensor.shape.ndims == 0 else building.histogram)(tag, tensor)


def summarize_activation(op):
    """A histogram of a layer's output; of those that are cut also the share that is."""

    def share(condition, what):
        building.scalar(f"{op.op.name}/{what}", reduce_mean(cast(condition, dtypes.float32)))

    if op.op.type in ("Relu", "Softplus", "Relu6"):
        share(gen_ops.less(op, cast(0.0, op.dtype.base_dtype)), "zeros")
    if op.op.type == "Relu6":
        share(gen_ops.greater(op, cast(6.0, op.dtype.base_dtype)), "sixes")
    return building.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors, summarizer=summarize_tensor):
    """A list of summaries of each."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(collection, name_filter=None, summarizer=summarize_tensor):
    """A list of summaries of what is in a collection.

    Args:
      collection: its name.
      name_filter: a regular expression that the names of nodes begin with; None for all.
      summarizer: makes one.
    """
    return [
        summarizer(each)
        for each in get_collection(collection)
        if name_filter is None or re.match(name_filter, each.op.name)
    ]


def summarize_variables(name_filter=None, summarizer=summarize_tensor):
    """Summaries of all variables."""
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(name_filter=None, summarizer=summarize_tensor):
    """Summaries of what is in the collection of weights."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(name_filter=None, summarizer=summarize_tensor):
    """Summaries of what is in the collection of biases."""
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


def summarize_activations(name_filter=None, summarizer=summarize_activation):
    """Summaries of what is in the collection of activations."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
