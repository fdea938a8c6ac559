"""Inception in its third version (arXiv 1512.00567): windows of 1x7 and 7x1, and logits on the way."""

from millrace._layers.contrib_convolutions import avg_pool2d, convolution2d
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
from millrace._ops.arrays import squeeze
from millrace._state.initializers import truncated_normal_initializer
from millrace._state.named_variables import variable_scope


def _block_5(scope, last, second=("Conv2d_0a_1x1", "Conv2d_0b_5x5")):
    return scope, [
        [step("Conv2d_0a_1x1", 64)],
        [step(second[0], 48), step(second[1], 64)],
        [step("Conv2d_0a_1x1", 64), step("Conv2d_0b_3x3", 96), step("Conv2d_0c_3x3", 96)],
        [step("AvgPool_0a_3x3"), step("Conv2d_0b_1x1", last)],
    ]


def _block_6(scope, inner):
    return scope, [
        [step("Conv2d_0a_1x1", 192)],
        [
            step("Conv2d_0a_1x1", inner),
            step("Conv2d_0b_1x7", inner),
            step("Conv2d_0c_7x1", 192),
        ],
        [
            step("Conv2d_0a_1x1", inner),
            step("Conv2d_0b_7x1", inner),
            step("Conv2d_0c_1x7", inner),
            step("Conv2d_0d_7x1", inner),
            step("Conv2d_0e_1x7", 192),
        ],
        [step("AvgPool_0a_3x3"), step("Conv2d_0b_1x1", 192)],
    ]


def _block_7(scope, fork):
    return scope, [
        [step("Conv2d_0a_1x1", 320)],
        [step("Conv2d_0a_1x1", 384), [step("Conv2d_0b_1x3", 384), step(fork, 384)]],
        [
            step("Conv2d_0a_1x1", 448),
            step("Conv2d_0b_3x3", 384),
            [step("Conv2d_0c_1x3", 384), step("Conv2d_0d_3x1", 384)],
        ],
        [step("AvgPool_0a_3x3"), step("Conv2d_0b_1x1", 192)],
    ]


def _valid(scope, filters=None, window=None, stride=None):
    return step(scope, filters, window, stride, padding="VALID")


# Some scopes say other sizes than their layers have: so they are in checkpoints.
_PARTS = [
    _valid("Conv2d_1a_3x3", 32),
    _valid("Conv2d_2a_3x3", 32),
    step("Conv2d_2b_3x3", 64),
    _valid("MaxPool_3a_3x3", stride=2),
    _valid("Conv2d_3b_1x1", 80),
    _valid("Conv2d_4a_3x3", 192),
    _valid("MaxPool_5a_3x3", stride=2),
    _block_5("Mixed_5b", 32),
    _block_5("Mixed_5c", 64, second=("Conv2d_0b_1x1", "Conv_1_0c_5x5")),
    _block_5("Mixed_5d", 64),
    (
        "Mixed_6a",
        [
            [_valid("Conv2d_1a_1x1", 384, [3, 3])],
            [
                step("Conv2d_0a_1x1", 64),
                step("Conv2d_0b_3x3", 96),
                _valid("Conv2d_1a_1x1", 96, [3, 3]),
            ],
            [_valid("MaxPool_1a_3x3")],
        ],
    ),
    _block_6("Mixed_6b", 128),
    _block_6("Mixed_6c", 160),
    _block_6("Mixed_6d", 160),
    _block_6("Mixed_6e", 192),
    (
        "Mixed_7a",
        [
            [step("Conv2d_0a_1x1", 192), _valid("Conv2d_1a_3x3", 320)],
            [
                step("Conv2d_0a_1x1", 192),
                step("Conv2d_0b_1x7", 192),
                step("Conv2d_0c_7x1", 192),
                _valid("Conv2d_1a_3x3", 192),
            ],
            [_valid("MaxPool_1a_3x3")],
        ],
    ),
    _block_7("Mixed_7b", "Conv2d_0b_3x1"),
    _block_7("Mixed_7c", "Conv2d_0c_3x1"),
]


def inception_v3_base(
    inputs, final_endpoint="Mixed_7c", min_depth=16, depth_multiplier=1.0, scope=None
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
    with variable_scope(scope, "InceptionV3", [inputs]), layers_scope():
        return built(inputs, _PARTS, final_endpoint, depth)


def _aside(net, num_classes, depth, spatial_squeeze):
    """The logits on the way."""
    with variable_scope("AuxLogits"):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = convolution2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        window = spatial(net, [5, 5])
        net = convolution2d(
            net,
            depth(768),
            window,
            weights_initializer=truncated_normal_initializer(0.0, 0.01),
            padding="VALID",
            scope="Conv2d_2a_{}x{}".format(*window),
        )
        logits = convolution2d(
            net,
            num_classes,
            [1, 1],
            activation_fn=None,
            normalizer_fn=None,
            weights_initializer=truncated_normal_initializer(0.0, 0.001),
            scope="Conv2d_2b_1x1",
        )
        return squeeze(logits, [1, 2], name="SpatialSqueeze") if spatial_squeeze else logits


def inception_v3(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=softmax,
    spatial_squeeze=True,
    reuse=None,
    create_aux_logits=True,
    scope="InceptionV3",
):
    """Inception's third version.

    Args:
      inputs: images, a Tensor of shape [batch, 299, 299, channels].
      num_classes: how many classes there are.
      is_training: whether it trains: a bool or a bool scalar Tensor.
      dropout_keep_prob: the share of activations that is kept.
      min_depth, depth_multiplier: as for inception_v3_base.
      prediction_fn: makes predictions of logits.
      spatial_squeeze: whether to take away the axes of height and width, which are of size 1.
      reuse: True to take the variables that are there.
      create_aux_logits: whether there are logits on the way too, "AuxLogits".
      scope: the variable scope.

    Returns:
      (logits, a dictionary of the outputs of layers by their scopes, with "AuxLogits", "Logits" and
      "Predictions").

    Raises:
      ValueError: if depth_multiplier is not above 0.
    """
    depth = depth_function(min_depth, depth_multiplier)
    with variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as inner:
        with training_scope(is_training):
            net, ends = inception_v3_base(
                inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=inner
            )
            if create_aux_logits:
                with layers_scope():
                    ends["AuxLogits"] = _aside(
                        ends["Mixed_6e"], num_classes, depth, spatial_squeeze
                    )
            settings = (num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)
            scopes = ("AvgPool_1a_{}x{}", "Dropout_1b", "Conv2d_1c_1x1")
            return classified(net, ends, scopes, spatial(net, [8, 8]), settings), ends


inception_v3.default_image_size = 299
