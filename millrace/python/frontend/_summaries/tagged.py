"""Summaries by the functions that TensorFlow had before 1.0: a tag is what the program says, whatever scopes are around."""

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._summaries.building import collect, merge, merge_all
from millrace._values import dtypes


def scalar_summary(tags, values, collections=None, name=None):
    """A node whose value is a Summary with one number for each tag.

    Args:
      tags: strings.
      values: real numbers, as many.
      collections: the collections that it joins; SUMMARIES if None.
      name: a name for the node.
    """
    with name_scope(name, "ScalarSummary", [tags, values]) as scope:
        made = gen_ops.scalar_summary(tags, values, name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def histogram_summary(tag, values, collections=None, name=None):
    """A node whose value is a Summary with the histogram of real values, which must be finite.

    Args: as for scalar_summary, with one tag.
    """
    with name_scope(name, "HistogramSummary", [tag, values]) as scope:
        made = gen_ops.histogram_summary(tag, values, name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def image_summary(tag, tensor, max_images=3, collections=None, name=None):
    """A node whose value is a Summary with pictures, as tf.summary.image; tags are tag/image/0 and so on.

    Args:
      tag: a string.
      tensor: uint8 or floating, [batch, height, width, channels] with 1, 3 or 4 channels.
      max_images: how many pictures of the batch at most.
      collections, name: as for scalar_summary.
    """
    with name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        made = gen_ops.image_summary(tag, tensor, max_images=max_images, name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def audio_summary(tag, tensor, sample_rate, max_outputs=3, collections=None, name=None):
    """A node whose value is a Summary with sounds, as tf.summary.audio; tags are tag/audio/0 and so on.

    Args:
      tag: a string.
      tensor: float32 between -1 and 1, [batch, frames, channels] or [batch, frames].
      sample_rate: frames in a second, a float32 scalar.
      max_outputs: how many sounds of the batch at most.
      collections, name: as for scalar_summary.
    """
    with name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = convert(sample_rate, dtypes.float32, "sample_rate")
        made = gen_ops.audio_summary_v2(tag, tensor, rate, max_outputs=max_outputs, name=scope)
    return collect(made, collections, [GraphKeys.SUMMARIES])


def merge_summary(inputs, collections=None, name=None):
    """tf.summary.merge."""
    return merge(inputs, collections, name)


def merge_all_summaries(key=GraphKeys.SUMMARIES):
    """tf.summary.merge_all."""
    return merge_all(key)
