"""What the Inception nets are made of: layers in branches, whose outputs are joined along the channels."""

import collections

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._layers.arg_scopes import arg_scope
from millrace._layers.contrib_convolutions import (
    avg_pool2d,
    convolution2d,
    max_pool2d,
    separable_convolution2d,
)
from millrace._layers.contrib_layers import batch_norm, dropout, fully_connected
from millrace._layers.contrib_shapes import softmax
from millrace._layers.regularizers import l2_regularizer
from millrace._ops.arrays import concat, squeeze
from millrace._state.initializers import truncated_normal_initializer
from millrace._state.named_variables import variable_scope
from millrace._state.scaled_initializers import contrib_variance_scaling_initializer

# One layer: its scope, the number of filters (None for a pooling), height and width of windows, stride,
# padding (None for that of the arg_scope), standard deviation of new weights (None likewise).
Step = collections.namedtuple("Step", ["scope", "filters", "window", "stride", "padding", "stddev"])


def step(scope, filters=None, window=None, stride=None, padding=None, stddev=None):
    """A Step whose windows and stride, where they are not given, are those that its scope says.

    A scope is of the kind "Conv2d_0b_1x7" or "MaxPool_1a_3x3": the last part is the window, and "1a" is for
    a stride of 2.
    """
    _, place, size = scope.rsplit("_", 2)
    window = window or [int(each) for each in size.split("x")]
    return Step(scope, filters, window, stride or (2 if place == "1a" else 1), padding, stddev)


def layer(net, made, depth):
    """A Step's layer on images; depth: a function of numbers of filters, which makes them fewer."""
    settings = {"stride": made.stride, "scope": made.scope}
    if made.padding is not None:
        settings["padding"] = made.padding
    if made.filters is None:
        pooling = max_pool2d if made.scope.startswith("MaxPool") else avg_pool2d
        return pooling(net, made.window, **settings)
    if made.stddev is not None:
        settings["weights_initializer"] = truncated_normal_initializer(0.0, made.stddev)
    return convolution2d(net, depth(made.filters), made.window, **settings)


def mixed(net, scope, branches, depth):
    """Branches of Steps on the same images, joined; a list among the Steps is a fork whose ends are joined."""
    with variable_scope(scope):
        ends = []
        for i, branch in enumerate(branches):
            with variable_scope(f"Branch_{i}"):
                end = net
                for each in branch:
                    if isinstance(each, list):
                        end = concat([layer(end, fork, depth) for fork in each], 3)
                    else:
                        end = layer(end, each, depth)
            ends.append(end)
        return concat(ends, 3)


def depth_function(min_depth, depth_multiplier):
    """The function that makes numbers of filters fewer. ValueError unless the multiplier is above 0."""
    if depth_multiplier <= 0:
        raise ValueError(f"depth_multiplier is not greater than zero: {depth_multiplier}")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def built(net, parts, final_endpoint, depth):
    """Layers and branches one after another, up to the one of a name.

    Args:
      net: images.
      parts: a list of Steps and (scope, branches).
      final_endpoint: the scope of the last one.
      depth: what depth_function gave.

    Returns:
      (its output, {scope: output} of all that were made).

    Raises:
      ValueError: if there is no part of this name.
    """
    ends = {}
    for part in parts:
        if isinstance(part, Step):
            scope, net = part.scope, layer(net, part, depth)
        else:
            scope, net = part[0], mixed(net, *part, depth)
        ends[scope] = net
        if scope == final_endpoint:
            return net, ends
    raise ValueError(f"Unknown final endpoint {final_endpoint}; there are {', '.join(ends)}")


def spatial(net, window):
    """A window of this height and width that is not larger than images are, where their size is known."""
    sizes = net.shape.as_list()[1:3]
    if None in sizes:
        return window
    return [min(size, wanted) for size, wanted in zip(sizes, window)]


def classified(net, ends, scopes, window, settings):
    """The end of a net: an average, dropout, and logits.

    Args:
      net: images; ends: outputs by name, to which "PreLogits", "Logits" and "Predictions" are added.
      scopes: those of the average ({} in it for the window), the dropout and the convolution.
      window: height and width of the average.
      settings: (num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze).

    Returns:
      the logits.
    """
    num_classes, keep_prob, prediction_fn, spatial_squeeze = settings
    with variable_scope("Logits"):
        net = avg_pool2d(net, window, stride=1, padding="VALID", scope=scopes[0].format(*window))
        net = dropout(net, keep_prob=keep_prob, scope=scopes[1])
        ends["PreLogits"] = net
        logits = convolution2d(
            net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scopes[2]
        )
        if spatial_squeeze:
            logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
    ends["Logits"] = logits
    ends["Predictions"] = (prediction_fn or softmax)(logits, scope="Predictions")
    return logits


def training_scope(is_training):
    """The arg_scope of layers that differ in training."""
    return arg_scope([batch_norm, dropout], is_training=is_training)


def layers_scope(padding="SAME"):
    """The arg_scope of layers with a stride of 1."""
    return arg_scope(
        [convolution2d, max_pool2d, avg_pool2d, separable_convolution2d],
        stride=1,
        padding=padding,
    )


def inception_arg_scope(
    weight_decay=0.00004,
    use_batch_norm=True,
    batch_norm_var_collection="moving_vars",
    batch_norm_decay=0.9997,
    batch_norm_epsilon=0.001,
    updates_collections=GraphKeys.UPDATE_OPS,
    use_fused_batchnorm=True,
):
    """The arguments of layers that these nets are made with: for `with arg_scope(inception_v3_arg_scope())`.

    Args:
      weight_decay: the factor of the squares of weights, as a regularization loss.
      use_batch_norm: whether convolutions are normalized.
      batch_norm_var_collection: the collection of the moving averages.
      batch_norm_decay, batch_norm_epsilon: of the moving averages; added to variances.
      updates_collections: the collection of the operations that move the averages; None to move them in
        place.
      use_fused_batchnorm: whether one op normalizes.
    """
    normalizer, params = None, {}
    if use_batch_norm:
        normalizer, params = batch_norm, {
            "decay": batch_norm_decay,
            "epsilon": batch_norm_epsilon,
            "updates_collections": updates_collections,
            "fused": use_fused_batchnorm,
            "variables_collections": {
                "beta": None,
                "gamma": None,
                "moving_mean": [batch_norm_var_collection],
                "moving_variance": [batch_norm_var_collection],
            },
        }
    with arg_scope(
        [convolution2d, fully_connected],
        weights_regularizer=l2_regularizer(weight_decay),
    ):
        with arg_scope(
            [convolution2d],
            weights_initializer=contrib_variance_scaling_initializer(),
            activation_fn=gen_ops.relu,
            normalizer_fn=normalizer,
            normalizer_params=params,
        ) as scope:
            return scope
