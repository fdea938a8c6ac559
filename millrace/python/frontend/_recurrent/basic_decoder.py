"""BasicDecoder: a cell, a layer, and a Helper that decides what comes next."""

import collections

from millrace._graph.default_graph import name_scope
from millrace._layers.layer import Layer
from millrace._recurrent.cell import assert_like_rnncell
from millrace._recurrent.decoding import Decoder
from millrace._recurrent.next_inputs import Helper
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape

BasicDecoderOutput = collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))


class BasicDecoder(Decoder):
    """Outputs of a cell, and ids that a Helper takes from them.

    Args:
      cell: an RNNCell.
      helper: a Helper.
      initial_state: in the structure of cell.state_size.
      output_layer: a layer for the cell's outputs, tf.layers.Dense for one; None for none.

    Its outputs are BasicDecoderOutputs: `rnn_output` of shape [batch, time, depth] and `sample_id` of
    shape [batch, time].

    Raises:
      TypeError: if cell, helper or layer are none.
    """

    def __init__(self, cell, helper, initial_state, output_layer=None):
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        check_layer("output_layer", output_layer)
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self):
        return self._helper.batch_size

    @property
    def output_size(self):
        return BasicDecoderOutput(
            output_size_of(self._cell, self._output_layer), self._helper.sample_ids_shape
        )

    @property
    def output_dtype(self):
        dtype = structure.flatten(self._initial_state)[0].dtype.base_dtype
        sizes = output_size_of(self._cell, self._output_layer)
        return BasicDecoderOutput(
            structure.map_structure(lambda _: dtype, sizes), self._helper.sample_ids_dtype
        )

    def initialize(self, name=None):
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time, inputs, state, name=None):
        with name_scope(name, "BasicDecoderStep", [time]):
            outputs, new_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=new_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=new_state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished


def check_layer(name, layer):
    """TypeError unless an argument is a Layer or None."""
    if layer is not None and not isinstance(layer, Layer):
        raise TypeError(f"{name} must be a Layer, received: {type(layer)}")


def output_size_of(cell, layer):
    """The shapes of what a cell with a layer on top gives, without the batch."""
    if layer is None:
        return structure.map_structure(_as_shape, cell.output_size)
    shapes = structure.map_structure(
        lambda size: TensorShape([None]).concatenate(_as_shape(size)), cell.output_size
    )
    return structure.map_structure(lambda shape: shape[1:], layer.compute_output_shape(shapes))


def _as_shape(size):
    return size if isinstance(size, TensorShape) else TensorShape([size])
