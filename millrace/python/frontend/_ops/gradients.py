"""tf.gradients and what belongs to it: thin over C++, which walks the graph and adds the nodes."""

import collections
from enum import Enum

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._ops.gradient_counts import count_gradients
from millrace._values import dtypes

__all__ = [
    "AggregationMethod",
    "IndexedSlices",
    "NoGradient",
    "NotDifferentiable",
    "RegisterGradient",
    "UnconnectedGradients",
    "gradients",
]


class AggregationMethod:
    """How gradients that arrive at one Tensor from several sides are added up.

    ADD_N adds all at once; EXPERIMENTAL_TREE two by two, which holds less memory at a time;
    EXPERIMENTAL_ACCUMULATE_N is EXPERIMENTAL_TREE.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients(Enum):
    """What the gradient is by an x that no y depends on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


IndexedSlicesValue = collections.namedtuple(
    "IndexedSlicesValue", ("values", "indices", "dense_shape")
)


class IndexedSlices:
    """Some rows of a Tensor whose others are 0: row indices[i] is values[i], repeated ones add up.

    The gradient by what tf.gather reads is one; where a Tensor is needed it becomes one.

    Args:
      values: a Tensor with the rows.
      indices: a Tensor of int32 or int64, which rows they are.
      dense_shape: a Tensor, the shape of the whole; may be None.
    """

    def __init__(self, values, indices, dense_shape=None):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def name(self):
        return self.values.name

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def op(self):
        return self.values.op

    @property
    def graph(self):
        return self.values.graph

    @property
    def device(self):
        return self.values.device

    def _as_tensor(self, dtype=None, name=None, as_ref=False):
        if self.dense_shape is None:
            raise ValueError(
                "Tensor conversion requested for IndexedSlices without dense_shape: " + str(self)
            )
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype "
                f"{self.dtype.name}"
            )
        rows = gen_ops.strided_slice(self.dense_shape, [0], [1], [1], shrink_axis_mask=1)
        return gen_ops.unsorted_segment_sum(self.values, self.indices, rows, name=name)

    def __str__(self):
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"


class _Registry:
    """Gradients that programs have registered, by name: functions, or None for "has none"."""

    functions = {}


class RegisterGradient:
    """A decorator: the function below makes the gradient of an op, or of nodes that are told so.

        @tf.RegisterGradient("Mine")
        def _mine(op, grad):
            return 2.0 * grad

        with graph.gradient_override_map({"Identity": "Mine"}):
            y = tf.identity(x)

    It is called with the Operation and what arrives at each of its outputs (a Tensor or an
    IndexedSlices; None for outputs without gradients), and returns what goes to each input: Tensors,
    IndexedSlices or None, one alone or a list. A name that is an op's stands for all nodes of that
    op, in place of what the runtime has.

    Args:
      op_type: an op, or any other name.

    Raises:
      TypeError: if it is no string; KeyError: if it is registered already.
    """

    def __init__(self, op_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f):
        _register(self._op_type, f)
        return f


def _register(name, function):
    known = _Registry.functions
    if name in known:
        raise KeyError(f"Registering two gradient with name '{name}'!")
    known[name] = function


def NotDifferentiable(op_type):
    """Says that an op has no gradient: what arrives there goes nowhere, without an error.

    Args:
      op_type: the name of the op.

    Raises:
      TypeError: if it is no string; KeyError: if it is registered already.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


NoGradient = NotDifferentiable


class _OfGraph:
    """Gradients that are registered for one graph's nodes alone, and go when it goes."""

    def __init__(self):
        self.functions = {}


def register_in_graph(graph, name, function):
    """RegisterGradient for nodes of one graph that are told so by its gradient_override_map."""
    graph.own(_OfGraph).functions[name] = function


def programs_own(graph):
    """What C++ asks for gradients before it asks the op: two functions, or None if there are none."""
    registered = _Registry.functions
    if not registered and not graph.overrides_gradients:
        return None
    core = graph.core

    def has(node_id):
        return graph.gradient_name(node_id) is not None or core.type(node_id) in registered

    def make(node_id, arriving):
        operation = graph.operation(node_id)
        name = graph.gradient_name(node_id) or operation.type
        local = graph.own(_OfGraph).functions
        if name not in registered and name not in local:
            raise LookupError(
                f"No gradient defined for operation '{operation.name}' (op type: "
                f"{operation.type}): its gradient_override_map says '{name}', which "
                "tf.RegisterGradient has not seen"
            )
        function = local[name] if name in local else registered[name]
        if function is None:
            return [None] * len(operation.inputs)
        with graph.as_default():
            made = function(operation, *(_as_gradient(graph, each) for each in arriving))
            made = _as_list(made)
            if len(made) != len(operation.inputs):
                raise ValueError(
                    f"Num gradients {len(made)} generated for op {operation.name} (op type: "
                    f"{operation.type}) do not match num inputs {len(operation.inputs)}"
                )
            return [_endpoints(graph, each, of) for each, of in zip(made, operation.inputs)]

    return has, make


