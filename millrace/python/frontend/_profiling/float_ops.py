"""How many floating point operations a node takes, as TensorFlow counts them, and counts of a program's own.

A multiplication and an addition are two. What TensorFlow does not count (casts, gathers, random numbers, …) has
none here either.
"""

from math import prod


class OpStats:
    """A figure of a node.

    Attributes:
      statistic_type: which one: "flops".
      value: an int, or None if nobody has said how it is found for this op. Adding another OpStats of the same
        kind adds up.
    """

    def __init__(self, statistic_type, value=None):
        self.statistic_type = statistic_type
        self.value = value

    def __iadd__(self, other):
        if other.statistic_type != self.statistic_type:
            raise ValueError(
                f"Can't add an OpStat of type {self.statistic_type} to one of {other.statistic_type}."
            )
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


_registered = {}  # (op, kind of figure): a function of (graph, NodeDef)


class RegisterStatistics:
    """Registers the function that it decorates, which gives the figure of a node.

        @RegisterStatistics("MyOp", "flops")
        def _count(graph, node):
            return OpStats("flops", 12)

    Args:
      op_type: the name of an op.
      statistic_type: which figure it gives: "flops".

    Raises:
      TypeError: for a type that is no string, or one with a comma.
      KeyError: if the op has that figure already.
    """

    def __init__(self, op_type, statistic_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise TypeError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        if "," in statistic_type:
            raise TypeError("statistic_type must not contain a comma.")
        self._key = (op_type, statistic_type)

    def __call__(self, function):
        is_ours = self._key[1] == "flops" and self._key[0] in _COUNTS
        if is_ours or self._key in _registered:
            raise KeyError(f"statistics '{self._key[1]}' of op '{self._key[0]}' are registered")
        _registered[self._key] = function
        return function


def get_stats_for_node_def(graph, node, statistic_type):
    """The OpStats of a NodeDef of a graph. ValueError if a shape that it takes is not known."""
    function = _registered.get((node.op, statistic_type))
    if function is not None:
        return function(graph, node)
    count = _COUNTS.get(node.op) if statistic_type == "flops" else None
    made = OpStats(statistic_type)
    if count is not None:
        made.value = int(count(graph.get_operation_by_name(node.name)))
    return made


def _sizes(tensor):
    if not tensor.shape.is_fully_defined():
        raise ValueError(f"the shape of {tensor.name} is not known: {tensor.shape}")
    return tensor.shape.as_list()


def _size_in(op, index=0):
    return prod(_sizes(op.inputs[index]))


def _size_out(op):
    return prod(_sizes(op.outputs[0]))


def _per_input(times):
    return lambda op: times * _size_in(op)


def _per_output(times):
    return lambda op: times * _size_out(op)


def _reduced(op):
    """One less than goes into each result."""
    return _size_in(op) - _size_out(op)


def _with_channels_last(count):
    """Images count where channels are their last axis, as in TensorFlow."""

    def checked(op):
        if op.get_attr("data_format") != b"NHWC":
            raise ValueError("Only NHWC format is supported in flops computations")
        return count(op)

    return checked


def _window(op):
    return prod(op.get_attr("ksize"))


def _convolution(op):
    height, width, depth, _ = _sizes(op.inputs[1])
    return 2 * _size_out(op) * height * width * depth


def _convolution_back(images, filters):
    """What a gradient of a convolution takes, from the sizes of images and of filters."""
    _, down, across, _ = filters[1]
    return 2 * prod(images) * prod(filters[0]) // (images[-1] * down * across)


def _to_images(op):
    filters = _sizes(op.inputs[1]), op.get_attr("strides")
    return _convolution_back(_sizes(op.outputs[0]), filters)


def _to_filters(op):
    filters = _sizes(op.outputs[0]), op.get_attr("strides")
    return _convolution_back(_sizes(op.inputs[0]), filters)


def _windows_by_channel(op):
    height, width = _sizes(op.inputs[1])[:2]
    return 2 * _size_out(op) * height * width


def _product(op):
    a = _sizes(op.inputs[0])
    return 2 * _size_out(op) * (a[-2] if op.get_attr("transpose_a") else a[-1])


_COUNTS = {
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd"), _per_input(1)
    ),
    "Rsqrt": _per_input(2),
    "Softmax": _per_input(5),
    "L2Loss": lambda op: 3 * _size_in(op) - 1,
    **dict.fromkeys(
        "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow GreaterEqual Greater LessEqual Less Equal NotEqual "
        "BiasAdd".split(),
        _per_output(1),
    ),
    "SquaredDifference": _per_output(2),
    "RsqrtGrad": _per_output(4),
    "Mean": _per_input(1),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduced),
    "AddN": lambda op: _size_in(op) * (len(op.inputs) - 1),
    "MatMul": _product,
    "AvgPool": _with_channels_last(lambda op: _window(op) * _size_out(op)),
    "MaxPool": _with_channels_last(lambda op: _window(op) * _size_out(op)),
    "AvgPoolGrad": _with_channels_last(lambda op: 2 * _window(op) * _size_in(op, 1)),
    "MaxPoolGrad": _with_channels_last(lambda op: (_window(op) + 1) * _size_in(op, 1)),
    "Conv2D": _convolution,
    "Conv2DBackpropInput": _with_channels_last(_to_images),
    "Conv2DBackpropFilter": _with_channels_last(_to_filters),
    "DepthwiseConv2dNative": _windows_by_channel,
    "Dilation2D": _windows_by_channel,
}
