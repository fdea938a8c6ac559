"""Inception in its second version (arXiv 1502.03167): two windows of 3x3 in place of one of 5x5."""

from millrace._layers.contrib_convolutions import separable_convolution2d
from millrace._layers.contrib_shapes import softmax
from millrace._nets.inception import (
    built,
    classified,
    depth_function,
    layers_scope,
    spatial,
    step,
    training_scope,
)
from millrace._state.initializers import truncated_normal_initializer
from millrace._state.named_variables import variable_scope

_FIRST = "Conv2d_1a_7x7"


def _block(scope, first, second, third, last, pooling="AvgPool_0a_3x3"):
    """(scope, branches): a 1x1; 1x1, 3x3; 1x1, 3x3, 3x3; a pooling, 1x1: their numbers of filters."""
    return scope, [
        [step("Conv2d_0a_1x1", first)],
        [step("Conv2d_0a_1x1", second[0], stddev=0.09), step("Conv2d_0b_3x3", second[1])],
        [
            step("Conv2d_0a_1x1", third[0], stddev=0.09),
            step("Conv2d_0b_3x3", third[1]),
            step("Conv2d_0c_3x3", third[1]),
        ],
        [step(pooling), step("Conv2d_0b_1x1", last, stddev=0.1)],
    ]


def _smaller(scope, first, second):
    """(scope, branches) that make images half as large."""
    return scope, [
        [step("Conv2d_0a_1x1", first[0], stddev=0.09), step("Conv2d_1a_3x3", first[1])],
        [
            step("Conv2d_0a_1x1", second[0], stddev=0.09),
            step("Conv2d_0b_3x3", second[1]),
            step("Conv2d_1a_3x3", second[1]),
        ],
        [step("MaxPool_1a_3x3")],
    ]


_PARTS = [
    step("MaxPool_2a_3x3", stride=2),
    step("Conv2d_2b_1x1", 64, stddev=0.1),
    step("Conv2d_2c_3x3", 192),
    step("MaxPool_3a_3x3", stride=2),
    _block("Mixed_3b", 64, (64, 64), (64, 96), 32),
    _block("Mixed_3c", 64, (64, 96), (64, 96), 64),
    _smaller("Mixed_4a", (128, 160), (64, 96)),
    _block("Mixed_4b", 224, (64, 96), (96, 128), 128),
    _block("Mixed_4c", 192, (96, 128), (96, 128), 128),
    _block("Mixed_4d", 160, (128, 160), (128, 160), 96),
    _block("Mixed_4e", 96, (128, 192), (160, 192), 96),
    _smaller("Mixed_5a", (128, 192), (192, 256)),
    _block("Mixed_5b", 352, (192, 320), (160, 224), 128),
    _block("Mixed_5c", 352, (192, 320), (192, 224), 128, pooling="MaxPool_0a_3x3"),
]


def inception_v2_base(
    inputs, final_endpoint="Mixed_5c", min_depth=16, depth_multiplier=1.0, scope=None
):
    """The net up to a layer.

    Args:
      inputs: images, a Tensor of shape [batch, height, width, channels].
      final_endpoint: the scope of the last layer.
      min_depth, depth_multiplier: layers have depth_multiplier times as many filters, min_depth at least.
      scope: the variable scope.

    Returns:
      (its output, a dictionary of the outputs of layers by their scopes).

    Raises:
      ValueError: if there is no such layer, or depth_multiplier is not above 0.
    """
    depth = depth_function(min_depth, depth_multiplier)
    with variable_scope(scope, "InceptionV2", [inputs]), layers_scope():
        net = separable_convolution2d(
            inputs,
            depth(64),
            [7, 7],
            depth_multiplier=min(depth(64) // 3, 8),
            stride=2,
            weights_initializer=truncated_normal_initializer(0.0, 1.0),
            scope=_FIRST,
        )
        if final_endpoint == _FIRST:
            return net, {_FIRST: net}
        last, ends = built(net, _PARTS, final_endpoint, depth)
        return last, {_FIRST: net, **ends}


def inception_v2(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV2",
):
    """Inception's second version.

    Args:
      inputs: images, a Tensor of shape [batch, 224, 224, channels].
      num_classes: how many classes there are.
      is_training: whether it trains: a bool or a bool scalar Tensor.
      dropout_keep_prob: the share of activations that is kept.
      min_depth, depth_multiplier: as for inception_v2_base.
      prediction_fn: makes predictions of logits.
      spatial_squeeze: whether to take away the axes of height and width, which are of size 1.
      reuse: True to take the variables that are there.
      scope: the variable scope.

    Returns:
      (logits, a dictionary of the outputs of layers by their scopes, with "Logits" and "Predictions").

    Raises:
      ValueError: if depth_multiplier is not above 0.
    """
    depth_function(min_depth, depth_multiplier)
    with variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as inner:
        with training_scope(is_training):
            net, ends = inception_v2_base(
                inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=inner
            )
            settings = (num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)
            scopes = ("AvgPool_1a_{}x{}", "Dropout_1b", "Conv2d_1c_1x1")
            return classified(net, ends, scopes, spatial(net, [7, 7]), settings), ends


inception_v2.default_image_size = 224
