"""AttentionWrapper: a cell that looks at a memory at each point of time."""

import collections

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal
from millrace._flow.tensor_array import TensorArray
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._layers.core import Dense
from millrace._ops.arrays import concat, identity, zeros
from millrace._ops.linear_algebra import matmul
from millrace._recurrent.attention import AttentionMechanism
from millrace._recurrent.cell import RNNCell, assert_like_rnncell, batch_size_of, zero_states
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape


class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
    )
):
    """The state of an AttentionWrapper.

    Attributes:
      cell_state: that of the cell.
      attention: the attention of the last point of time.
      time: which point of time it is, an int32 scalar.
      alignments: the last alignments, one or a tuple of them as there are mechanisms.
      alignment_history: likewise TensorArrays of all alignments, or ().
      attention_state: likewise the states of the mechanisms.
    """

    __slots__ = ()

    def clone(self, **kwargs):
        """The same state with some parts replaced, which keep the shapes known of the old ones.

        Raises:
          ValueError: if a part has another structure or shape.
        """

        def fitting(old, new):
            if isinstance(old, TensorArray) or not hasattr(old, "shape"):
                return new
            new = convert(new)
            if not old.shape.is_compatible_with(new.shape):
                raise ValueError(
                    "The shape of the AttentionWrapperState is expected to be same as the one to "
                    f"clone: self.shape: {old.shape}, input.shape: {new.shape}"
                )
            return new

        replaced = self._replace(**kwargs)
        structure.assert_same_structure(self, replaced, "states before and after clone")
        return structure.map_structure(fitting, self, replaced)


