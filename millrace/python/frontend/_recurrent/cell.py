"""RNNCell: the base of what a recurrent net does at each point of time."""

import copy

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import counted_as
from millrace._graph.operation import Tensor
from millrace._layers.layer import Layer
from millrace._ops.arrays import concat, zeros
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape


class RNNCell(Layer):
    """The base of cells: (output, new state) of (inputs, state).

    Classes that derive from it define `state_size` and `output_size` (an int, a TensorShape, or a
    nested structure of these) and `call(inputs, state)`. Inputs are of shape [batch, depth], states
    of shape [batch, size]. A cell makes its variables when it is first called and shares them later.

    Args:
      trainable, name, dtype: as for layers.
    """

    def __call__(self, inputs, state, scope=None):
        """(output, new state).

        Args:
          inputs: a Tensor, or a nested structure of them.
          state: Tensors in the structure of `state_size`.
          scope: for the first call, the name or VariableScope of the variables; by default the name
            of the cell in the current scope.
        """
        return super().__call__(inputs, state, scope=scope)

    def __deepcopy__(self, memo):
        """The cell as it was before it was first called: a copy makes variables of its own."""
        memo.update({id(variable): None for variable in self.weights})
        made = memo[id(self)] = type(self).__new__(type(self))
        forgotten = {
            "built": False,
            "_scope": None,
            "_current_scope": None,
            "_trainable_weights": [],
            "_non_trainable_weights": [],
            "_losses": [],
            "_updates": [],
        }
        for name, value in vars(self).items():
            if self.built and name in forgotten:
                value = forgotten[name]
            setattr(made, name, copy.deepcopy(value, memo))
        return made

    @property
    def state_size(self):
        """The sizes of the state, without the batch."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        """The size of the output, without the batch."""
        raise NotImplementedError("Abstract method")

    def build(self, _):
        self.built = True

    def zero_state(self, batch_size, dtype):
        """The state to begin with: zeros.

        Args:
          batch_size: an int or an int32 scalar.
          dtype: the type.

        Returns:
          Tensors of shape [batch_size, size] in the structure of `state_size`.
        """
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return zero_states(self.state_size, batch_size, dtype)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """zero_state of these, or of the batch and type of `inputs`.

        Raises:
          ValueError: if neither inputs nor both others are given.
        """
        if inputs is not None:
            inputs = convert(inputs)
            batch_size = batch_size_of(inputs)
            dtype = inputs.dtype.base_dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


def batch_size_of(tensor, axis=0):
    """The size of the batch: an int if it is known, else a scalar Tensor."""
    from_shape = tensor.shape.as_list()[axis] if tensor.shape.ndims is not None else None
    if from_shape is not None:
        return from_shape
    return gen_ops.shape(tensor)[axis]


def zero_states(sizes, batch_size, dtype):
    """Zeros of shape [batch_size, *size] for each size of a structure."""
    dtypes = (
        dtype if structure.is_sequence(dtype) else structure.map_structure(lambda _: dtype, sizes)
    )

    @counted_as(10 if isinstance(batch_size, Tensor) else 8)
    def zeros_of(size, kind):
        rest = dims_of(size)
        if not isinstance(batch_size, Tensor):
            return zeros([int(batch_size), *rest], kind)
        made = zeros(concat([[batch_size], rest], 0) if rest else [batch_size], kind)
        made.set_shape([constant_value(batch_size), *rest])
        return made

    return structure.map_structure(zeros_of, sizes, dtypes)


def dims_of(size):
    """A size as a list of ints: [n] for a number, the dims of a TensorShape."""
    if isinstance(size, TensorShape):
        return size.as_list()
    return TensorShape([size]).as_list() if not isinstance(size, (list, tuple)) else list(size)


def assert_like_rnncell(name, cell):
    """TypeError unless `cell` has what is needed of one."""
    lacking = [each for each in ("output_size", "state_size") if not hasattr(cell, each)]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        lacking.append("zero_state or get_initial_state")
    if not callable(cell):
        lacking.append("being callable")
    if lacking:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: it lacks {lacking}.")
