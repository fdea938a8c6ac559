"""tf.contrib.layers.layer_norm: what is normalized over the features of each example."""

from millrace._graph.conversion import convert
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_layers import collect_variables, collected
from millrace._ops.normalization import batch_normalization, moments
from millrace._state.initializers import ones_initializer, zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._values import dtypes

_EPSILON = 1e-12
_EPSILON_OF_HALVES = 1e-3


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
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as inner:
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
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{inputs.shape}"
            )

        def parameter(name, is_wanted, initializer):
            if not is_wanted:
                return None
            return get_variable(
                name, shape, dtype=dtype, initializer=initializer, trainable=trainable
            )

        beta = parameter("beta", center, zeros_initializer())
        gamma = parameter("gamma", scale, ones_initializer())
        collect_variables({"beta": beta, "gamma": gamma}, variables_collections)
        mean, variance = moments(inputs, list(range(first, rank)), keep_dims=True)
        epsilon = _EPSILON_OF_HALVES if dtype == dtypes.float16 else _EPSILON
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collected(outputs, outputs_collections, inner.name)