class AttentionWrapper(RNNCell):
    """A cell whose input is joined by what it looked at before, and whose output by what it looks at now.

    Args:
      cell: the cell.
      attention_mechanism: an AttentionMechanism, or a list of them.
      attention_layer_size: the depth of a layer over the cell's output and what was looked at, an int or
        a list of them; None to give what was looked at itself.
      alignment_history: True to keep all alignments in the state, in a TensorArray.
      cell_input_fn: makes the cell's input of (inputs, attention); one after the other if None.
      output_attention: False to give the cell's output instead of the attention.
      initial_cell_state: what `zero_state` has as the cell's state.
      name: the name.
      attention_layer: a layer in the place of the one that attention_layer_size makes, or a list.
      attention_fn: gives (attention, alignments, state) of (mechanism, cell's output, its state, layer).
      dtype: the type of its layers; that of the mechanism if None.

    With a BeamSearchDecoder the memory, its lengths and the cell's state go through tile_batch first.

    Raises:
      TypeError: if cell or mechanism are none; ValueError: if there are two layers for one mechanism, or
        more or fewer layers than mechanisms.
    """

    def __init__(
        self,
        cell,
        attention_mechanism,
        attention_layer_size=None,
        alignment_history=False,
        cell_input_fn=None,
        output_attention=True,
        initial_cell_state=None,
        name=None,
        attention_layer=None,
        attention_fn=None,
        dtype=None,
    ):
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must be an AttentionMechanism or list of multiple "
                    f"AttentionMechanism instances, saw type: {type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._cell_input_fn = cell_input_fn or (lambda x, attention: concat([x, attention], -1))
        self._attention_fn = attention_fn or looked_at
        self._gives_attention = output_attention
        self._keeps_alignments = alignment_history
        self._layers, sizes = self._layers_of(attention_layer_size, attention_layer, dtype)
        self._attention_size = sum(sizes)
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with name_scope(name, "AttentionWrapperInit"):
                batch = batch_size_of(convert(structure.flatten(initial_cell_state)[-1]))
                self._initial_cell_state = self._checked(
                    initial_cell_state, batch, "constructing it: initial_cell_state"
                )

    def _layers_of(self, size, layer, dtype):
        """(a layer or None for each mechanism, the depths of their attentions)."""
        if size is not None and layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        count = len(self._mechanisms)
        depths = [mechanism.values.shape.as_list()[-1] for mechanism in self._mechanisms]
        if size is not None:
            sizes = list(size) if isinstance(size, (list, tuple)) else [size]
            self._check_count("attention_layer_size", "integer", sizes)
            layers = [
                Dense(each, name="attention_layer", use_bias=False, dtype=dtype or mechanism.dtype)
                for each, mechanism in zip(sizes, self._mechanisms)
            ]
            return layers, sizes
        if layer is None:
            return [None] * count, depths
        layers = list(layer) if isinstance(layer, (list, tuple)) else [layer]
        self._check_count("attention_layer", "layer", layers)
        own = TensorShape([self._cell.output_size]).as_list()[-1]
        shapes = [
            each.compute_output_shape([None, own + depth]) for each, depth in zip(layers, depths)
        ]
        return layers, [TensorShape(shape).as_list()[-1] for shape in shapes]

    def _check_count(self, name, what, given):
        if len(given) != len(self._mechanisms):
            raise ValueError(
                f"If provided, {name} must contain exactly one {what} per attention_mechanism, saw: "
                f"{len(given)} vs {len(self._mechanisms)}"
            )

    def _checked(self, state, batch_size, what):
        """A state, after its batch was found to be the memory's."""
        message = (
            f"When calling AttentionWrapper {self.name} or {what}: Non-matching batch sizes between "
            "the memory (encoder output) and the state.  Are you using the BeamSearchDecoder?  You may "
            "need to tile memory and state via the tf.contrib.seq2seq.tile_batch function with "
            "argument multiple=beam_width."
        )
        checks = [assert_equal(batch_size, m.batch_size, message=message) for m in self._mechanisms]
        with control_dependencies([check for check in checks if check is not None]):
            return structure.map_structure(identity, state)

    def _one_or_all(self, values):
        values = tuple(values)
        return values if self._is_multi else values[0]

    @property
    def output_size(self):
        return self._attention_size if self._gives_attention else self._cell.output_size

    @property
    def state_size(self):
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_size,
            alignments=self._one_or_all(m.alignments_size for m in self._mechanisms),
            attention_state=self._one_or_all(m.state_size for m in self._mechanisms),
            alignment_history=self._one_or_all(
                m.alignments_size if self._keeps_alignments else () for m in self._mechanisms
            ),
        )

    def zero_state(self, batch_size, dtype):
        """The state to begin with.

        Args:
          batch_size: an int or an int32 scalar: that of the memory.
          dtype: the type.

        Returns:
          an AttentionWrapperState. InvalidArgumentError (or a ValueError here, where sizes are known)
          if the batch is not the memory's.
        """
        with name_scope("AttentionWrapperZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]

            def history(alignment):
                if not self._keeps_alignments:
                    return ()
                return TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignment.shape)

            return AttentionWrapperState(
                cell_state=self._checked(cell_state, batch_size, "zero_state"),
                time=zeros([], dtypes.int32),
                attention=zero_states(self._attention_size, batch_size, dtype),
                alignments=self._one_or_all(alignments),
                attention_state=self._one_or_all(
                    m.initial_state(batch_size, dtype) for m in self._mechanisms
                ),
                alignment_history=self._one_or_all(map(history, alignments)),
            )

    def call(self, inputs, state):
        """(attention or the cell's output, the next state). TypeError if the state is none of ours."""
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead."
            )
        given = self._cell_input_fn(inputs, state.attention)
        output, cell_state = self._cell(given, state.cell_state)
        output = self._checked(output, batch_size_of(output), "its cell")
        states = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        made = [
            self._attention_fn(mechanism, output, old, layer)
            for mechanism, old, layer in zip(self._mechanisms, states, self._layers)
        ]
        attentions, alignments, new_states = zip(*made)
        if self._keeps_alignments:
            histories = [
                history.write(state.time, alignment)
                for history, alignment in zip(histories, alignments)
            ]
        attention = attentions[0] if len(attentions) == 1 else concat(list(attentions), 1)
        new_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._one_or_all(new_states),
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(histories),
        )
        return (attention if self._gives_attention else output), new_state


def looked_at(mechanism, output, state, layer):
    """What a cell's output makes a mechanism look at: (attention, alignments, the next state)."""
    alignments, next_state = mechanism(output, state)
    context = matmul(gen_ops.expand_dims(alignments, 1), mechanism.values)
    context = gen_ops.squeeze(context, squeeze_dims=[1])
    attention = context if layer is None else layer(concat([output, context], 1))
    return attention, alignments, next_state
