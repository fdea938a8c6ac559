"""Keras's layers of single elements that have settings or variables: activations, masks, losses of activity."""

from millrace import _gen as gen_ops
from millrace._keras import activations, constraints, named
from millrace._keras.layer import Layer
from millrace._layers import regularizers
from millrace._ops.arithmetic import cast
from millrace._ops.normalization import batch_normalization, moments
from millrace._ops.reductions import reduce_any
from millrace._values.tensor_shape import TensorShape


class _OfElements(Layer):
    """The base: outputs are of the shape of inputs."""

    supports_masking = True

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


class ELU(_OfElements):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs):
        return activations.elu(inputs, self.alpha)


class ThresholdedReLU(_OfElements):
    """x where it is above theta, else 0."""

    def __init__(self, theta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs):
        return inputs * cast(inputs > self.theta, inputs.dtype.base_dtype)


class PReLU(_OfElements):
    """x where it is positive, else alpha * x, where alpha is learned.

    Args:
      alpha_initializer, alpha_regularizer, alpha_constraint: for the variable `alpha`, of the shape of a
        sample.
      shared_axes: axes, counted from 1, along which it is the same.

    Raises:
      ValueError: when called, if the size of an axis that is not shared is unknown.
    """

    def __init__(
        self,
        alpha_initializer="zeros",
        alpha_regularizer=None,
        alpha_constraint=None,
        shared_axes=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.alpha_initializer = named.initializer(alpha_initializer)
        self.alpha_regularizer = named.regularizer(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes
        self.shared_axes, self.alpha = list(axes or []), None

    def build(self, input_shape):
        shape = TensorShape(input_shape).as_list()
        for axis in self.shared_axes:
            shape[axis] = 1
        if None in shape[1:]:
            raise ValueError(
                f"PReLU needs to know the sizes of inputs of shape {input_shape}, but for the batch and "
                "shared_axes"
            )
        self.alpha = self.add_weight(
            "alpha",
            shape[1:],
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        self.built = True

    def call(self, inputs):
        return gen_ops.relu(inputs) - self.alpha * gen_ops.relu(-inputs)


class Masking(_OfElements):
    """Sequences [batch, time, features] whose times of `mask_value` alone count as if they were not there."""

    def __init__(self, mask_value=0.0, **kwargs):
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def compute_mask(self, inputs, mask=None):
        return reduce_any(gen_ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs):
        kept = reduce_any(gen_ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        return inputs * cast(kept, inputs.dtype.base_dtype)


class ActivityRegularization(_OfElements):
    """Its inputs, whose absolute values and squares join the losses.

    Args:
      l1, l2: the factors of the sums of absolute values and of squares.
    """

    def __init__(self, l1=0.0, l2=0.0, **kwargs):
        super().__init__(activity_regularizer=regularizers.l1_l2(l1, l2), **kwargs)
        self.l1, self.l2 = l1, l2

    def call(self, inputs):
        return gen_ops.identity(inputs)


class LayerNormalization(_OfElements):
    """Each sample with mean 0 and variance 1 along axes, then times gamma, plus beta.

    Args:
      axis: an axis or a list of them.
      epsilon: added to the variance.
      center, scale: whether there are the variables `beta` and `gamma`.
      beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer, beta_constraint,
        gamma_constraint: for these.
    """

    def __init__(
        self,
        axis=-1,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.axis, self.epsilon = axis, epsilon
        self.center, self.scale = center, scale
        self._settings = {
            "beta": (beta_initializer, beta_regularizer, constraints.get(beta_constraint)),
            "gamma": (gamma_initializer, gamma_regularizer, constraints.get(gamma_constraint)),
        }
        self.beta = self.gamma = None

    def _axes(self, rank):
        given = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        axes = [axis + rank if axis < 0 else axis for axis in given]
        if not all(0 <= axis < rank for axis in axes) or len(set(axes)) != len(axes):
            raise ValueError(f"Invalid axis: {self.axis} of inputs of {rank} axes")
        return axes

    def build(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        shape = [sizes[axis] for axis in self._axes(len(sizes))]
        for name, is_there in (("gamma", self.scale), ("beta", self.center)):
            if is_there:
                initializer, regularizer, constraint = self._settings[name]
                made = self.add_weight(
                    name,
                    shape,
                    initializer=initializer,
                    regularizer=regularizer,
                    constraint=constraint,
                )
                setattr(self, name, made)
        self.built = True

    def call(self, inputs):
        rank = inputs.shape.ndims
        axes = self._axes(rank)
        mean, variance = moments(inputs, axes, keepdims=True)
        shape = [inputs.shape.as_list()[axis] if axis in axes else 1 for axis in range(rank)]

        def along(variable):
            if variable is None or axes == [rank - 1]:
                return variable
            return gen_ops.reshape(variable, shape)

        made = batch_normalization(
            inputs, mean, variance, along(self.beta), along(self.gamma), self.epsilon
        )
        made.set_shape(inputs.shape)
        return made
