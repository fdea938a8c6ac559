"""How many nodes TensorFlow 1.15 makes for gradients (see node_counts.py for what that is good for).

It works out the gradients by all inputs of an op, also those that nobody has asked for, and gathers them with
a node for each where `gate` says so. Ops that are not told of here count as what they are in our graph.
"""

_NO_WAY = {
    "StopGradient",
    "Shape",
    "ShapeN",
    "Size",
    "Rank",
    "ZerosLike",
    "OnesLike",
    "PreventGradient",
}
_FLOW = {"Enter", "RefEnter", "Exit", "RefExit", "Switch", "RefSwitch", "Merge", "RefMerge"}

# Of ops with one gradient.
_OF_ONE = {
    "Abs": 2,
    "AvgPool": 2,
    "Cast": 1,
    "Elu": 1,
    "Exp": 1,
    "ExpandDims": 2,
    "Identity": 0,
    "L2Loss": 1,
    "LRN": 1,
    "LeakyRelu": 1,
    "Log": 2,
    "LogSoftmax": 5,
    "Max": 19,
    "MaxPool": 1,
    "Neg": 1,
    "Relu": 1,
    "Relu6": 1,
    "Reshape": 2,
    "Rsqrt": 1,
    "Selu": 1,
    "Sigmoid": 1,
    "Slice": 12,
    "Softmax": 5,
    "Softplus": 2,
    "SparseSoftmaxCrossEntropyWithLogits": 5,
    "Sqrt": 1,
    "Square": 3,
    "Squeeze": 2,
    "StridedSlice": 2,
    "Tanh": 1,
    "Tile": 12,
    "Transpose": 2,
}

# Of ops with two. Those of losses count with what TensorFlow has around them.
_OF_TWO = {
    "BiasAdd": 1,
    "Conv2D": 3,
    "Conv2DBackpropInput": 3,
    "DepthwiseConv2dNative": 4,
    "DivNoNan": 16,
    "MatMul": 2,
    "Maximum": 13,
    "Minimum": 13,
    "RealDiv": 12,
    "Select": 3,
    "SoftmaxCrossEntropyWithLogits": 13,
    "SquaredDifference": 12,
}

# Likewise, first for shapes that are known and the same.
_OF_SHAPES = {"Add": (0, 7), "AddV2": (0, 7), "Mul": (2, 9), "Pow": (19, 23), "Sub": (1, 8)}


def _of_sum(op, is_mean):
    shape, axes = op.inputs[0].shape, op.graph.constant_value(op.inputs[1])
    is_known = shape.is_fully_defined()
    is_whole = axes is not None and axes.size == shape.ndims
    if is_whole:
        return 4 + is_mean * (2 if is_known else 11)
    return (21 + 2 * is_mean) if is_known else (16 + 11 * is_mean)


def _of_op(op):
    """(nodes, gradients) of an op; None if it counts as in our graph."""
    kind = op.type
    if kind == "Cast" and not op.inputs[0].dtype.base_dtype.is_floating:
        return 0, 1
    if kind in _OF_ONE:
        return _OF_ONE[kind], 1
    if kind in _OF_TWO:
        return _OF_TWO[kind], 2
    if kind in _OF_SHAPES:
        known, other = _OF_SHAPES[kind]
        one, two = op.inputs[0].shape, op.inputs[1].shape
        are_same = one.is_fully_defined() and one.as_list() == (
            two.as_list() if two.ndims is not None else None
        )
        return known if are_same else other, 2
    if kind in ("Sum", "Mean"):
        return _of_sum(op, kind == "Mean"), 1
    if kind == "AddN":
        return 0, len(op.inputs)
    if kind == "Pack":
        return 1, len(op.inputs)
    if kind == "ConcatV2":
        return 4 + len(op.inputs), len(op.inputs) - 1
    if kind == "FusedBatchNormV3":
        return (8 if op.get_attr("is_training") else 6), 3
    return None


def count_gradients(graph, ys, xs, begun, first, gate):
    """Counts the nodes of gradients as TensorFlow does.

    Args:
      graph: the graph; ys, xs: the Tensors.
      begun: how many of ys had no gradients given.
      first: the number of the first node of the gradients.
      gate: whether the gradients of an op are gathered.
    """
    ways = _Ways(xs)
    ops = ways.between(ys)
    if ops is None:
        return
    ours = _made_for_ops(graph, first)
    total = 3 * begun
    for op in ops:
        told = (ways.of_gather(op), 1) if op.type == "GatherV2" else _of_op(op)
        if told is None:
            total += ours.get(op.name, 0)
            continue
        nodes, gradients = told
        total += nodes + (gradients + 1 if gate and gradients > 1 else 0)
    total += ways.sums
    graph.more_nodes += total - (graph.version - first)


def _made_for_ops(graph, first):
    """{name of an op: how many nodes there are for its gradients}."""
    found = {}
    names = [graph.operation(number).name for number in range(first, graph.version)]
    begin = len(names[0].rpartition("/")[0]) + 1 if names else 0
    for name in names:
        op, is_of_op, _ = name[begin:].partition("_grad/")
        if is_of_op:
            found[op] = found.get(op, 0) + 1
    return found


class _Ways:
    """What gradients go through on their way from ys to xs.

    Attributes:
      sums: how many Tensors get gradients from several ops, which are added up.
    """

    def __init__(self, xs):
        self._ends = {x.op.node_id for x in xs}
        self._leads = {}  # node -> whether one of xs comes into it, by whatever way
        self.sums = 0

    def between(self, ys):
        """The Operations; None if some belong to control flow, which is counted as it is."""
        ops, arriving, waiting = {}, {}, [y.op for y in ys if self._leads_to(y.op)]
        ops.update((op.node_id, op) for op in waiting)
        while waiting:
            op = waiting.pop()
            if op.type in _FLOW:
                return None
            if op.node_id in self._ends or op.type in _NO_WAY:
                del ops[op.node_id]
                continue
            for tensor in op.inputs:
                if not tensor.dtype.base_dtype.is_floating or not self._leads_to(tensor.op):
                    continue
                if tensor.op.type in _NO_WAY:
                    continue
                arriving[tensor.endpoint] = arriving.get(tensor.endpoint, 0) + 1
                if tensor.op.node_id not in ops and not arriving.get(("seen", tensor.op.node_id)):
                    arriving["seen", tensor.op.node_id] = 1
                    ops[tensor.op.node_id] = tensor.op
                    waiting.append(tensor.op)
        self.sums = sum(count > 1 for key, count in arriving.items() if key[0] != "seen")
        return list(ops.values())

    def of_gather(self, op):
        """Nodes of a gather's gradient, which are made dense where they go on to other ops."""
        source = op.inputs[0].op
        while source.type == "Identity":
            source = source.inputs[0].op
        return 13 if source.node_id in self._ends else 23

    def _leads_to(self, op):
        waiting = [op]
        while waiting:
            now = waiting[-1]
            if now.type in _FLOW:
                self._leads[now.node_id] = True  # so that `between` finds it
            if now.node_id in self._leads:
                waiting.pop()
                continue
            before = [] if now.node_id in self._ends else [tensor.op for tensor in now.inputs]
            unknown = [each for each in before if each.node_id not in self._leads]
            if unknown and all(each.node_id < now.node_id for each in unknown):
                waiting.extend(unknown)
                continue
            self._leads[now.node_id] = now.node_id in self._ends or any(
                self._leads.get(each.node_id, False) for each in before
            )
            waiting.pop()
        return self._leads[op.node_id]
