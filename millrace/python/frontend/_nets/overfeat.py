"""OverFeat (arXiv 1312.6229), whose fully connected layers are convolutions."""

from millrace import _gen as gen_ops
from millrace._layers.aliases import convert_collection_to_dict
from millrace._layers.arg_scopes import arg_scope
from millrace._layers.contrib_convolutions import convolution2d, max_pool2d
from millrace._layers.contrib_layers import dropout, fully_connected
from millrace._layers.regularizers import l2_regularizer
from millrace._ops.arrays import squeeze
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
    with arg_scope(
        [convolution2d, fully_connected],
        activation_fn=gen_ops.relu,
        weights_regularizer=l2_regularizer(weight_decay),
        biases_initializer=zeros_initializer(),
    ):
        with arg_scope([convolution2d], padding="SAME"):
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
                net = convolution2d(net, 3072, [6, 6], padding="VALID", scope="fc6")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
                net = convolution2d(net, 4096, [1, 1], scope="fc7")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
                net = convolution2d(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    biases_initializer=zeros_initializer(),
                    scope="fc8",
                )
        end_points = convert_collection_to_dict(ends)
        if spatial_squeeze:
            net = squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[f"{inner.name}/fc8"] = net
        return net, end_points


overfeat.default_image_size = 231
