"""The models of canned estimators: from features to logits, in TensorFlow's variable scopes."""

import numbers

from millrace._columns.input_layers import input_layer, linear_model
from millrace._estimators.mode_keys import ModeKeys
from millrace._layers.core import Dense, Dropout
from millrace._layers.normalization import BatchNormalization
from millrace._ops.arithmetic import add_n
from millrace._ops.normalization import zero_fraction
from millrace._state.initializers import glorot_uniform_initializer
from millrace._state.named_variables import variable_scope
from millrace._state.partitioned_variables import min_max_variable_partitioner
from millrace._summaries.building import histogram, scalar

# Variables of an input are only divided where the parts are that large.
_LEAST_INPUT_PART = 64 << 20


def checked_features(features):
    """The features. ValueError if they are no dictionary."""
    if not isinstance(features, dict):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
        )
    return features


def partitioner_for(config, min_slice_size=256 << 10):
    """What divides variables over the parameter servers of a RunConfig."""
    servers = config.num_ps_replicas if config else 0
    return min_max_variable_partitioner(servers, min_slice_size=min_slice_size)


def input_partitioner_for(config):
    """The same for variables of an input, which may be large."""
    return partitioner_for(config, _LEAST_INPUT_PART)


def show_layer(value, tag):
    """Summaries of what a layer gives."""
    scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    histogram(f"{tag}/activation", value)


def linear_logits(features, columns, units, sparse_combiner="sum"):
    """The logits of a linear model, in the current scope; summaries of its bias and of what is 0.

    Args:
      features: {key: Tensor}.
      columns: feature columns.
      units: how many logits.
      sparse_combiner: as in tf.feature_column.linear_model.
    """
    found = {}
    logits = linear_model(
        features, columns, units, sparse_combiner=sparse_combiner, cols_to_vars=found
    )
    bias = found.pop("bias")
    if units > 1:
        histogram("bias", bias[0] if len(bias) == 1 else bias)
    else:
        scalar("bias", bias[0][0])
    weights = [part for parts in found.values() for part in parts]
    sizes = [part.shape.num_elements() for part in weights]
    zeros = add_n([zero_fraction(part) * float(size) for part, size in zip(weights, sizes)])
    scalar("fraction_of_zero_weights", zeros / float(sum(sizes)))
    return logits


def check_hidden_units(hidden_units):
    """The sizes as a list. ValueError if they are no positive integers."""
    sizes = list(hidden_units or ())
    for size in sizes:
        if not isinstance(size, numbers.Integral) or size < 1:
            raise ValueError(f"hidden_units must be integers above 0, given: {hidden_units}")
    return sizes


def network_logits(
    features,
    columns,
    units,
    hidden_units,
    activation_fn,
    dropout,
    batch_norm,
    mode,
    input_layer_partitioner,
    scope,
):
    """The logits of a network of dense layers, in the current scope, whose name is `scope`.

    Args:
      features: {key: Tensor}.
      columns: dense feature columns.
      units: how many logits.
      hidden_units: the sizes of the layers before.
      activation_fn: of these layers.
      dropout: the share that is dropped in training; None for none.
      batch_norm: whether their outputs are normalized.
      mode: a ModeKeys.
      input_layer_partitioner: what divides the columns' variables.
    """
    is_training = mode == ModeKeys.TRAIN
    with variable_scope("input_from_feature_columns", partitioner=input_layer_partitioner):
        net = input_layer(features, columns)
    for number, size in enumerate(check_hidden_units(hidden_units)):
        name = f"hiddenlayer_{number}"
        net = _dense(net, size, activation_fn, name)
        if dropout is not None and is_training:
            net = Dropout(dropout)(net, training=True)
        if batch_norm:
            inner = f"batchnorm_{number}"
            layer = BatchNormalization(momentum=0.999, name=inner, _scope=f"{name}/{inner}")
            net = layer(net, training=is_training)
        show_layer(net, f"{scope}/{name}")
    logits = _dense(net, units, None, "logits")
    show_layer(logits, f"{scope}/logits")
    return logits


def _dense(net, units, activation, name):
    layer = Dense(
        units,
        activation,
        kernel_initializer=glorot_uniform_initializer(),
        name=name,
        _scope=name,
    )
    return layer(net)
