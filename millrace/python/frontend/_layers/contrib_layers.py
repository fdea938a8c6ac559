"""tf.contrib.layers' functions: layers under its names of variables and with its defaults."""

import functools
import numbers

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import (
    add_to_collections,
    control_dependencies,
    get_collection_ref,
    name_scope,
)
from millrace._layers.aliases import add_alias
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.core import Dense, Dropout, Flatten
from millrace._layers.normalization import BatchNormalization
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable_scope, variable_scope
from millrace._state.scaled_initializers import xavier_initializer


def collect_variables(variables, collections):
    """Puts new variables of a model into its collection, and all into those that the call names.

    Args:
      variables: Variables by what they are for: {"weights": ...}; None among them is left out.
      collections: a name or a list of names, or a dictionary of these by what variables are for.
    """
    held = get_collection_ref(GraphKeys.MODEL_VARIABLES)
    for kind, variable in variables.items():
        if variable is None:
            continue
        if not any(variable is other for other in held):
            held.append(variable)
        names = collections.get(kind) if isinstance(collections, dict) else collections
        if names:
            add_to_collections(names, variable)


def collected(outputs, collections, alias):
    """Puts outputs into the collections that a call names, known there as `alias`."""
    if collections:
        add_to_collections(collections, outputs)
        add_alias(outputs, alias)
    return outputs


def finished(outputs, normalizer_fn, normalizer_params, activation_fn, collections):
    """What a layer gives out: normalized, activated, and in the collections that the call names."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collected(outputs, collections, get_variable_scope().name)


@add_arg_scope
def fully_connected(
    inputs,
    num_outputs,
    activation_fn=gen_ops.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """activation_fn(inputs * weights + biases), or of what normalizer_fn makes of inputs * weights.

    Args:
      inputs: a Tensor of shape [..., n], n known.
      num_outputs: the size of the last axis of the outputs.
      activation_fn: a function of a Tensor; relu by default, None for none.
      normalizer_fn: a function such as batch_norm that takes the place of biases.
      normalizer_params: its keyword arguments.
      weights_initializer, biases_initializer: as in tf.get_variable; without the latter there are no
        biases.
      weights_regularizer, biases_regularizer: functions of the variable that give a scalar or None.
      reuse: True to use the variables of an earlier call of this scope.
      variables_collections: names of collections for the variables, or a dictionary of such lists for
        "weights" and "biases".
      outputs_collections: names of collections for the outputs.
      trainable: whether variables are trainable.
      scope: the variable scope; "fully_connected" by default. Variables are `weights`, `biases`.

    Raises:
      ValueError: if num_outputs is no integer, or inputs have no known last size.
    """
    if not isinstance(num_outputs, numbers.Integral):
        raise ValueError(f"num_outputs type should be an integer, got {num_outputs!r}.")
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as inner:
        layer = _FullyConnected(
            num_outputs,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=inner.name,
            _scope=inner,
            _reuse=reuse,
        )
        outputs = layer(inputs)
        collect_variables({"weights": layer.kernel, "biases": layer.bias}, variables_collections)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


class _FullyConnected(Dense):
    """Dense with tf.contrib's names of variables."""

    def add_weight(self, name, shape, **kwargs):
        return super().add_weight({"kernel": "weights", "bias": "biases"}[name], shape, **kwargs)


linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=gen_ops.relu)
relu6 = functools.partial(fully_connected, activation_fn=gen_ops.relu6)
elu = functools.partial(fully_connected, activation_fn=gen_ops.elu)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """Inputs of shape [batch, ...] as a matrix of shape [batch, n]."""
    with name_scope(scope, "Flatten", [inputs]) as inner:
        return collected(Flatten(name="flatten")(inputs), outputs_collections, inner)


