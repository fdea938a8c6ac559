"""Graphs whose Tensors have values: what functions of tf.py_function compute in."""

import weakref

import numpy as np

from millrace._graph.graph import Graph
from millrace._graph.op_specs import specs
from millrace._graph.operation import Tensor
from millrace._run.session import Session
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

# Their values are kept although the ops have no state: what comes out of a loop or a branch may have.
_ENDS = frozenset(["Exit", "Merge"])
_WAYS_IN = ("Enter", "RefEnter", "Switch", "RefSwitch")
_INSIDES = frozenset(["Enter", "NextIteration", "RefEnter", "RefSwitch", "Switch"])


class EagerTensor(Tensor):
    """A Tensor that can tell its value: as a NumPy array, and where Python wants a number."""

    __slots__ = ()

    def numpy(self):
        """The value: an array, or a scalar of NumPy's (bytes for a string)."""
        return self.graph.value_of(self)

    @property
    def shape(self):
        """The shape, of the value if it isn't known without it."""
        known = super().shape
        if known.is_fully_defined() or self.op.control_context is not None:
            return known
        return TensorShape(np.shape(self.numpy()))

    @property
    def ndim(self):
        return self.shape.ndims

    def eval(self, feed_dict=None, session=None):
        """As numpy()."""
        return self.numpy()

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __bool__(self):
        return bool(self.numpy())

    def __int__(self):
        return int(self.numpy())

    def __float__(self):
        return float(self.numpy())

    def __complex__(self):
        return complex(self.numpy())

    def __index__(self):
        return self.numpy().__index__()

    def __len__(self):
        return len(self.numpy())

    def __format__(self, spec):
        return format(self.numpy(), spec) if spec else str(self)

    def __str__(self):
        return f"tf.Tensor({self.numpy()}, shape={self.shape}, dtype={self.dtype.name})"


class EagerGraph(Graph):
    """A graph that one call of a function makes and leaves behind.

    Nodes run when a value is asked for. What has an effect, or gives something else each time, runs once:
    with the first value that is asked for after it was made, in the order of the program.
    """

    tensor_class = EagerTensor
    has_values = True

    def __init__(self):
        super().__init__()
        self._values = {}  # Tensor (which keeps it the same one) -> value
        self._effects = []  # nodes that have not run
        self._session = None

    def add_value(self, array, dtype):
        """A Tensor with the value of an array."""
        attrs = {"dtype": dtype.as_datatype_enum, "shape": np.shape(array)}
        node = super().add_node("Placeholder", [], attrs, self.op_name("input", "Placeholder"))
        tensor = self.tensor(node, 0)
        self._values[tensor] = array
        return tensor

    def add_node(self, op_type, inputs, attrs, name):
        before, controls = self._effects, self.core.controls
        if self.context is None:
            # Effects run in the order of the program anyway. A node that was told to wait for one would, if
            # it is asked for later, have it run again.
            self.core.clear_controls()
        try:
            node = super().add_node(op_type, inputs, attrs, name)
        finally:
            self.core.controls = controls
        is_effect = specs[op_type].is_stateful and self.context_of(node) is None
        if is_effect or (op_type in _ENDS and self.context_of(node) is None):
            self._effects = [*before, node]
        if before and (is_effect or self._leads_inside(op_type, node)):
            self.core.add_control_input(node, before[-1])
        return node

    def _leads_inside(self, op_type, node):
        """Whether a node is where values come from the outside into a cond or a while_loop."""
        context = self.context_of(node)
        if context is None or context.outer is not None:
            return context is None and op_type in _WAYS_IN
        return op_type in _WAYS_IN[:2] if context.is_loop else op_type in _WAYS_IN

    def value_of(self, tensor):
        """The value of a Tensor of this graph.

        Raises:
          errors.OpError: if computing it fails; ValueError: if it is inside of a loop or a branch.
        """
        return self.values_of([tensor])[0]

    def values_of(self, tensors):
        """The values of several, computed together."""
        for tensor in tensors:
            if tensor not in self._values and tensor.op.type == "Const":
                self._values[tensor] = self.constant_value(tensor)
        if any(tensor not in self._values for tensor in tensors):
            self.finish()
            self._run([tensor for tensor in tensors if tensor not in self._values], [])
        return [self._values[tensor] for tensor in tensors]

    def finish(self):
        """Runs the effects that are left.

        They run without what else is wanted, which may fail; and once, also if one of them fails.
        """
        effects, self._effects = self._effects, []
        self._run(
            [tensor for node in effects for tensor in self._fetched_of(node)],
            [self.operation(node) for node in effects],
        )

    def _run(self, tensors, effects):
        """Computes the values of Tensors that have none, and runs these Operations."""
        if tensors or effects:
            self._session = self._session or Session(graph=self)
            known = self._known_for([*effects, *(tensor.op for tensor in tensors)])
            values, _ = self._session.run([tensors, effects], known)
            self._values.update(zip(tensors, values))

    def _known_for(self, operations):
        """{Tensor: its value} of what these read, by themselves or by others that have no value yet."""
        known, waiting, seen = {}, list(operations), set()
        while waiting:
            operation = waiting.pop()
            if operation.node_id in seen:
                continue
            seen.add(operation.node_id)
            waiting += operation.control_inputs
            for tensor in operation.inputs:
                if tensor in self._values:
                    known[tensor] = self._values[tensor]
                else:
                    waiting.append(tensor.op)
        return known

    def _fetched_of(self, node):
        if self.operation(node).type in _INSIDES:
            return []
        return [each for each in self.outputs(node) if _has_array(each.dtype)]

    def close(self):
        """Ends what has run it. From now on a value stays as long as somebody has its Tensor."""
        if self._session is not None:
            self._session.close()
        # The graph itself may wait for the garbage collector, which knows nothing of how large arrays are.
        self._values = weakref.WeakKeyDictionary(self._values)


def _has_array(dtype):
    return not dtype.is_reference and dtype not in (dtypes.resource, dtypes.variant)
