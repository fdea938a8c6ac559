"""Summaries of tensors that are named after them, as tf.contrib.slim makes them."""

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection
from millrace._ops.debug import Print
from millrace._ops.normalization import zero_fraction
from millrace._summaries import building


def _named(tensor, name, prefix):
    name = name or tensor.op.name
    return f"{prefix}/{name}" if prefix else name


def _made(build, tensor, name, is_printed):
    if not is_printed:
        return build(name, tensor)
    # What prints is collected, in the place of what does not.
    summary = Print(build(name, tensor, collections=[]), [tensor], name)
    add_to_collection(GraphKeys.SUMMARIES, summary)
    return summary


def add_scalar_summary(tensor, name=None, prefix=None, print_summary=False):
    """A scalar summary, called as the tensor's node unless it is named.

    Args:
      tensor: the scalar.
      name: its name.
      prefix: what goes before the name, with a slash.
      print_summary: True to print the value where it is summarized.
    """
    return _made(building.scalar, tensor, _named(tensor, name, prefix), print_summary)


def add_image_summary(tensor, name=None, prefix=None, print_summary=False):
    """A summary of images; the arguments of `add_scalar_summary`."""
    return _made(building.image, tensor, _named(tensor, name, prefix), print_summary)


def add_histogram_summary(tensor, name=None, prefix=None):
    """A histogram; the arguments of `add_scalar_summary`."""
    return building.histogram(_named(tensor, name, prefix), tensor)


def add_zero_fraction_summary(tensor, name=None, prefix=None, print_summary=False):
    """Which part of a tensor's values is 0; the arguments of `add_scalar_summary`."""
    name = f"{_named(tensor, name, prefix)}/Fraction_of_Zero_Values"
    return add_scalar_summary(zero_fraction(tensor), name, print_summary=print_summary)


def add_scalar_summaries(tensors, prefix=None, print_summary=False):
    """A list of scalar summaries of some tensors."""
    return [add_scalar_summary(each, None, prefix, print_summary) for each in tensors]


def add_image_summaries(tensors, prefix=None):
    """A list of summaries of some tensors of images."""
    return [add_image_summary(each, prefix=prefix) for each in tensors]


def add_histogram_summaries(tensors, prefix=None):
    """A list of histograms of some tensors."""
    return [add_histogram_summary(each, prefix=prefix) for each in tensors]


def add_zero_fraction_summaries(tensors, prefix=None):
    """A list of summaries of which part of some tensors is 0."""
    return [add_zero_fraction_summary(each, prefix=prefix) for each in tensors]
