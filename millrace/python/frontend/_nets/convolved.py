"""What nets have in common whose fully connected layers are convolutions: AlexNet, OverFeat, VGG."""

from millrace import _gen as gen_ops
from millrace._layers.aliases import convert_collection_to_dict
from millrace._layers.arg_scopes import arg_scope
from millrace._layers.contrib_convolutions import convolution2d
from millrace._layers.contrib_layers import dropout, fully_connected
from millrace._layers.regularizers import l2_regularizer
from millrace._ops.arrays import squeeze


def layers_scope(weight_decay, biases_initializer):
    """The arguments of layers that these nets are made with.

    Args:
      weight_decay: the factor of the squares of weights, as a regularization loss.
      biases_initializer: of all layers but the last.
    """
    with arg_scope(
        [convolution2d, fully_connected],
        activation_fn=gen_ops.relu,
        weights_regularizer=l2_regularizer(weight_decay),
        biases_initializer=biases_initializer,
    ):
        with arg_scope([convolution2d], padding="SAME") as scope:
            return scope


def classified(net, filters, window, num_classes, is_training, keep_prob, **of_last):
    """The logits of what a net has seen, still with the axes of height and width: fc6, fc7 and fc8.

    Args:
      net: the outputs of the last pooling.
      filters, window: of fc6.
      num_classes, is_training: as for the net; keep_prob: its dropout_keep_prob.
      of_last: more arguments of fc8.
    """
    net = convolution2d(net, filters, [window, window], padding="VALID", scope="fc6")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = convolution2d(net, 4096, [1, 1], scope="fc7")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    return convolution2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **of_last
    )


def with_end_points(logits, ends, inner, spatial_squeeze):
    """(logits, the outputs of layers by their names), as a net returns them.

    Args:
      logits: what `classified` gave.
      ends: the collection of the layers' outputs.
      inner: the variable scope of the net.
      spatial_squeeze: whether to take away the axes of height and width.
    """
    end_points = convert_collection_to_dict(ends)
    if spatial_squeeze:
        logits = squeeze(logits, [1, 2], name="fc8/squeezed")
        end_points[f"{inner.name}/fc8"] = logits
    return logits, end_points
