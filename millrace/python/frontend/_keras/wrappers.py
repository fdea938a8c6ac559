"""Keras's layers around layers: Bidirectional and TimeDistributed."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._keras.nested import Nested
from millrace._keras.recurrent import RNN
from millrace._ops.arithmetic import add_n
from millrace._ops.arrays import concat, reshape, reverse
from millrace._ops.arrays import shape as shape_of
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape


class Wrapper(Nested):
    """The base of layers that call others: their variables, losses and updates join its own.

    Args:
      layer: the one that is called; a class that calls several sets `inner` to the list of them.
    """

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer, self.inner = layer, [layer]

    def build(self, input_shape):
        self.built = True


class Bidirectional(Wrapper):
    """A recurrent layer in both directions of time.

    Args:
      layer: an RNN, SimpleRNN, GRU or LSTM; one with its settings goes forwards.
      merge_mode: what is made of the outputs: "concat", "sum", "ave", "mul", or None for a list of both.
      backward_layer: the one that goes backwards; one with the settings of `layer` if None.

    Raises:
      ValueError: if there is no such merge_mode, a layer is not recurrent, or both go one way.
    """

    _MERGES = {
        "concat": lambda both: concat(both, -1),
        "sum": add_n,
        "ave": lambda both: add_n(both) / 2,
        "mul": lambda both: both[0] * both[1],
        None: list,
    }

    def __init__(self, layer, merge_mode="concat", backward_layer=None, **kwargs):
        if merge_mode not in self._MERGES:
            raise ValueError(
                "Invalid merge mode. Merge mode should be one of {'sum', 'mul', 'ave', 'concat', "
                f"None}}, got {merge_mode!r}"
            )
        if not isinstance(layer, RNN):
            raise ValueError(
                f"Please initialize `Bidirectional` layer with a recurrent layer. You passed: {layer}"
            )
        if layer.batch_input_shape is not None:
            kwargs.setdefault("batch_input_shape", layer.batch_input_shape)
        forward_layer = layer.copy(name=f"forward_{layer.name}")
        if backward_layer is None:
            backward_layer = layer.copy(
                go_backwards=not layer.go_backwards, name=f"backward_{layer.name}"
            )
        if layer.go_backwards == backward_layer.go_backwards:
            raise ValueError(
                "Forward layer and backward layer should have different `go_backwards` value."
            )
        super().__init__(layer, **kwargs)
        self.forward_layer, self.backward_layer = self.inner = [forward_layer, backward_layer]
        self.merge_mode, self.stateful = merge_mode, layer.stateful

    def __call__(self, inputs, initial_state=None, **kwargs):
        """The outputs; `initial_state` has the states of the one that goes forwards, then the other's."""
        if initial_state is not None:
            inputs = [convert(inputs), *map(convert, structure.flatten(initial_state))]
        return super().__call__(inputs, **kwargs)

    def compute_mask(self, inputs, mask=None):
        mask = mask[0] if isinstance(mask, list) else mask
        kept = mask if self.forward_layer.return_sequences else None
        kept = kept if self.merge_mode else [kept, kept]
        if not self.forward_layer.return_state:
            return kept
        merged = kept if isinstance(kept, list) else [kept]
        return merged + [None] * (2 * self.forward_layer.num_states)

    def call(self, inputs, training=None, mask=None):
        inputs, *states = inputs if isinstance(inputs, list) else [inputs]
        given = {} if mask is None else {"mask": mask}
        if len(states) % 2:
            raise ValueError(
                f"Layer {self.name} was given {len(states)} states; it takes as many for the layer that "
                "goes backwards as for the one that goes forwards."
            )
        half = len(states) // 2
        made = [
            structure.flatten(
                layer(inputs, initial_state=begin or None, training=training, **given)
            )
            for layer, begin in zip(self.inner, (states[:half], states[half:]))
        ]
        outputs = [each[0] for each in made]
        if self.forward_layer.return_sequences:
            outputs[1] = reverse(outputs[1], [0 if self.forward_layer.time_major else 1])
        merged = self._MERGES[self.merge_mode](outputs)
        if not self.forward_layer.return_state:
            return merged
        return [*structure.flatten(merged), *made[0][1:], *made[1][1:]]


class TimeDistributed(Wrapper):
    """A layer at each point of time: inputs are of shape [batch, time, ...].

    Args:
      layer: the layer, for inputs of shape [batch, ...]; it gets the mask of each time, if it takes masks.
    """

    supports_masking = True

    def call(self, inputs, training=None, mask=None):
        given = {"training": training} if self.layer.takes_training else {}
        if mask is not None and self.layer.takes_mask:
            given["mask"] = _without_time(mask)
        known = inputs.shape.as_list()
        if len(known) < 3 or None in known[2:]:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an input of shape [batch, time, ...] whose "
                f"sizes after time are known, got {inputs.shape}."
            )
        # Its variables are the wrapper's by name too.
        made = self.layer(_without_time(inputs), scope=self._scope, **given)
        outer = shape_of(inputs)[:2]
        return structure.map_structure(lambda output: _with_time(output, outer, known[:2]), made)

    def compute_mask(self, inputs, mask=None):
        """That of the layer's outputs at each time; without one, whether anything of a time is there."""
        made = None
        if self.layer.makes_masks:
            inner = None if mask is None else _without_time(mask)
            made = self.layer.compute_mask(_without_time(inputs), inner)
        if made is not None:
            return _with_time(made, shape_of(inputs)[:2], inputs.shape.as_list()[:2])
        if mask is None or mask.shape.ndims < 3:
            return mask
        return gen_ops.any(mask, list(range(2, mask.shape.ndims)))


def _without_time(values):
    """[batch, time, ...] as [batch * time, ...]."""
    return reshape(values, [-1, *values.shape.as_list()[2:]])


def _with_time(values, outer, known):
    """The other way; `outer` is a Tensor of the sizes of batch and time, `known` what is known of them."""
    timed = reshape(values, gen_ops.concat_v2([outer, shape_of(values)[1:]], 0))
    timed.set_shape(TensorShape(known).concatenate(values.shape[1:]))
    return timed
