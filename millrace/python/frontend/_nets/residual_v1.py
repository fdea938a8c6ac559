"""Residual nets (arXiv 1512.03385), which normalize after convolutions."""

from millrace import _gen as gen_ops
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_convolutions import convolution2d
from millrace._layers.contrib_layers import collected
from millrace._nets.residual import (
    block,
    conv2d_same,
    depth_of,
    net_of,
    of_layers,
    subsample,
)
from millrace._state.named_variables import variable_scope


@add_arg_scope
def bottleneck(
    inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None
):
    """A unit: the inputs plus what three convolutions make of them.

    Args:
      inputs: images, a Tensor of shape [batch, height, width, channels].
      depth: how many channels come out. depth_bottleneck: how many there are inside.
      stride: how much smaller the outputs are. rate: how far apart the second convolution looks.
      outputs_collections: names of collections for the outputs.
      scope: the variable scope; "bottleneck_v1" by default.
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as inner:
        if depth == depth_of(inputs):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = convolution2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        made = convolution2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        made = conv2d_same(made, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        made = convolution2d(made, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collected(gen_ops.relu(shortcut + made), outputs_collections, inner.name)


def resnet_v1_block(scope, base_depth, num_units, stride):
    """A Block of bottlenecks; see slim.nets.resnet_utils.Block."""
    return block(bottleneck, scope, base_depth, num_units, stride)


def _root(images):
    return conv2d_same(images, 64, 7, stride=2, scope="conv1")


resnet_v1 = net_of("resnet_v1", bottleneck, _root, lambda net: net)
resnet_v1_50, resnet_v1_101, resnet_v1_152, resnet_v1_200 = (
    of_layers(resnet_v1, bottleneck, layers) for layers in (50, 101, 152, 200)
)
