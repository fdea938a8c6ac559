"""Residual nets of the second kind (arXiv 1603.05027), which normalize before convolutions."""

from millrace import _gen as gen_ops
from millrace._layers.arg_scopes import add_arg_scope, arg_scope
from millrace._layers.contrib_convolutions import convolution2d
from millrace._layers.contrib_layers import batch_norm, collected
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
      scope: the variable scope; "bottleneck_v2" by default.
    """
    with variable_scope(scope, "bottleneck_v2", [inputs]) as inner:
        ready = batch_norm(inputs, activation_fn=gen_ops.relu, scope="preact")
        plain = {"normalizer_fn": None, "activation_fn": None}
        if depth == depth_of(inputs):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = convolution2d(ready, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        made = convolution2d(ready, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        made = conv2d_same(made, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        made = convolution2d(made, depth, [1, 1], stride=1, scope="conv3", **plain)
        return collected(shortcut + made, outputs_collections, inner.name)


def resnet_v2_block(scope, base_depth, num_units, stride):
    """A Block of bottlenecks; see slim.nets.resnet_utils.Block."""
    return block(bottleneck, scope, base_depth, num_units, stride)


def _root(images):
    # The first unit normalizes.
    with arg_scope([convolution2d], activation_fn=None, normalizer_fn=None):
        return conv2d_same(images, 64, 7, stride=2, scope="conv1")


def _ended(net):
    return batch_norm(net, activation_fn=gen_ops.relu, scope="postnorm")


resnet_v2 = net_of("resnet_v2", bottleneck, _root, _ended)
resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = (
    of_layers(resnet_v2, bottleneck, layers) for layers in (50, 101, 152, 200)
)
