"""Bijectors whose shifts and scales are functions of elements that come before (arXiv 1705.07057, 1605.08803)."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.bijector import Bijector
from millrace._flow.control_flow import while_loop
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, reshape, shape, zeros_like
from millrace._ops.linear_algebra import matmul
from millrace._ops.reductions import reduce_sum
from millrace._state.initializers import Zeros
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.templates import make_template


def _scaled(x, log_scale):
    return x if log_scale is None else x * gen_ops.exp(log_scale)


def _moved(x, shift):
    return x if shift is None else x + shift


def _unscaled(y, shift, log_scale):
    y = y if shift is None else y - shift
    return y if log_scale is None else y * gen_ops.exp(-log_scale)


class MaskedAutoregressiveFlow(Bijector):
    """y[i] = x[i] exp(log_scale(y[:i])) + shift(y[:i]), of vectors.

    Args:
      shift_and_log_scale_fn: a function of a Tensor that gives (shift, log_scale) of its shape, each of whose elements
        depends on earlier ones alone; either may be None.
      is_constant_jacobian, validate_args, name: as for Bijector.
      unroll_loop: True to write out the steps of `forward`, of which there are as many as elements.
    """

    def __init__(
        self,
        shift_and_log_scale_fn,
        is_constant_jacobian=False,
        validate_args=False,
        unroll_loop=False,
        name=None,
    ):
        self._function, self._unroll_loop = shift_and_log_scale_fn, unroll_loop
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "masked_autoregressive_flow",
        )

    def _step(self, x, y):
        shift, log_scale = self._function(y)
        return _moved(_scaled(x, log_scale), shift)

    def _forward(self, x):
        # Each step makes one element more right, whatever stands behind it.
        if self._unroll_loop:
            size = x.shape[-1].value
            if size is None:
                raise ValueError(f"{self.name}: unroll_loop needs vectors of known size, not {x}")
            y = zeros_like(x)
            for _ in range(size):
                y = self._step(x, y)
            return y
        size = shape(x)[-1]
        # The first step stands before the loop: it may make variables.
        first = self._step(x, zeros_like(x))
        first.set_shape(x.shape)

        def step(i, y):
            made = self._step(x, y)
            made.set_shape(x.shape)
            return i + 1, made

        return while_loop(lambda i, _: gen_ops.less(i, size), step, [1, first])[1]

    def _inverse(self, y):
        return _unscaled(y, *self._function(y))

    def _inverse_log_det_jacobian(self, y):
        log_scale = self._function(y)[1]
        if log_scale is None:
            return convert(0, y.dtype.base_dtype)
        return -reduce_sum(log_scale, -1)


class RealNVP(Bijector):
    """y = [x0, x1 exp(log_scale(x0)) + shift(x0)], of vectors of which x0 is the beginning.

    Args:
      num_masked: how many elements x0 has.
      shift_and_log_scale_fn: a function of x0 and of how many elements x1 has that gives (shift, log_scale) of these;
        either may be None.
      is_constant_jacobian, validate_args, name: as for Bijector.

    Raises:
      ValueError: if num_masked is negative, or vectors have not more elements than it.
    """

    def __init__(
        self,
        num_masked,
        shift_and_log_scale_fn,
        is_constant_jacobian=False,
        validate_args=False,
        name=None,
    ):
        if num_masked < 0:
            raise ValueError(f"num_masked must be a non-negative integer, not {num_masked}.")
        self._kept, self._function = num_masked, shift_and_log_scale_fn
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "real_nvp",
        )

    def _parts(self, values):
        size = values.shape[-1].value if values.shape.ndims else None
        if size is None or size <= self._kept:
            raise ValueError(
                f"{self.name}: vectors need a known size above num_masked={self._kept}, not {values.shape}"
            )
        before = values[..., : self._kept]
        return before, values[..., self._kept :], self._function(before, size - self._kept)

    def _forward(self, x):
        before, after, (shift, log_scale) = self._parts(x)
        return concat([before, _moved(_scaled(after, log_scale), shift)], -1)

    def _inverse(self, y):
        before, after, (shift, log_scale) = self._parts(y)
        return concat([before, _unscaled(after, shift, log_scale)], -1)

    def _forward_log_det_jacobian(self, x):
        log_scale = self._parts(x)[2][1]
        if log_scale is None:
            return convert(0, x.dtype.base_dtype)
        return reduce_sum(log_scale, -1)


def _mask(blocks, rows, columns, exclusive):
    """Ones where a column may see a row: those of its own block and before; of before alone if exclusive."""
    row_block = np.arange(rows) // (rows // blocks)
    column_block = np.arange(columns) // (columns // blocks)
    seen = row_block[:, None] < column_block if exclusive else row_block[:, None] <= column_block
    # What is left over of a division belongs to the last block.
    return seen & (row_block[:, None] < blocks)


def _dense(inputs, units, mask, name, kernel_initializer=None, activation=None, reuse=None):
    """inputs times a kernel of variables, where the mask lets them, plus a bias."""
    with variable_scope(name, reuse=reuse):
        size, kind = inputs.shape[-1].value, inputs.dtype.base_dtype
        kernel = get_variable("kernel", [size, units], kind, kernel_initializer)
        kernel, bias = convert(kernel), convert(get_variable("bias", [units], kind, Zeros()))
        if mask is not None:
            kernel = kernel * mask.astype(kind.as_numpy_dtype)
        rows = matmul(reshape(inputs, [-1, size]), kernel) + bias
        made = reshape(rows, concat([shape(inputs)[:-1], [units]], 0))
        made.set_shape(inputs.shape[:-1].concatenate([units]))
        return made if activation is None else activation(made)


def masked_dense(
    inputs,
    units,
    num_blocks=None,
    exclusive=False,
    kernel_initializer=None,
    reuse=None,
    name=None,
    activation=None,
):
    """A dense layer in which each block of outputs depends on the blocks of inputs up to its own.

    Args:
      inputs: a Tensor of shape [..., n], n known.
      units: how many outputs.
      num_blocks: into how many blocks both are cut; n if None.
      exclusive: True for the blocks before its own alone.
      kernel_initializer: what makes the kernel; that of the variable scope if None.
      reuse: True to find the variables, "kernel" and "bias", that another call made.
      name: the variable scope; "dense" if None.
      activation: a function of the result; None for none.

    Returns:
      a Tensor of shape [..., units].

    Raises:
      ValueError: if n is not known, or smaller than num_blocks.
    """
    inputs = convert(inputs, name="inputs")
    size = inputs.shape[-1].value if inputs.shape.ndims else None
    blocks = num_blocks or size
    if size is None or min(size, units) < blocks:
        raise ValueError(
            f"masked_dense: {blocks} blocks of {size} inputs and {units} units are too many"
        )
    mask = _mask(blocks, size, units, exclusive)
    return _dense(inputs, units, mask, name or "dense", kernel_initializer, activation, reuse)


def _layer(number):
    return f"dense_{number}" if number else "dense"


def _clipped(x, least, most, with_gradient):
    clipped = gen_ops.minimum(gen_ops.maximum(x, least), most)
    return clipped if with_gradient else x + gen_ops.stop_gradient(clipped - x)


def masked_autoregressive_default_template(
    hidden_layers,
    shift_only=False,
    activation=gen_ops.relu,
    log_scale_min_clip=-5.0,
    log_scale_max_clip=3.0,
    log_scale_clip_gradient=False,
    name=None,
):
    """A function of vectors for MaskedAutoregressiveFlow: `masked_dense` layers, whose variables it makes once.

    Args:
      hidden_layers: a list of numbers of units; each is not smaller than the vectors.
      shift_only: True for None instead of a log_scale.
      activation: of hidden layers.
      log_scale_min_clip, log_scale_max_clip: bounds of log_scale.
      log_scale_clip_gradient: whether bounds stop gradients, too.
      name: the variable scope; the name of this function if None.
    """
    name = name or "masked_autoregressive_default_template"
    with name_scope(name):

        def shift_and_log_scale(x):
            x = convert(x, name="x")
            size = x.shape[-1].value if x.shape.ndims else None
            if size is None:
                raise ValueError(f"masked_autoregressive_default_template: {x} has no known size")
            made = x if x.shape.ndims > 1 else reshape(x, [1, size])
            for number, units in enumerate(hidden_layers):
                made = masked_dense(
                    made, units, size, number == 0, name=_layer(number), activation=activation
                )
            outputs = size if shift_only else 2 * size
            made = masked_dense(
                made, outputs, size, not hidden_layers, name=_layer(len(hidden_layers))
            )
            if shift_only:
                return reshape(made, shape(x)), None
            both = reshape(made, concat([shape(x), [2]], 0))
            both.set_shape(x.shape.concatenate([2]))
            limits = log_scale_min_clip, log_scale_max_clip, log_scale_clip_gradient
            return both[..., 0], _clipped(both[..., 1], *limits)

        return make_template(name, shift_and_log_scale)


def real_nvp_default_template(hidden_layers, shift_only=False, activation=gen_ops.relu, name=None):
    """A function of (vectors, number of outputs) for RealNVP: dense layers, whose variables it makes once.

    Args:
      hidden_layers: a list of numbers of units.
      shift_only: True for None instead of a log_scale.
      activation: of hidden layers.
      name: the variable scope; the name of this function if None.
    """
    name = name or "real_nvp_default_template"
    with name_scope(name):

        def shift_and_log_scale(x, output_units):
            made = x = convert(x, name="x")
            if x.shape.ndims == 1:
                made = reshape(x, [1, -1])
            for number, units in enumerate(hidden_layers):
                made = _dense(made, units, None, _layer(number), activation=activation)
            outputs = output_units if shift_only else 2 * output_units
            made = _dense(made, outputs, None, _layer(len(hidden_layers)))
            made = made[0] if x.shape.ndims == 1 else made
            if shift_only:
                return made, None
            return made[..., :output_units], made[..., output_units:]

        return make_template(name, shift_and_log_scale)
