"""tf.contrib.layers' normalizations of single examples: of all features, each channel, groups of channels."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_layers import collect_variables, finished
from millrace._ops.arrays import reshape, shape
from millrace._ops.normalization import batch_normalization, moments
from millrace._state.initializers import ones_initializer, zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._values import dtypes

_EPSILON = 1e-12
_EPSILON_OF_HALVES = 1e-3


def _known(inputs, axis):
    """The number of channels."""
    if inputs.shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    rank = inputs.shape.ndims
    if not -rank <= axis < rank:
        raise ValueError(f"Axis is out of bounds: {axis} of inputs of shape {inputs.shape}.")
    channels = inputs.shape.as_list()[axis]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {axis}.")
    return channels


def _beta_and_gamma(
    sizes, dtype, center, scale, initializers, trainable, collections, broadcast=None
):
    """Both variables, in the shape `broadcast` if that is given; or None for what there is not."""
    made, reshaped = {}, []
    starts = {"beta": (center, zeros_initializer()), "gamma": (scale, ones_initializer())}
    for name, (is_there, start) in starts.items():
        if not is_there:
            reshaped.append(None)
            continue
        initializer = (initializers or {}).get(name, start)
        made[name] = get_variable(name, sizes, dtype, initializer=initializer, trainable=trainable)
        reshaped.append(made[name] if broadcast is None else reshape(made[name], broadcast))
    collect_variables(made, collections)
    return reshaped


@add_arg_scope
def layer_norm(
    inputs,
    center=True,
    scale=True,
    activation_fn=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    begin_norm_axis=1,
    begin_params_axis=-1,
    scope=None,
):
    """gamma * (x - mean) / sqrt(variance) + beta, with the mean and variance of each example.

    Args:
      inputs: a Tensor of a floating type and known rank, whose axes from begin_params_axis on are known.
      center, scale: whether there is a beta, a gamma.
      activation_fn: a function of the outputs.
      reuse, variables_collections, outputs_collections, trainable: as for fully_connected.
      begin_norm_axis: the first of the axes over which mean and variance are taken.
      begin_params_axis: the first of the axes that beta and gamma have.
      scope: the variable scope; "LayerNorm" by default. Variables are `beta`, `gamma`.

    Raises:
      ValueError: for an unknown rank, axes that are not there, sizes that are not known.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse):
        inputs = convert(inputs)
        rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or first >= rank or first < 0:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must "
                f"be < rank(inputs) ({rank})"
            )
        sizes = inputs.shape[begin_params_axis:]
        if not sizes.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{inputs.shape}"
            )
        beta, gamma = _beta_and_gamma(
            sizes, dtype, center, scale, None, trainable, variables_collections
        )
        mean, variance = moments(inputs, list(range(first, rank)), keep_dims=True)
        epsilon = _EPSILON_OF_HALVES if dtype == dtypes.float16 else _EPSILON
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return finished(outputs, None, None, activation_fn, outputs_collections)


@add_arg_scope
def instance_norm(
    inputs,
    center=True,
    scale=True,
    epsilon=1e-6,
    activation_fn=None,
    param_initializers=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    data_format="NHWC",
    scope=None,
):
    """Each channel of each example with mean 0 and variance 1 over its places, times gamma plus beta.

    Args:
      inputs: a floating Tensor of shape [batch, ..., channels], or [batch, channels, ...] for "NCHW".
      data_format: "NHWC" or "NCHW".
      scope: the variable scope; "InstanceNorm" by default.
      Others: as for batch_norm.

    Raises:
      ValueError: for another format, or if the rank or the number of channels is not known.
    """
    inputs = convert(inputs)
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    axis = 1 if data_format == "NCHW" else -1
    channels = _known(inputs, axis)
    rank = inputs.shape.ndims
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse):
        broadcast = [1] * rank
        broadcast[axis] = channels
        beta, gamma = _beta_and_gamma(
            [channels],
            inputs.dtype.base_dtype,
            center,
            scale,
            param_initializers,
            trainable,
            variables_collections,
            broadcast,
        )
        places = [i for i in range(1, rank) if i != axis % rank]
        mean, variance = moments(inputs, places, keep_dims=True)
        outputs = batch_normalization(
            inputs, mean, variance, beta, gamma, epsilon, name="instancenorm"
        )
        return finished(outputs, None, None, activation_fn, outputs_collections)


@add_arg_scope
def group_norm(
    inputs,
    groups=32,
    channels_axis=-1,
    reduction_axes=(-3, -2),
    center=True,
    scale=True,
    epsilon=1e-6,
    activation_fn=None,
    param_initializers=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
    mean_close_to_zero=False,
):
    """Groups of channels with mean 0 and variance 1 over their places, times gamma plus beta.

    Args:
      inputs: a floating Tensor.
      groups: how many groups the channels are divided into.
      channels_axis: the axis of the channels.
      reduction_axes: the axes of the places, whose sizes are known.
      mean_close_to_zero: accepted: numbers are the same.
      scope: the variable scope; "GroupNorm" by default.
      Others: as for batch_norm.

    Raises:
      ValueError: if groups do not divide the channels, an axis is none or is named twice, or a rank or
        size is not known.
    """
    inputs = convert(inputs)
    channels = _known(inputs, channels_axis)
    axis = channels_axis % inputs.shape.ndims
    for each in reduction_axes:
        _known(inputs, each)
    places = [each % inputs.shape.ndims for each in reduction_axes]
    if axis in places:
        raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse):
        sizes = [shape(inputs)[i] for i in range(inputs.shape.ndims)]
        each = [groups, channels // groups]
        broadcast = [1] * len(sizes)
        beta, gamma = _beta_and_gamma(
            [channels],
            inputs.dtype.base_dtype,
            center,
            scale,
            param_initializers,
            trainable,
            variables_collections,
            [*broadcast[:axis], *each, *broadcast[axis + 1 :]],
        )
        grouped = reshape(inputs, [*sizes[:axis], *each, *sizes[axis + 1 :]])
        # Places after the channels are one axis further on.
        over = [axis + 1, *(place + (place > axis) for place in places)]
        mean, variance = moments(grouped, over, keep_dims=True)
        outputs = batch_normalization(grouped, mean, variance, beta, gamma, epsilon)
        outputs = reshape(outputs, gen_ops.shape(inputs))
        outputs.set_shape(inputs.shape)
        return finished(outputs, None, None, activation_fn, outputs_collections)
