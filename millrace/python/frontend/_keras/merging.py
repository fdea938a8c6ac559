"""Keras's layers that make one Tensor of several."""

from millrace import _gen as gen_ops
from millrace._keras.backend import batch_dot
from millrace._keras.layer import Layer
from millrace._ops.normalization import l2_normalize


class _Merge(Layer):
    """One Tensor of several."""

    supports_masking = True

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError("A merge layer should be called on a list of at least 2 inputs")
        made = inputs[0]
        for each in inputs[1:]:
            made = self.merged(made, each)
        return made

    def merged(self, a, b):
        """What becomes of two of them."""
        raise NotImplementedError


class Add(_Merge):
    """The sum of several inputs."""

    def merged(self, a, b):
        return a + b


class Subtract(_Merge):
    """The difference of two inputs. ValueError for another number of them."""

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return super().call(inputs)

    def merged(self, a, b):
        return a - b


class Multiply(_Merge):
    """The product of several inputs."""

    def merged(self, a, b):
        return a * b


class Maximum(_Merge):
    """The larger of each element."""

    def merged(self, a, b):
        return gen_ops.maximum(a, b)


class Minimum(_Merge):
    """The smaller of each element."""

    def merged(self, a, b):
        return gen_ops.minimum(a, b)


class Average(_Merge):
    """The average of several inputs."""

    def merged(self, a, b):
        return a + b

    def call(self, inputs):
        return super().call(inputs) / len(inputs)


class Concatenate(_Merge):
    """Several inputs one behind the other along an axis."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return gen_ops.concat_v2(list(inputs), self.axis)


class Dot(Layer):
    """The products of two inputs along axes of both, for each sample.

    Args:
      axes: an axis of both, or a pair of one of each.
      normalize: whether inputs are first divided by their norms along these axes.

    Raises:
      ValueError: if there are not two inputs, or their sizes along the axes differ.
    """

    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        self.axes = [axes, axes] if isinstance(axes, int) else list(axes)
        if len(self.axes) != 2 or not all(isinstance(axis, int) for axis in self.axes):
            raise ValueError(f"Invalid `axes`, a number or two of them: {axes}")
        self.normalize = normalize

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError("A `Dot` layer should be called on exactly 2 inputs")
        axes = [axis % each.shape.ndims for axis, each in zip(self.axes, inputs)]
        if self.normalize:
            inputs = [l2_normalize(each, axis) for axis, each in zip(axes, inputs)]
        made = batch_dot(*inputs, axes)
        return made


def concatenate(inputs, axis=-1, **kwargs):
    """Concatenate, made and called."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def add(inputs, **kwargs):
    """Add, made and called."""
    return Add(**kwargs)(inputs)


def multiply(inputs, **kwargs):
    """Multiply, made and called."""
    return Multiply(**kwargs)(inputs)


def subtract(inputs, **kwargs):
    """Subtract, made and called."""
    return Subtract(**kwargs)(inputs)


def average(inputs, **kwargs):
    """Average, made and called."""
    return Average(**kwargs)(inputs)


def maximum(inputs, **kwargs):
    """Maximum, made and called."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs, **kwargs):
    """Minimum, made and called."""
    return Minimum(**kwargs)(inputs)


def dot(inputs, axes, normalize=False, **kwargs):
    """Dot, made and called."""
    return Dot(axes, normalize, **kwargs)(inputs)
