"""Residual nets of both kinds, made of blocks of units, and how far apart the outputs of these are."""

import collections

from millrace import _gen as gen_ops
from millrace._layers.aliases import convert_collection_to_dict
from millrace._layers.arg_scopes import add_arg_scope, arg_scope
from millrace._layers.contrib_convolutions import convolution2d, max_pool2d
from millrace._layers.contrib_layers import batch_norm, collected
from millrace._layers.contrib_shapes import softmax
from millrace._layers.regularizers import l2_regularizer
from millrace._ops.arrays import pad
from millrace._ops.reductions import reduce_mean
from millrace._state.named_variables import variable_scope
from millrace._state.scaled_initializers import contrib_variance_scaling_initializer

# The scope of a block, the function that makes a unit, and its keyword arguments for each unit.
Block = collections.namedtuple("Block", ["scope", "unit_fn", "args"])


def block(unit_fn, scope, base_depth, num_units, stride):
    """A Block of bottlenecks, of which the last has the stride.

    Args:
      unit_fn: makes a unit.
      scope: the variable scope of the block.
      base_depth: the number of filters inside a unit; it gives out four times as many.
      num_units: how many units there are.
      stride: how much smaller the outputs are.
    """
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth, "stride": 1}
    return Block(scope, unit_fn, [unit] * (num_units - 1) + [{**unit, "stride": stride}])


def subsample(inputs, factor, scope=None):
    """Each factor-th place of images, along both axes."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
    """A convolution of stride 1 at each stride-th place, whatever the size of the images.

    Args:
      inputs: images, a Tensor of shape [batch, height, width, channels].
      num_outputs: the number of filters.
      kernel_size, stride, rate: numbers.
      scope: the variable scope.
    """
    if stride == 1:
        return convolution2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    around = (kernel_size - 1) * rate
    before = around // 2
    both = [before, around - before]
    padded = pad(inputs, [[0, 0], both, both, [0, 0]])
    return convolution2d(
        padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope
    )


@add_arg_scope
def stack_blocks_dense(net, blocks, output_stride=None, outputs_collections=None):
    """Blocks of units, one after another.

    Args:
      net: images, a Tensor of shape [batch, height, width, channels].
      blocks: a list of Blocks.
      output_stride: how much smaller the outputs may be; units that would make them smaller look further
        apart instead. None for what the blocks have.
      outputs_collections: names of collections for the outputs of blocks.

    Raises:
      ValueError: if output_stride is not that of the blocks up to some unit.
    """
    stride = rate = 1
    for each in blocks:
        with variable_scope(each.scope, "block", [net]) as inner:
            for i, unit in enumerate(each.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{i}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = each.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = each.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collected(net, outputs_collections, inner.name)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5, batch_norm_scale=True
):
    """The arguments of layers that residual nets are made with.

    Args:
      weight_decay: the factor of the squares of weights, as a regularization loss.
      batch_norm_decay, batch_norm_epsilon, batch_norm_scale: decay, epsilon and scale of batch_norm.
    """
    normalizer = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": "update_ops",
    }
    with arg_scope(
        [convolution2d],
        weights_regularizer=l2_regularizer(weight_decay),
        weights_initializer=contrib_variance_scaling_initializer(),
        activation_fn=gen_ops.relu,
        normalizer_fn=batch_norm,
        normalizer_params=normalizer,
    ):
        with arg_scope([batch_norm], **normalizer):
            with arg_scope([max_pool2d], padding="SAME") as scope:
                return scope


def depth_of(inputs):
    """The number of channels of images. ValueError if it is not known."""
    depth = inputs.shape.as_list()[-1] if inputs.shape.ndims == 4 else None
    if depth is None:
        raise ValueError(
            f"A residual net takes images with a known number of channels, got {inputs.shape}"
        )
    return depth


def root_stride(output_stride):
    """What is left of a stride after the layers before the blocks, which have 4."""
    if output_stride is None:
        return None
    if output_stride % 4:
        raise ValueError("The output_stride needs to be a multiple of 4.")
    return output_stride // 4


_UNITS = {50: [3, 4, 6, 3], 101: [3, 4, 23, 3], 152: [3, 8, 36, 3], 200: [3, 24, 36, 3]}


def net_of(name, unit_fn, root, ended):
    """The function that makes nets of one kind.

    Args:
      name: of the function, and of the variable scope by default.
      unit_fn: makes a unit of a block.
      root: a function of images that makes the convolution before the blocks.
      ended: a function of what the blocks made.
    """

    def resnet(
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
        with variable_scope(scope, name, [inputs], reuse=reuse) as inner:
            ends = f"{inner.name}_end_points"
            collecting = [convolution2d, unit_fn, stack_blocks_dense]
            with (
                arg_scope(collecting, outputs_collections=ends),
                arg_scope([batch_norm], is_training=is_training),
            ):
                net = inputs
                if include_root_block:
                    output_stride = root_stride(output_stride)
                    net = max_pool2d(root(net), [3, 3], stride=2, scope="pool1")
                net = ended(stack_blocks_dense(net, blocks, output_stride))
                if global_pool:
                    net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                if num_classes is not None:
                    plain = {"activation_fn": None, "normalizer_fn": None}
                    net = convolution2d(net, num_classes, [1, 1], scope="logits", **plain)
                end_points = convert_collection_to_dict(ends)
                if num_classes is not None:
                    end_points["predictions"] = softmax(net, scope="predictions")
                return net, end_points

    resnet.__name__ = resnet.__qualname__ = name
    resnet.__doc__ = f"""A residual net.

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
      scope: the variable scope; "{name}" by default.

    Returns:
      (logits of shape [batch, height, width, num_classes], or what there is without them; a dictionary of
      the outputs of layers by their names).

    Raises:
      ValueError: for an output_stride that cannot be.
    """
    resnet.default_image_size = 224
    return resnet


def of_layers(net, unit_fn, layers):
    """The function that makes the net of one kind with so many layers, a key of _UNITS.

    Args:
      net: what net_of gave.
      unit_fn: makes a unit of a block.
      layers: how many.
    """
    name = f"{net.__name__}_{layers}"

    def resnet(
        inputs,
        num_classes=None,
        is_training=True,
        global_pool=True,
        output_stride=None,
        reuse=None,
        scope=name,
    ):
        blocks = [
            block(unit_fn, f"block{i}", 64 * 2 ** (i - 1), units, 2 if i < 4 else 1)
            for i, units in enumerate(_UNITS[layers], 1)
        ]
        return net(
            inputs,
            blocks,
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    resnet.__name__ = resnet.__qualname__ = name
    resnet.__doc__ = f"{net.__name__} of {layers} layers; arguments as there."
    resnet.default_image_size = 224
    return resnet
