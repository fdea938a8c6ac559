"""Cells around cells: dropout, residual connections, devices, projections, embeddings."""

import hashlib

from millrace import _gen as gen_ops
from millrace._graph.default_graph import device as device_scope
from millrace._graph.node_counts import count_more
from millrace._graph.default_graph import name_scope
from millrace._ops.layers import dropout
from millrace._ops.random_values import random_uniform
from millrace._recurrent.cell import RNNCell, assert_like_rnncell
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape


class CellWrapper(RNNCell):
    """A cell around another one: it has the other's sizes and variables, and no scope of its own."""

    def __init__(self, cell):
        super().__init__()
        assert_like_rnncell("cell", cell)
        self._cell = cell

    @property
    def wrapped_cell(self):
        return self._cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    @property
    def trainable_weights(self):
        return self._cell.trainable_weights if self.trainable else []

    @property
    def non_trainable_weights(self):
        return self._cell.non_trainable_weights

    def zero_state(self, batch_size, dtype):
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        return self.wrap(inputs, state, lambda *given: self._cell(*given, scope=scope))

    def wrap(self, inputs, state, call):
        """(output, new state), where `call(inputs, state)` is the wrapped cell."""
        raise NotImplementedError("Abstract method")


class DropoutWrapper(CellWrapper):
    """Drops parts of a cell's inputs, outputs and states.

    Args:
      cell: the cell.
      input_keep_prob, output_keep_prob, state_keep_prob: how likely an element stays, a float or a
        float scalar; 1 for all. States are dropped on their way out; what an LSTM keeps (`c`) is not.
      variational_recurrent: True to drop the same elements at each point of time.
      input_size: for that, the sizes of the inputs without the batch.
      dtype: for that, the type of inputs, states and outputs.
      seed: the seed.
      dropout_state_filter_visitor: a function of a part of the state (or of its structure) that says
        in booleans of the same structure what may be dropped.

    Raises:
      TypeError: if `cell` is none; ValueError: if a probability is not between 0 and 1, or
        what variational_recurrent needs is missing.
    """

    def __init__(
        self,
        cell,
        input_keep_prob=1.0,
        output_keep_prob=1.0,
        state_keep_prob=1.0,
        variational_recurrent=False,
        input_size=None,
        dtype=None,
        seed=None,
        dropout_state_filter_visitor=None,
    ):
        super().__init__(cell)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._may_drop = dropout_state_filter_visitor or _all_but_kept
        self._keep = {
            "input": input_keep_prob,
            "output": output_keep_prob,
            "state": state_keep_prob,
        }
        # TensorFlow takes probabilities as Tensors.
        count_more(sum(isinstance(keep, (int, float)) for keep in self._keep.values()))
        for what, keep in self._keep.items():
            if isinstance(keep, (int, float)) and not 0.0 <= keep <= 1.0:
                raise ValueError(
                    f"Parameter {what}_keep_prob must be between 0 and 1: {float(keep):f}"
                )
        self._seed = seed
        self._noise = None
        if variational_recurrent:
            self._noise = self._same_noise(input_size, dtype)

    def _drops(self, what):
        keep = self._keep[what]
        return not isinstance(keep, (int, float)) or keep < 1.0

    def _same_noise(self, input_size, dtype):
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        if self._drops("input") and input_size is None:
            raise ValueError(
                "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                "input_size must be provided"
            )
        sizes = {"input": input_size, "state": self.state_size, "output": self.output_size}

        def noise_of(size, salt, i):
            count_more(3)  # the shape is two constants put together
            shape = [1, *TensorShape([size] if isinstance(size, int) else size).as_list()]
            return random_uniform(shape, dtype=dtype, seed=self._seed_of(salt, i))

        def noise(what):
            leaves = structure.flatten(sizes[what])
            return [noise_of(size, f"{what}_variational", i) for i, size in enumerate(leaves)]

        made = {}
        for what, size in sizes.items():
            if self._drops(what):
                made[what] = noise(what)
            elif what != "input":
                count_more(10 * len(structure.flatten(size)))  # TensorFlow makes it and lets it be
        return made

    def _seed_of(self, salt, index):
        if self._seed is None:
            return None
        text = f"{self._seed}{salt}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(self, values, what, salt, may_drop=None):
        leaves = structure.flatten(values)
        allowed = [True] * len(leaves) if may_drop is None else structure.flatten(may_drop)
        keep = self._keep[what]
        made = []
        for i, (leaf, is_allowed) in enumerate(zip(leaves, allowed, strict=True)):
            if not is_allowed:
                made.append(leaf)
            elif self._noise is not None:
                mask = gen_ops.floor(self._noise[what][i] + keep)
                kept = leaf / keep * mask
                kept.set_shape(leaf.shape)
                made.append(kept)
            else:
                made.append(dropout(leaf, keep_prob=keep, seed=self._seed_of(salt, i)))
        return structure.pack(values, made)

    def wrap(self, inputs, state, call):
        if self._drops("input"):
            inputs = self._dropped(inputs, "input", "input")
        output, new_state = call(inputs, state)
        if self._drops("state"):
            may_drop = _shallow(self._may_drop, new_state)
            new_state = self._dropped(new_state, "state", "state", may_drop)
        if self._drops("output"):
            output = self._dropped(output, "output", "output")
        return output, new_state


def _all_but_kept(part):
    """What of a state may be dropped: all but what an LSTM keeps, and arrays."""
    if hasattr(part, "_fields") and part._fields == ("c", "h"):
        return type(part)(c=False, h=True)
    return hasattr(part, "shape")


def _shallow(visitor, part):
    """What the visitor says of a structure, asked of its parts where it does not say it of the whole."""
    said = visitor(part)
    if structure.is_sequence(said) or not structure.is_sequence(part):
        return said
    if isinstance(part, dict):
        return {key: _shallow(visitor, each) for key, each in part.items()}
    return structure.rebuilt(part, [_shallow(visitor, each) for each in part])


class ResidualWrapper(CellWrapper):
    """Adds a cell's inputs to its outputs.

    Args:
      cell: the cell.
      residual_fn: a function of (inputs, outputs) that gives the outputs; their sum if None.

    Raises (when called):
      ValueError, TypeError: if inputs and outputs have other structures or shapes.
    """

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell)
        self._residual_fn = residual_fn or _sum

    def wrap(self, inputs, state, call):
        outputs, new_state = call(inputs, state)
        structure.assert_same_structure(inputs, outputs, "inputs and outputs of a residual cell")
        result = self._residual_fn(inputs, outputs)
        structure.assert_same_structure(outputs, result, "outputs and results of residual_fn")
        return result, new_state


def _sum(inputs, outputs):
    for given, made in zip(structure.flatten(inputs), structure.flatten(outputs)):
        given.shape.assert_is_compatible_with(made.shape)
    return structure.map_structure(lambda given, made: given + made, inputs, outputs)


class DeviceWrapper(CellWrapper):
    """A cell whose nodes go to a device.

    Args:
      cell: the cell.
      device: a device, or a function as for tf.device.
    """

    def __init__(self, cell, device):
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size, dtype):
        with device_scope(self._device):
            return super().zero_state(batch_size, dtype)

    def wrap(self, inputs, state, call):
        with device_scope(self._device):
            return call(inputs, state)
