"""The VGG nets (arXiv 1409.1556), whose fully connected layers are convolutions."""

from millrace._layers.arg_scopes import arg_scope
from millrace._layers.contrib_convolutions import convolution2d, max_pool2d
from millrace._layers.contrib_layers import fully_connected
from millrace._layers.contrib_shapes import repeat
from millrace._nets import convolved
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import variable_scope

_FILTERS = [64, 128, 256, 512, 512]


def vgg_arg_scope(weight_decay=0.0005):
    """The arguments of layers that these nets are made with: for `with arg_scope(vgg_arg_scope())`.

    Args:
      weight_decay: the factor of the squares of weights, as a regularization loss.
    """
    return convolved.layers_scope(weight_decay, zeros_initializer())


def _net(name, repetitions):
    """The function that makes a net with so many convolutions between poolings."""

    def vgg(
        inputs,
        num_classes=1000,
        is_training=True,
        dropout_keep_prob=0.5,
        spatial_squeeze=True,
        scope=name,
    ):
        with variable_scope(scope, name, [inputs]) as inner:
            ends = f"{inner.name}_end_points"
            with arg_scope([convolution2d, fully_connected, max_pool2d], outputs_collections=ends):
                net = inputs
                for i, (times, filters) in enumerate(zip(repetitions, _FILTERS), 1):
                    net = repeat(net, times, convolution2d, filters, [3, 3], scope=f"conv{i}")
                    net = max_pool2d(net, [2, 2], scope=f"pool{i}")
                net = convolved.classified(
                    net, 4096, 7, num_classes, is_training, dropout_keep_prob
                )
            return convolved.with_end_points(net, ends, inner, spatial_squeeze)

    vgg.__name__ = vgg.__qualname__ = name
    vgg.__doc__ = f"""The VGG net of {sum(repetitions) + 3} layers.

    Args:
      inputs: images, a Tensor of shape [batch, 224, 224, channels], larger ones without spatial_squeeze.
      num_classes: how many classes there are.
      is_training: whether activations are dropped: a bool or a bool scalar Tensor.
      dropout_keep_prob: the share that is kept.
      spatial_squeeze: whether to take away the axes of height and width, which are of size 1.
      scope: the variable scope.

    Returns:
      (logits, a dictionary of the outputs of layers by their names).
    """
    vgg.default_image_size = 224
    return vgg


vgg_a = _net("vgg_a", [1, 1, 2, 2, 2])
vgg_16 = _net("vgg_16", [2, 2, 3, 3, 3])
vgg_19 = _net("vgg_19", [2, 2, 4, 4, 4])
