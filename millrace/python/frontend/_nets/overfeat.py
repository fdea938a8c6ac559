"""OverFeat (arXiv 1312.6229), whose fully connected layers are convolutions."""

from millrace._layers.arg_scopes import arg_scope
from millrace._layers.contrib_convolutions import convolution2d, max_pool2d
from millrace._layers.contrib_layers import fully_connected
from millrace._nets import convolved
from millrace._state.initializers import (
    constant_initializer,
    truncated_normal_initializer,
    zeros_initializer,
)
from millrace._state.named_variables import variable_scope


def overfeat_arg_scope(weight_decay=0.0005):
    """The arguments of layers that this net is made with: for `with arg_scope(overfeat_arg_scope())`.

    Args:
      weight_decay: the factor of the squares of weights, as a regularization loss.
    """
    with arg_scope(convolved.layers_scope(weight_decay, zeros_initializer())):
        with arg_scope([max_pool2d], padding="VALID") as scope:
            return scope


def overfeat(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.5,
    spatial_squeeze=True,
    scope="overfeat",
):
    """OverFeat.

    Args:
      inputs: images, a Tensor of shape [batch, 231, 231, channels], larger ones without spatial_squeeze.
      num_classes: how many classes there are.
      is_training: whether activations are dropped: a bool or a bool scalar Tensor.
      dropout_keep_prob: the share that is kept.
      spatial_squeeze: whether to take away the axes of height and width, which are of size 1.
      scope: the variable scope.

    Returns:
      (logits, a dictionary of the outputs of layers by their names).
    """
    with variable_scope(scope, "overfeat", [inputs]) as inner:
        ends = f"{inner.name}_end_points"
        with arg_scope([convolution2d, fully_connected, max_pool2d], outputs_collections=ends):
            net = convolution2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = convolution2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            for name, filters in (("conv3", 512), ("conv4", 1024), ("conv5", 1024)):
                net = convolution2d(net, filters, [3, 3], scope=name)
            net = max_pool2d(net, [2, 2], scope="pool5")
            with arg_scope(
                [convolution2d],
                weights_initializer=truncated_normal_initializer(0.0, 0.005),
                biases_initializer=constant_initializer(0.1),
            ):
                net = convolved.classified(
                    net,
                    3072,
                    6,
                    num_classes,
                    is_training,
                    dropout_keep_prob,
                    biases_initializer=zeros_initializer(),
                )
        return convolved.with_end_points(net, ends, inner, spatial_squeeze)


overfeat.default_image_size = 231
