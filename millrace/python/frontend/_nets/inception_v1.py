"""Inception in its first version, GoogLeNet (arXiv 1409.4842), with batch normalization."""

from millrace._layers.arg_scopes import arg_scope
from millrace._layers.contrib_convolutions import convolution2d
from millrace._layers.contrib_layers import fully_connected
from millrace._layers.contrib_shapes import softmax
from millrace._nets.inception import (
    built,
    classified,
    layers_scope,
    step,
    training_scope,
)
from millrace._state.initializers import truncated_normal_initializer
from millrace._state.named_variables import variable_scope


def _block(scope, first, second, third, last, third_scope="Conv2d_0b_3x3"):
    """(scope, branches): a 1x1, two of 1x1 then 3x3, a pooling then 1x1; pairs of numbers of filters."""
    return scope, [
        [step("Conv2d_0a_1x1", first)],
        [step("Conv2d_0a_1x1", second[0]), step("Conv2d_0b_3x3", second[1])],
        [step("Conv2d_0a_1x1", third[0]), step(third_scope, third[1])],
        [step("MaxPool_0a_3x3"), step("Conv2d_0b_1x1", last)],
    ]


_PARTS = [
    step("Conv2d_1a_7x7", 64),
    step("MaxPool_2a_3x3", stride=2),
    step("Conv2d_2b_1x1", 64),
    step("Conv2d_2c_3x3", 192),
    step("MaxPool_3a_3x3", stride=2),
    _block("Mixed_3b", 64, (96, 128), (16, 32), 32),
    _block("Mixed_3c", 128, (128, 192), (32, 96), 64),
    step("MaxPool_4a_3x3", stride=2),
    _block("Mixed_4b", 192, (96, 208), (16, 48), 64),
    _block("Mixed_4c", 160, (112, 224), (24, 64), 64),
    _block("Mixed_4d", 128, (128, 256), (24, 64), 64),
    _block("Mixed_4e", 112, (144, 288), (32, 64), 64),
    _block("Mixed_4f", 256, (160, 320), (32, 128), 128),
    step("MaxPool_5a_2x2", stride=2),
    # Checkpoints have this other name.
    _block("Mixed_5b", 256, (160, 320), (32, 128), 128, third_scope="Conv2d_0a_3x3"),
    _block("Mixed_5c", 384, (192, 384), (48, 128), 128),
]


def inception_v1_base(inputs, final_endpoint="Mixed_5c", scope="InceptionV1"):
    """The net up to a layer.

    Args:
      inputs: images, a Tensor of shape [batch, height, width, channels].
      final_endpoint: the scope of the last layer.
      scope: the variable scope.

    Returns:
      (its output, a dictionary of the outputs of layers by their scopes).

    Raises:
      ValueError: if there is no such layer.
    """
    with variable_scope(scope, "InceptionV1", [inputs]):
        with arg_scope(
            [convolution2d, fully_connected],
            weights_initializer=truncated_normal_initializer(0.0, 0.01),
        ):
            with layers_scope():
                return built(inputs, _PARTS, final_endpoint, lambda depth: depth)


def inception_v1(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    prediction_fn=softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV1",
):
    """Inception's first version.

    Args:
      inputs: images, a Tensor of shape [batch, 224, 224, channels].
      num_classes: how many classes there are.
      is_training: whether it trains: a bool or a bool scalar Tensor.
      dropout_keep_prob: the share of activations that is kept.
      prediction_fn: makes predictions of logits.
      spatial_squeeze: whether to take away the axes of height and width, which are of size 1.
      reuse: True to take the variables that are there.
      scope: the variable scope.

    Returns:
      (logits, a dictionary of the outputs of layers by their scopes, with "Logits" and "Predictions").
    """
    with variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as inner:
        with training_scope(is_training):
            net, ends = inception_v1_base(inputs, scope=inner)
            settings = (num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)
            scopes = ("MaxPool_0a_7x7", "Dropout_0b", "Conv2d_0c_1x1")
            return classified(net, ends, scopes, [7, 7], settings), ends


inception_v1.default_image_size = 224
