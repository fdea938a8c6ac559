"""tf.contrib.layers' fully connected layer of before fully_connected, with its names of variables."""

import functools

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._layers.contrib_layers import finished
from millrace._ops.arrays import concat, reshape, shape
from millrace._ops.layers import bias_add as add_to_channels
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable
from millrace._state.named_variables import variable_scope as open_scope
from millrace._state.scaled_initializers import xavier_initializer


def legacy_fully_connected(
    x,
    num_output_units,
    activation_fn=None,
    weight_init=None,
    bias_init=zeros_initializer(),
    name=None,
    weight_collections=(GraphKeys.WEIGHTS,),
    bias_collections=(GraphKeys.BIASES,),
    output_collections=(GraphKeys.ACTIVATIONS,),
    trainable=True,
    weight_regularizer=None,
    bias_regularizer=None,
):
    """activation_fn(x * weights + bias), as before fully_connected.

    Args:
      x: a Tensor of shape [..., n], n known.
      num_output_units: the size of the last axis of the outputs.
      weight_init: an initializer; Xavier's if None. bias_init: None for no bias.
      name: the variable scope; "fully_connected" by default. Variables are `weights` and `bias`.
      weight_collections, bias_collections, output_collections: names of collections.
      Others: as for fully_connected.

    Raises:
      ValueError: if x has no known last size.
    """
    x = convert(x)
    rank = x.shape.ndims
    units = x.shape.as_list()[-1] if rank else None
    if not rank or rank < 2 or units is None:
        raise ValueError(f"last dimension of x must be known but is None: x is {x.shape}")
    with open_scope(name, "fully_connected", [x]):
        kept = [GraphKeys.GLOBAL_VARIABLES]
        weights = get_variable(
            "weights",
            [units, num_output_units],
            x.dtype.base_dtype,
            initializer=weight_init or xavier_initializer(),
            collections=[*weight_collections, *kept],
            regularizer=weight_regularizer,
            trainable=trainable,
        )
        made = gen_ops.mat_mul(x if rank == 2 else reshape(x, [-1, units]), weights)
        if bias_init is not None:
            bias = get_variable(
                "bias",
                [num_output_units],
                x.dtype.base_dtype,
                initializer=bias_init,
                collections=[*bias_collections, *kept],
                regularizer=bias_regularizer,
                trainable=trainable,
            )
            made = add_to_channels(made, bias)
        if rank > 2:
            made = reshape(made, concat([shape(x)[:-1], [num_output_units]], 0))
            made.set_shape([*x.shape.as_list()[:-1], num_output_units])
        return finished(made, None, None, activation_fn, list(output_collections))


legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=gen_ops.relu)
