"""tf.contrib.layers' functions that change what tensors look like: repeated layers, codes, orders of axes."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_layers import collect_variables, collected, finished
from millrace._ops.arithmetic import cast, linspace
from millrace._ops.arrays import concat, one_hot, reshape, shape, transpose
from millrace._ops.layers import bias_add as add_to_channels
from millrace._ops.layers import softmax as softmax_of
from millrace._ops.pools import pool as pool_of
from millrace._ops.rearranging import meshgrid
from millrace._ops.reductions import reduce_max, reduce_sum
from millrace._state.initializers import ones_initializer, zeros_initializer
from millrace._state.named_variables import get_variable
from millrace._state.named_variables import variable_scope as open_scope
from millrace._state.custom_gradient import custom_gradient
from millrace._values import dtypes


@add_arg_scope
def bias_add(
    inputs,
    activation_fn=None,
    initializer=zeros_initializer(),
    regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    data_format="NHWC",
    scope=None,
):
    """activation_fn(inputs + biases), with a bias for each channel.

    Args:
      inputs: a Tensor of 2 or more axes; channels are in the last one, or in axis 1 for "NCHW".
      data_format: "NHWC" or "NCHW".
      scope: the variable scope; "BiasAdd" by default. The variable is `biases`.
      Others: as for fully_connected.

    Raises:
      ValueError: for another format, or channels of unknown number.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with open_scope(scope, "BiasAdd", [inputs], reuse=reuse):
        inputs = convert(inputs)
        axis = 1 if data_format == "NCHW" else -1
        channels = inputs.shape.as_list()[axis] if inputs.shape.ndims is not None else None
        if channels is None:
            raise ValueError(f"`C` dimension must be known but is None: inputs are {inputs.shape}")
        biases = get_variable(
            "biases",
            [channels],
            inputs.dtype.base_dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        collect_variables({"biases": biases}, variables_collections)
        outputs = add_to_channels(inputs, biases, data_format=data_format)
        return finished(outputs, None, None, activation_fn, outputs_collections)


@add_arg_scope
def one_hot_encoding(
    labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None
):
    """A row of num_classes numbers for each label: on_value at its place, else off_value.

    Args:
      labels: integers, a Tensor of shape [batch].
      outputs_collections: names of collections for the outputs.
      scope: the name scope; "OneHotEncoding" by default.
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as inner:
        labels = convert(labels)
        if labels.dtype == dtypes.int32:
            labels = cast(labels, dtypes.int64)
        made = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collected(made, outputs_collections, inner)


def _scope_of(layer, scope, default):
    """How scopes of repeated calls of a layer begin."""
    if scope is not None:
        return scope
    return getattr(layer, "__name__", None) or getattr(
        getattr(layer, "func", None), "__name__", default
    )


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """A layer on what it made of the inputs, so many times.

    Args:
      inputs: a Tensor.
      repetitions: how many times.
      layer: a function of (inputs, *args, scope=, **kwargs).
      scope: (by keyword) the variable scope; "Repeat" by default. Calls are in scopes below, called as it
        is, or as the layer, with _1, _2 and so on.
    """
    scope = kwargs.pop("scope", None)
    with open_scope(scope, "Repeat", [inputs]):
        outputs = convert(inputs)
        name = _scope_of(layer, scope, "repeat")
        for i in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{i + 1}"})
        return outputs


def stack(inputs, layer, stack_args, **kwargs):
    """A layer on what it made of the inputs, once for each of stack_args.

    Args:
      inputs: a Tensor.
      layer: a function of (inputs, *arguments, scope=, **kwargs).
      stack_args: for each call its arguments, a list or tuple; or the only one.
      scope: (by keyword) the variable scope; "Stack" by default. Scopes below as for `repeat`.
    """
    scope = kwargs.pop("scope", None)
    with open_scope(scope, "Stack", [inputs]):
        outputs = convert(inputs)
        name = _scope_of(layer, scope, "stack")
        for i, given in enumerate(stack_args):
            given = given if isinstance(given, (list, tuple)) else [given]
            outputs = layer(outputs, *given, **{**kwargs, "scope": f"{name}_{i + 1}"})
        return outputs


def maxout(inputs, num_units, axis=-1, scope=None):
    """The largest of each group of channels.

    Args:
      inputs: a Tensor.
      num_units: how many groups there are; the number of channels is a multiple of it.
      axis: that of the channels.
      scope: the name scope; "MaxOut" by default.

    Returns:
      a Tensor with num_units elements along that axis.

    Raises:
      ValueError: if the number of channels is none of these, or not known.
    """
    with name_scope(scope, "MaxOut", [inputs]):
        inputs = convert(inputs)
        dims = inputs.shape.as_list()
        axis = axis % len(dims)
        channels = dims[axis]
        if channels is None or channels % num_units:
            raise ValueError(
                f"number of features({channels}) is not a multiple of num_units({num_units})"
            )
        sizes = [shape(inputs)[i] if size is None else size for i, size in enumerate(dims)]
        sizes[axis : axis + 1] = [num_units, channels // num_units]
        return reduce_max(reshape(inputs, sizes), axis + 1)


def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    """Inputs scaled so that their Euclidean norm along axis `dim` is 1.

    Args:
      inputs: a floating Tensor of known rank.
      dim: the axis.
      epsilon: is added to the sum of squares.
      scope: the name scope; "UnitNorm" by default.

    Raises:
      ValueError: if the rank is unknown, or there is no such axis.
    """
    with name_scope(scope, "UnitNorm", [inputs]):
        inputs = convert(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < rank:
            raise ValueError(f"dim must be positive and below the rank of {rank}, got {dim}")
        return inputs / gen_ops.sqrt(reduce_sum(gen_ops.square(inputs), dim, True) + epsilon)


def softmax(logits, scope=None):
    """tf.nn.softmax over the last axis, in a scope "softmax" by default."""
    with open_scope(scope, "softmax", [logits]):
        return softmax_of(convert(logits))


def spatial_softmax(
    features,
    temperature=None,
    name=None,
    variable_scope=None,
    trainable=True,
    data_format="NHWC",
):
    """Where each channel of images is strongest: the mean place, weighted by a softmax over the places.

    Args:
      features: images, a Tensor of 4 axes with a known number of channels.
      temperature: divides the features; None for a new variable `temperature` that begins with 1.
      name, variable_scope: of the variable scope; "spatial_softmax" by default.
      trainable: of the variable.
      data_format: "NHWC" or "NCHW".

    Returns:
      a Tensor of shape [batch, 2 * channels]: for each channel its place down and across, from -1 to 1.

    Raises:
      ValueError: for another format, or channels of unknown number.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with open_scope(variable_scope, name or "spatial_softmax", [features]):
        features = convert(features)
        if data_format == "NHWC":
            features = transpose(features, [0, 3, 1, 2])
        channels = features.shape.as_list()[1]
        if channels is None:
            raise ValueError(f"The number of channels must be known, features are {features.shape}")
        if temperature is None:
            temperature = get_variable(
                "temperature",
                [],
                dtypes.float32,
                initializer=ones_initializer(),
                trainable=trainable,
            )
        height, width = shape(features)[2], shape(features)[3]
        down, across = meshgrid(
            linspace(-1.0, 1.0, height), linspace(-1.0, 1.0, width), indexing="ij"
        )
        weights = softmax_of(reshape(features, [-1, height * width]) / temperature)
        means = [reduce_sum(reshape(places, [-1]) * weights, 1, True) for places in (down, across)]
        made = reshape(concat(means, 1), [-1, 2 * channels])
        made.set_shape([None, 2 * channels])
        return made


@add_arg_scope
def images_to_sequence(inputs, data_format="NHWC", outputs_collections=None, scope=None):
    """Columns of images as points of time: a Tensor of shape [width, batch * height, channels].

    Args:
      inputs: images, a Tensor of 4 axes.
      data_format: "NHWC" or "NCHW".
      outputs_collections: names of collections for the outputs.
      scope: the name scope; "ImagesToSequence" by default.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with name_scope(scope, "ImagesToSequence", [inputs]) as inner:
        order = [2, 0, 1, 3] if data_format == "NHWC" else [3, 0, 2, 1]
        turned = transpose(convert(inputs), order)
        width, batch, height, channels = turned.shape.as_list()
        made = reshape(turned, [-1 if width is None else width, *_times(turned, batch, height)])
        made.set_shape([width, None, channels])
        return collected(made, outputs_collections, inner)


def _times(turned, batch, height):
    """[batch * height, channels] of a Tensor whose last three axes they are."""
    sizes = shape(turned)
    both = sizes[1] * sizes[2] if batch is None or height is None else batch * height
    channels = turned.shape.as_list()[3]
    return [both, sizes[3] if channels is None else channels]


@add_arg_scope
def sequence_to_images(
    inputs, height, output_data_format="channels_last", outputs_collections=None, scope=None
):
    """What images_to_sequence did, undone.

    Args:
      inputs: a Tensor of shape [width, batch * height, channels].
      height: of the images, an int.
      output_data_format: "channels_last" or "channels_first".
      outputs_collections: names of collections for the outputs.
      scope: the name scope; "SequenceToImages" by default.
    """
    with name_scope(scope, "SequenceToImages", [inputs]) as inner:
        inputs = convert(inputs)
        width, both, channels = inputs.shape.as_list()
        width = shape(inputs)[0] if width is None else width
        batch = -1 if both is None else both // height
        turned = reshape(inputs, [width, batch, height, channels])
        order = [1, 2, 0, 3] if output_data_format == "channels_last" else [1, 3, 2, 0]
        return collected(transpose(turned, order), outputs_collections, inner)


@add_arg_scope
def pool(
    inputs,
    kernel_size,
    pooling_type,
    padding="VALID",
    data_format=None,
    dilation_rate=1,
    stride=1,
    outputs_collections=None,
    scope=None,
):
    """The largest or the average of each window; see tf.nn.pool.

    Args:
      inputs: a Tensor of 3 to 5 axes.
      kernel_size, dilation_rate, stride: a number, or one per spatial axis.
      pooling_type: "MAX" or "AVG".
      padding, data_format: as there.
      outputs_collections: names of collections for the outputs.
      scope: the name scope; "max_pool" or "avg_pool" by default.

    Raises:
      ValueError: if the rank is unknown.
    """
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as inner:
        inputs = convert(inputs)
        if inputs.shape.ndims is None:
            raise ValueError("Rank of inputs must be known")
        spatial = inputs.shape.ndims - 2

        def per_axis(size):
            return list(size) if isinstance(size, (list, tuple)) else [size] * spatial

        made = pool_of(
            inputs,
            per_axis(kernel_size),
            pooling_type,
            padding,
            dilation_rate=per_axis(dilation_rate),
            strides=per_axis(stride),
            data_format=data_format,
        )
        return collected(made, outputs_collections, inner)


def scale_gradient(inputs, gradient_multiplier=0.01):
    """The inputs, whose gradient is multiplied by `gradient_multiplier`, a number or scalar Tensor."""

    @custom_gradient
    def scaled(values):
        return gen_ops.identity(values), lambda slope: slope * gradient_multiplier

    return scaled(convert(inputs))