class _WithoutGradients:
    """Tensors of one graph that no gradient goes through."""

    def __init__(self):
        self.endpoints = []


def bar_gradients(tensors):
    """From now on these count as constants, whoever asks for gradients."""
    for tensor in tensors:
        tensor.graph.own(_WithoutGradients).endpoints.append(tensor.endpoint)


def _endpoints(graph, gradient, of):
    """A gradient by the input `of` in the form that C++ takes; see _as_gradient."""
    if gradient is None:
        return None
    if not isinstance(gradient, IndexedSlices):
        dtype = None if of.dtype == dtypes.resource else of.dtype.base_dtype
        return graph.as_graph_element(convert(gradient, dtype), True, False).endpoint
    shape = gradient.dense_shape
    if shape is None:
        shape = gen_ops.shape(of)
    parts = (gradient.values, gradient.indices, shape)
    return tuple(graph.as_graph_element(convert(part), True, False).endpoint for part in parts)


def gradients(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):
    """The gradients of the sum of `ys` by each of `xs`.

    Args:
      ys: a Tensor, or a list of them.
      xs: a Tensor or Variable, or a list of them.
      grad_ys: what arrives at each y, or None for ones; a list of these.
      name: the name scope of the nodes.
      colocate_gradients_with_ops: True to put nodes where the op is whose gradient they are.
      gate_gradients: True to use no gradient of an op's inputs before all of them are there.
      aggregation_method: of AggregationMethod.
      stop_gradients: Tensors that count as constants.
      unconnected_gradients: UnconnectedGradients.ZERO for zeros where an x has no gradient.

    Returns:
      For each x a Tensor, an IndexedSlices, or None if no y depends on it.

    Raises:
      LookupError: if an op on the way has no gradient.
      errors.UnimplementedError: if a function stands in the way, or a loop that is no while_loop.
      ValueError: if an argument does not fit.
    """
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    ys = [convert(y) for y in _as_list(ys)]
    xs = [_differentiated(x) for x in _as_list(xs)]
    if not xs or not ys:
        return [None] * len(xs)
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    graph = ys[0].graph
    first = graph.version
    found = graph.core.gradients(
        [y.endpoint for y in ys],
        [x.endpoint for x in xs],
        [
            None if g is None else convert(g, y.dtype.base_dtype).endpoint
            for g, y in zip(grad_ys, ys)
        ],
        [convert(stop).endpoint for stop in _as_list(stop_gradients or [])]
        + graph.own(_WithoutGradients).endpoints,
        name or "gradients",
        {
            "tree": aggregation_method in (1, 2),
            "colocate": bool(colocate_gradients_with_ops),
            "gate": bool(gate_gradients),
            "source": programs_own(graph),
            "zeros": UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO,
        },
    )
    if graph.seed is not None:
        count_gradients(graph, ys, xs, sum(g is None for g in grad_ys), first, gate_gradients)
    return [_as_gradient(graph, each) for each in found]


def _as_list(values):
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _differentiated(x):
    """What stands for x in the graph: of a Variable, what all that reads it comes from."""
    handle = getattr(x, "handle", None)
    return convert(x, as_ref=True) if handle is None else handle


def _as_gradient(graph, found):
    if found is None:
        return None
    if len(found) == 2:
        return graph.tensor(*found)
    return IndexedSlices(*(graph.tensor(*endpoint) for endpoint in found))


def as_indexed_slices_list(inputs, optimize=True):
    """IndexedSlices of Tensors and IndexedSlices, all indices of one type.

    Args:
      inputs: a list of them.
      optimize: accepted.

    Raises:
      TypeError: if it is no list.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Expected a list or tuple, not a %s" % type(inputs))
    slices = [each if isinstance(each, IndexedSlices) else _all_rows(each) for each in inputs]
    kinds = {each.indices.dtype.base_dtype for each in slices}
    if len(kinds) < 2:
        return slices
    return [
        IndexedSlices(each.values, gen_ops.cast(each.indices, DstT=dtypes.int64), each.dense_shape)
        for each in slices
    ]


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    """IndexedSlices as they are, anything else as what tf.convert_to_tensor makes of it.

    Args:
      value: what to convert; None stays None.
      dtype: the type that it must have.
      name: a name for the node, if one has to be made.

    Raises:
      ValueError: if slices or a Tensor have another type.
    """
    if value is None:
        return None
    if not isinstance(value, IndexedSlices):
        return convert(value, dtype and dtypes.as_dtype(dtype), name)
    if dtype and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for IndexedSlices of "
            f"dtype {value.dtype.name}"
        )
    return value


def _all_rows(tensor):
    tensor = convert(tensor)
    shape = gen_ops.shape(tensor)
    return IndexedSlices(tensor, gen_ops.range(0, shape[0], 1), shape)
