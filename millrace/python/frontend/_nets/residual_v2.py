"""Residual nets of the second kind (arXiv 1603.05027), which normalize before convolutions."""

from millrace import _gen as gen_ops
from millrace._layers.aliases import convert_collection_to_dict
from millrace._layers.arg_scopes import add_arg_scope, arg_scope
from millrace._layers.contrib_convolutions import convolution2d, max_pool2d
from millrace._layers.contrib_layers import batch_norm, collected
from millrace._layers.contrib_shapes import softmax
from millrace._nets.residual import (
    block,
    blocks_of,
    conv2d_same,
    depth_of,
    root_stride,
    stack_blocks_dense,
    subsample,
)
from millrace._ops.reductions import reduce_mean
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


def resnet_v2(
    inputs,
    blocks,
    num_classes=None,
    is_training=True,
    global_pool=True,
    output_stride=None,
    include_root_block=True,
    reuse=None,
    scope=None,
):
    """A residual net.

    Args:
      inputs: images, a Tensor of shape [batch, height, width, channels].
      blocks: a list of Blocks.
      num_classes: how many classes there are; None for no logits.
      is_training: for batch_norm: a bool or a bool scalar Tensor.
      global_pool: whether to average over height and width.
      output_stride: how much smaller the outputs are before that, a multiple of 4; None for what the blocks
        have.
      include_root_block: whether a convolution and a pooling come first.
      reuse: True to use variables that are there.
      scope: the variable scope; "resnet_v2" by default.

    Returns:
      (logits of shape [batch, height, width, num_classes], or what there is without them; a dictionary of
      the outputs of layers by their names).

    Raises:
      ValueError: for an output_stride that cannot be.
    """
    with variable_scope(scope, "resnet_v2", [inputs], reuse=reuse) as inner:
        ends = f"{inner.name}_end_points"
        collecting = [convolution2d, bottleneck, stack_blocks_dense]
        with (
            arg_scope(collecting, outputs_collections=ends),
            arg_scope([batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                output_stride = root_stride(output_stride)
                # The first unit normalizes.
                with arg_scope([convolution2d], activation_fn=None, normalizer_fn=None):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            net = batch_norm(net, activation_fn=gen_ops.relu, scope="postnorm")
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = convolution2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
                )
            end_points = convert_collection_to_dict(ends)
            if num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
            return net, end_points


resnet_v2.default_image_size = 224


def _net(layers):
    def resnet(
        inputs,
        num_classes=None,
        is_training=True,
        global_pool=True,
        output_stride=None,
        reuse=None,
        scope=f"resnet_v2_{layers}",
    ):
        return resnet_v2(
            inputs,
            blocks_of(bottleneck, layers),
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    resnet.__name__ = resnet.__qualname__ = f"resnet_v2_{layers}"
    resnet.__doc__ = f"resnet_v2 of {layers} layers; arguments as there."
    resnet.default_image_size = 224
    return resnet


resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = map(_net, [50, 101, 152, 200])