@add_arg_scope
def dropout(
    inputs,
    keep_prob=0.5,
    noise_shape=None,
    is_training=True,
    outputs_collections=None,
    scope=None,
    seed=None,
):
    """In training, sets elements to 0 and scales the others so that the mean stays.

    Args:
      inputs: a Tensor of a floating type.
      keep_prob: the share that is kept: a number in (0, 1] or a scalar Tensor.
      noise_shape, seed: as in tf.layers.dropout.
      is_training: a bool or a bool scalar Tensor.
      outputs_collections: names of collections for the outputs.
      scope: the variable scope; "Dropout" by default.
    """
    with variable_scope(scope, "Dropout", [inputs]) as inner:
        layer = Dropout(1 - keep_prob, noise_shape, seed, name=inner.name, _scope=inner)
        return collected(layer(inputs, training=is_training), outputs_collections, inner.name)


class _BatchNorm(BatchNormalization):
    """Batch normalization whose updates go where the call says."""

    def __init__(self, updates_collections, **kwargs):
        super().__init__(**kwargs)
        self.updates_collections = updates_collections
        self.moves_with_outputs = updates_collections is None

    def is_fusible(self, rank):
        return rank == 2 and self.axis == [1] or super().is_fusible(rank)

    def collect_updates(self):
        if self.updates_collections:
            for update in self.updates:
                add_to_collections(self.updates_collections, update)


@add_arg_scope
def batch_norm(
    inputs,
    decay=0.999,
    center=True,
    scale=False,
    epsilon=0.001,
    activation_fn=None,
    param_initializers=None,
    param_regularizers=None,
    updates_collections=GraphKeys.UPDATE_OPS,
    is_training=True,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    batch_weights=None,
    fused=None,
    data_format="NHWC",
    zero_debias_moving_mean=False,
    scope=None,
    renorm=False,
    renorm_clipping=None,
    renorm_decay=0.99,
    adjustment=None,
):
    """Batch normalization; see tf.layers.batch_normalization for what it computes.

    Args:
      inputs: a Tensor of a floating type and known rank.
      decay: how much of the moving averages stays at each update.
      center, scale: whether there is a beta, a gamma.
      epsilon: a small number that keeps the divisor from 0.
      activation_fn: a function of the outputs.
      param_initializers, param_regularizers: dictionaries for "beta", "gamma" (and, of initializers,
        "moving_mean", "moving_variance").
      updates_collections: the collections of the updates; None to make the outputs wait for them.
      is_training: a bool or a bool scalar Tensor.
      reuse, variables_collections, outputs_collections, trainable: as for fully_connected.
      fused: as in tf.layers.batch_normalization, for matrices too.
      data_format: "NHWC" for features in the last axis, "NCHW" for axis 1.
      batch_weights, zero_debias_moving_mean, renorm, adjustment: must be off.
      scope: the variable scope; "BatchNorm" by default.

    Raises:
      ValueError: if the format is neither, or the rank or the number of features is not known.
      NotImplementedError: for what must be off.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    if batch_weights is not None or zero_debias_moving_mean:
        raise NotImplementedError("batch_norm has no batch_weights and no zero_debias_moving_mean")
    initializers, regularizers = param_initializers or {}, param_regularizers or {}
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as inner:
        inputs = convert(inputs)
        layer = _BatchNorm(
            updates_collections,
            axis=-1 if data_format == "NHWC" else 1,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            **{f"{key}_initializer": initializers[key] for key in initializers},
            **{f"{key}_regularizer": regularizers[key] for key in regularizers},
            renorm=renorm,
            adjustment=adjustment,
            fused=fused,
            trainable=trainable,
            name=inner.name,
            _scope=inner,
            _reuse=reuse,
        )
        outputs = layer(inputs, training=is_training)
        kinds = ("beta", "gamma", "moving_mean", "moving_variance")
        collect_variables({kind: getattr(layer, kind) for kind in kinds}, variables_collections)
        if updates_collections is None and layer.updates:
            with control_dependencies(layer.updates):
                outputs = gen_ops.identity(outputs)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collected(outputs, outputs_collections, get_variable_scope().name)
