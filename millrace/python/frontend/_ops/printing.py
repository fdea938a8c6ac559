"""tf.print: values as text, while a graph runs."""

import os
import pprint
import sys

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.sparse_tensor import SparseTensor
from millrace._values import dtypes, nest


def print(
    *inputs, output_stream=None, summarize=3, sep=" ", end=os.linesep, name=None
):  # TensorFlow's name
    """A node that prints values on a stream of the task that runs it.

    Args:
      *inputs: Tensors, other values, and lists, tuples and dictionaries of both.
      output_stream: sys.stderr (the default), sys.stdout, tf.logging.info, .warning or .error, or
        "file://" and a path, to whose file it is added.
      summarize: how many elements from each end of an axis; -1 for all.
      sep: a text between the inputs.
      end: a text after them.
      name: a name for the node.

    Returns:
      an Operation, which a session must run.

    Raises:
      ValueError: if the stream is another.
    """
    stream = _stream(output_stream)
    text = _only_text(inputs)
    if text is None:
        text = _formatted(inputs, sep, summarize, name and f"{name}_format")
    return gen_ops.print_v2(text, output_stream=stream, end=end, name=name)


def _stream(given):
    """The attribute for what a program names."""
    if given is None or given is sys.stderr:
        return "stderr"
    if given is sys.stdout:
        return "stdout"
    if isinstance(given, str) and given.startswith("file://"):
        return given
    level = _LEVELS.get(getattr(given, "__name__", given))
    if level is None:
        raise ValueError(
            f"Unsupported output stream, logging level, or file.{given}. Supported streams are "
            "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File "
            "needs to be in the form of 'file://<filepath>'."
        )
    return level


# By the names of logging functions, or the numbers of their levels.
_LEVELS = {
    "info": "log(info)",
    "warn": "log(warning)",
    "warning": "log(warning)",
    "error": "log(error)",
    20: "log(info)",
    30: "log(warning)",
    40: "log(error)",
}


def _only_text(inputs):
    """The input, if it is a single string that is printed as it is."""
    if len(inputs) != 1 or not _is_tensor(inputs[0]):
        return None
    is_text = inputs[0].dtype.base_dtype == dtypes.string and inputs[0].shape.ndims == 0
    return convert(inputs[0]) if is_text else None


def _is_tensor(value):
    return hasattr(value, "_as_tensor")


def _formatted(inputs, sep, summarize, name):
    placeholder = "{}"
    written = sep.join([sep, *map(pprint.pformat, map(_without_tensors, inputs))])
    while placeholder in written:
        placeholder += "9"
    tensors, templates = [], []
    for item in inputs:
        if isinstance(item, str):
            templates.append(item)
            continue
        leaves = [_leaf(leaf, placeholder, tensors) for leaf in _leaves(item)]
        packed = nest.pack_sequence_as(item, leaves) if nest.is_nested(item) else leaves[0]
        templates.append(pprint.pformat(packed))
    # What stands for a Tensor is no text of its own.
    template = sep.join(templates).replace(f"'{placeholder}'", placeholder)
    return gen_ops.string_format(
        tensors, template=template, placeholder=placeholder, summarize=summarize, name=name
    )


def _leaves(item):
    return nest.flatten(item) if nest.is_nested(item) else [item]


def _without_tensors(item):
    leaves = ["" if _is_tensor(leaf) else leaf for leaf in _leaves(item)]
    return nest.pack_sequence_as(item, leaves) if nest.is_nested(item) else leaves[0]


def _leaf(leaf, placeholder, tensors):
    """What stands in the template for a value; adds its Tensors to those that are printed."""
    if isinstance(leaf, SparseTensor):
        tensors.extend([leaf.indices, leaf.values, leaf.dense_shape])
        return f"SparseTensor(indices={placeholder}, values={placeholder}, shape={placeholder})"
    if _is_tensor(leaf):
        tensors.append(convert(leaf))
        return placeholder
    return leaf
