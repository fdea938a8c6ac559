"""Nodes that make summaries of values: tf.summary.scalar and its kin."""

import contextlib
import re

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._state.replica_contexts import current_replica
from millrace._summaries.messages import PluginData, SummaryDescription, SummaryMetadata
from millrace._values import dtypes

_NOT_IN_TAGS = re.compile(r"[^-/\w\.]")


def clean_tag(name):
    """A name with "_" in place of what no node may be called; None stays None."""
    return None if name is None else _NOT_IN_TAGS.sub("_", name).lstrip("/")


@contextlib.contextmanager
def _scope(name, family, default_name, values):
    """The name scope of a summary: yields its tag, and the scope as a node's name."""
    name = clean_tag(name)
    family = clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        # The family stands in front of the tag whatever scopes are around.
        tag = scope.rstrip("/") if family is None else f"{family}/{scope.rstrip('/')}"
        yield tag, scope


def _natural(value):
    """An array keeps its type, where the op would rather have float32; what is no array stays as it is."""
    return convert(value) if isinstance(value, (np.ndarray, np.generic)) else value


def collect(made, collections, default):
    """A summary, after it has joined its collections; of replicas the first one tells."""
    replica = current_replica()
    if replica is not None and replica.local_replica:
        return made
    get_default_graph().add_to_collections(default if collections is None else collections, made)
    return made


def scalar(name, tensor, collections=None, family=None):
    """A node whose value is a Summary with one number.

    Args:
      name: what the node is called; with the scopes around, the tag of the number.
      tensor: a real scalar.
      collections: the collections that it joins; SUMMARIES if None.
      family: what its tag begins with, so that related ones are shown together.

    Returns:
      a string scalar: the bytes of the message.
    """
    with _scope(name, family, None, [tensor]) as (tag, scope):
        made = gen_ops.scalar_summary(tag, tensor, name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def histogram(name, values, collections=None, family=None):
    """A node whose value is a Summary with the histogram of real values, which must be finite.

    Args:
      name, collections, family: as in tf.summary.scalar.
      values: of any shape.
    """
    with _scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        made = gen_ops.histogram_summary(tag, _natural(values), name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def image(name, tensor, max_outputs=3, collections=None, family=None):
    """A node whose value is a Summary with pictures, as PNG.

    Floating values are scaled to bytes: the largest becomes 255, or 0 becomes 127 if some are negative.

    Args:
      name, collections, family: as in tf.summary.scalar; tags are name/image/0 and so on.
      tensor: uint8 or floating, [batch, height, width, channels] with 1, 3 or 4 channels.
      max_outputs: how many pictures of the batch at most.
    """
    with _scope(name, family, None, [tensor]) as (tag, scope):
        made = gen_ops.image_summary(tag, _natural(tensor), max_images=max_outputs, name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    """A node whose value is a Summary with sounds, as WAV.

    Args:
      name, collections, family: as in tf.summary.scalar; tags are name/audio/0 and so on.
      tensor: float32 between -1 and 1, [batch, frames, channels] or [batch, frames].
      sample_rate: frames in a second, a float32 scalar.
      max_outputs: how many sounds of the batch at most.
    """
    with _scope(name, family, None, [tensor]) as (tag, scope):
        sample_rate = convert(sample_rate, dtypes.float32, "sample_rate")
        made = gen_ops.audio_summary_v2(
            tag, tensor, sample_rate, max_outputs=max_outputs, name=scope
        )
    return collect(made, collections, [GraphKeys.SUMMARIES])


def tensor_summary(
    name,
    tensor,
    summary_description=None,
    collections=None,
    summary_metadata=None,
    family=None,
    display_name=None,
):
    """A node whose value is a Summary with a tensor as it is.

    Args:
      name, collections, family: as in tf.summary.scalar.
      tensor: of any type and shape.
      summary_description: a text on it.
      summary_metadata: a SummaryMetadata that says how to show it.
      display_name: what to call it when it is shown.
    """
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    with _scope(name, family, None, [tensor]) as (tag, scope):
        made = gen_ops.tensor_summary_v2(tag, tensor, metadata.SerializeToString(), name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def text(name, tensor, collections=None):
    """A node whose value is a Summary with strings, shown as text.

    Raises:
      ValueError: if `tensor` is of another type.
    """
    tensor = convert(tensor)
    if tensor.dtype != dtypes.string:
        raise ValueError(
            f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype.name}"
        )
    metadata = SummaryMetadata(plugin_data=PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def merge(inputs, collections=None, name=None):
    """A node whose value is a Summary with all values of other summaries.

    Args:
      inputs: a list of what tf.summary.scalar and the like gave; their tags must differ.
      collections: the collections that it joins; none if None.
      name: a name for the node.
    """
    with name_scope(clean_tag(name), "Merge", list(inputs)):
        made = gen_ops.merge_summary(list(inputs), name=clean_tag(name))
    return collect(made, collections, [])


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """tf.summary.merge of all summaries that a collection of the graph has; None if it has none.

    Args:
      key: the collection.
      scope: only those whose names begin so.
      name: a name for the node.
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    """The SummaryDescription of a node of TensorSummary, which has it as text.

    Raises:
      ValueError: if it is another op's.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return SummaryDescription()
