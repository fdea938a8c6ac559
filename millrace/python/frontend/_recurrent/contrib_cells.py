"""Cells of tf.contrib.rnn: normalized layers, one that was found by search, the fused one."""

from millrace import _gen as gen_ops
from millrace._layers.input_spec import InputSpec
from millrace._ops.arithmetic import sigmoid, tanh
from millrace._ops.arrays import concat, split
from millrace._ops.layers import dropout
from millrace._ops.normalization import batch_normalization, moments
from millrace._recurrent.cell import RNNCell
from millrace._recurrent.cells import LSTMCell, LSTMStateTuple, known_depth
from millrace._state.initializers import constant_initializer, zeros_initializer


class LayerNormBasicLSTMCell(RNNCell):
    """Long short-term memory whose gates and state are normalized for each member of the batch.

    Args:
      num_units: the size of the output, and of both parts of the state.
      forget_bias: added to the forget gate.
      input_size: accepted.
      activation: of the candidate and of the output.
      layer_norm: False to normalize nothing and have a bias.
      norm_gain, norm_shift: what gamma and beta of the normalization begin with.
      dropout_keep_prob, dropout_prob_seed: of the candidate.
      reuse: True to use existing variables.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        input_size=None,
        activation=tanh,
        layer_norm=True,
        norm_gain=1.0,
        norm_shift=0.0,
        dropout_keep_prob=1.0,
        dropout_prob_seed=None,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._norms = {"gamma": norm_gain, "beta": norm_shift}
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        units = self._num_units
        self._kernel = self.add_weight(
            "kernel", [known_depth(inputs_shape, self) + units, 4 * units]
        )
        if not self._layer_norm:
            self._bias = self.add_weight("bias", [4 * units])
        else:
            self._scales = {
                part: [
                    self.add_weight(
                        f"{part}/{name}", [units], initializer=constant_initializer(start)
                    )
                    for name, start in self._norms.items()
                ]
                for part in ("input", "transform", "forget", "output", "state")
            }
        self.built = True

    def _normalized(self, part, values):
        if not self._layer_norm:
            return values
        gamma, beta = self._scales[part]
        mean, variance = moments(values, [1], keep_dims=True)
        return batch_normalization(values, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs, state):
        c, h = state
        gates = gen_ops.mat_mul(concat([inputs, h], 1), self._kernel)
        if not self._layer_norm:
            gates = gen_ops.bias_add(gates, self._bias)
        parts = ("input", "transform", "forget", "output")
        enter, candidate, forget, leave = (
            self._normalized(part, values) for part, values in zip(parts, split(gates, 4, 1))
        )
        candidate = self._activation(candidate)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            candidate = dropout(candidate, keep_prob=self._keep_prob, seed=self._seed)
        new_c = c * sigmoid(forget + self._forget_bias) + sigmoid(enter) * candidate
        new_c = self._normalized("state", new_c)
        new_h = self._activation(new_c) * sigmoid(leave)
        return new_h, LSTMStateTuple(new_c, new_h)


class NASCell(RNNCell):
    """The cell that neural architecture search found (arXiv 1611.01578).

    Args:
      num_units: the size of what it keeps.
      num_proj: the size of the output, a product of what comes out; None for num_units.
      use_bias: True to add a bias.
      reuse, name, dtype: as for other cells.
    """

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self):
        return self._num_proj or self._num_units

    def build(self, inputs_shape):
        columns = 8 * self._num_units
        self._recurrent = self.add_weight("recurrent_kernel", [self.output_size, columns])
        self._kernel = self.add_weight("kernel", [known_depth(inputs_shape, self), columns])
        if self._use_bias:
            self._bias = self.add_weight("bias", [columns], initializer=zeros_initializer())
        if self._num_proj is not None:
            self._projection = self.add_weight(
                "projection_weights", [self._num_units, self._num_proj]
            )
        self.built = True

    def call(self, inputs, state):
        c, m = state
        old = gen_ops.mat_mul(m, self._recurrent)
        if self._use_bias:
            old = gen_ops.bias_add(old, self._bias)
        old, new = split(old, 8, 1), split(gen_ops.mat_mul(inputs, self._kernel), 8, 1)
        first = [
            function(new[i] * old[i] if i == 3 else new[i] + old[i])
            for i, function in enumerate(
                [sigmoid, gen_ops.relu, sigmoid, gen_ops.relu, tanh, sigmoid, tanh, sigmoid]
            )
        ]
        kept = tanh(tanh(first[0] * first[1]) + c) * tanh(first[2] + first[3])
        shown = tanh(tanh(first[4] * first[5]) + sigmoid(first[6] + first[7]))
        output = tanh(kept * shown)
        if self._num_proj is not None:
            output = gen_ops.mat_mul(output, self._projection)
        return output, LSTMStateTuple(kept, output)


class LSTMBlockCell(LSTMCell):
    """LSTMCell by the name of TensorFlow's fused one: the same numbers and names of variables.

    Args:
      num_units, forget_bias, cell_clip, reuse, name, dtype: as for LSTMCell.
      use_peephole: True to let the gates see what is kept.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole=False,
        dtype=None,
        reuse=None,
        name="lstm_cell",
    ):
        super().__init__(
            num_units,
            use_peepholes=use_peephole,
            cell_clip=cell_clip,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )
