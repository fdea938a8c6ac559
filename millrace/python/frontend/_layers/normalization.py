"""Batch normalization."""

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import known_truth, smart_cond
from millrace._graph.default_graph import colocate_with, name_scope
from millrace._graph.node_counts import counted_as
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, ones, reshape, squeeze, where, zeros
from millrace._ops.arrays import shape as shape_of
from millrace._ops.normalization import batch_normalization as normalize
from millrace._ops.normalization import fused_batch_norm, moments
from millrace._ops.reductions import reduce_prod
from millrace._state.initializers import ones_initializer, zeros_initializer
from millrace._state.variable_sharing import VariableAggregation, VariableSynchronization
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

# What the fused op takes; others, float64 among them, are computed of many ops.
_FUSED_TYPES = (dtypes.float32, dtypes.float16, dtypes.bfloat16)

# How many nodes TensorFlow makes for it, in training, not, and if that is told later: in its layer, and in the
# function of contrib, which does without the layer for rows and where averages move with the outputs.
_NODES_OF_FUSED = {True: 14, False: 2, None: 36}
_NODES_WITHOUT_LAYER = {True: 11, False: 1, None: 41}

# Replicas of a model each have averages of their own batches, of which a checkpoint has the mean.
_AVERAGED = {
    "trainable": False,
    "synchronization": VariableSynchronization.ON_READ,
    "aggregation": VariableAggregation.MEAN,
}


class BatchNormalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta, mean and variance over all axes but one:
    in training those of the batch, else moving averages of them.

    In training the averages move only if the operations in tf.GraphKeys.UPDATE_OPS run with the
    step, as by `with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS))` around
    the optimizer.

    Args:
      axis: the axis of the features, or a list of axes.
      momentum: how much of the averages stays at each update.
      epsilon: a small number that keeps the divisor from 0.
      center, scale: whether there is a beta, a gamma.
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: as
        in tf.get_variable.
      beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint: as for Dense.
      renorm, renorm_clipping, renorm_momentum: must be off: there is no batch renormalization.
      fused: None and True to compute four axes with the features in axis 1 or 3 by one op, False
        never. The moving variance is then that of the population, n / (n - 1) times that of the
        batch.
      trainable, name: as for Dense.
      virtual_batch_size, adjustment: must be None.

    Called with (inputs, training=False); `training` may be a bool Tensor. Its variables are `gamma`,
    `beta`, `moving_mean` and `moving_variance`, the latter two not trainable.

    Raises:
      ValueError: if an axis is not one of the inputs or its size not known.
      NotImplementedError: for what must be off.
    """

    def __init__(
        self,
        axis=-1,
        momentum=0.99,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer=zeros_initializer(),
        gamma_initializer=ones_initializer(),
        moving_mean_initializer=zeros_initializer(),
        moving_variance_initializer=ones_initializer(),
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        renorm=False,
        renorm_clipping=None,
        renorm_momentum=0.99,
        fused=None,
        trainable=True,
        virtual_batch_size=None,
        adjustment=None,
        name=None,
        **kwargs,
    ):
        super().__init__(trainable=trainable, name=name, **kwargs)
        given = {
            "renorm": renorm,
            "virtual_batch_size": virtual_batch_size,
            "adjustment": adjustment,
        }
        for argument, value in given.items():
            if value:
                raise NotImplementedError(f"batch normalization has no {argument}: leave it out")
        self.axis = axis
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.fused = True if fused is None else bool(fused)
        self.beta = self.gamma = self.moving_mean = self.moving_variance = None

    # Whether what takes the outputs waits until the averages have moved.
    moves_with_outputs = False

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        if shape.ndims is None:
            raise ValueError(f"Input has undefined rank: {shape}")
        sizes = shape.as_list()
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        if any(not -len(sizes) <= axis < len(sizes) for axis in axes):
            raise ValueError(f"Invalid axis: {self.axis} of inputs with shape {shape}")
        self.axis = [axis % len(sizes) for axis in axes]
        if len(set(self.axis)) < len(self.axis):
            raise ValueError(f"Duplicate axis: {self.axis}")
        self.fused = self.fused and self.is_fusible(len(sizes))
        kept = {axis: sizes[axis] for axis in self.axis}
        if None in kept.values():
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape}")
        self.input_spec = InputSpec(ndim=len(sizes), axes=kept)
        # With several axes the variables have the rank of the inputs.
        several = [kept.get(axis, 1) for axis in range(len(sizes))]
        self._make_variables(list(kept.values()) if len(kept) == 1 else several)
        self.built = True

    def is_fusible(self, rank):
        """Whether inputs of this rank are computed by one op, as TensorFlow does."""
        return rank == 4 and self.axis in ([1], [3])

    def _make_variables(self, shape):
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        wide = dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                shape,
                wide,
                self.gamma_initializer,
                self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                shape,
                wide,
                self.beta_initializer,
                self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        with self.undivided_weights():  # averages move as a whole
            self.moving_mean = self.add_weight(
                "moving_mean", shape, wide, self.moving_mean_initializer, **_AVERAGED
            )
            self.moving_variance = self.add_weight(
                "moving_variance", shape, wide, self.moving_variance_initializer, **_AVERAGED
            )

    def call(self, inputs, training=False):
        if self.fused and inputs.dtype.base_dtype in _FUSED_TYPES:
            return self._fused(inputs, training)
        wide = self.moving_mean.dtype.base_dtype
        x = cast(inputs, wide)
        mean, variance = self.moving_mean.value(), self.moving_variance.value()
        if known_truth(training) is not False:
            mean, variance = self._moments_and_updates(x, training)
        outputs = normalize(
            x,
            self._broad(mean, x),
            self._broad(variance, x),
            self._broad(self.beta, x) if self.center else None,
            self._broad(self.gamma, x) if self.scale else None,
            self.epsilon,
        )
        outputs = cast(outputs, inputs.dtype.base_dtype)
        outputs.set_shape(inputs.shape)
        return outputs

    def _broad(self, values, x):
        """Values of the one axis of features so that they broadcast to x."""
        sizes = x.shape.as_list()
        if len(self.axis) > 1 or self.axis == [len(sizes) - 1]:
            return values
        return reshape(values, [n if axis in self.axis else 1 for axis, n in enumerate(sizes)])

    def _fused(self, inputs, training):
        channels = inputs.shape.as_list()[self.axis[0]]
        scale = self.gamma if self.scale else ones([channels])
        offset = self.beta if self.center else zeros([channels])
        # What has no height and width is an image of one pixel.
        flat = inputs.shape.ndims == 2
        images = expand_dims(expand_dims(inputs, 1), 1) if flat else inputs
        first = self.axis == [1] and not flat

        def normalized(is_training):
            made = fused_batch_norm(
                images,
                scale,
                offset,
                mean=None if is_training else self.moving_mean,
                variance=None if is_training else self.moving_variance,
                epsilon=self.epsilon,
                data_format="NCHW" if first else "NHWC",
                is_training=is_training,
            )
            return list(made)

        # TensorFlow decides in the graph what part of the averages stays, and not whether they move.
        nodes = _NODES_WITHOUT_LAYER if flat or self.moves_with_outputs else _NODES_OF_FUSED
        with counted_as(nodes[known_truth(training)] - flat):
            outputs, mean, variance = smart_cond(
                training, lambda: normalized(True), lambda: normalized(False)
            )
            if known_truth(training) is not False:
                self._move(self.moving_mean, mean, training)
                self._move(self.moving_variance, variance, training)
        outputs = squeeze(outputs, [1, 2]) if flat else outputs
        outputs.set_shape(inputs.shape)
        return outputs

    def _moments_and_updates(self, x, training):
        """What to normalize by, in training and if `training` is known only later."""
        axes = [axis for axis in range(x.shape.ndims) if axis not in self.axis]
        mean, variance = moments(x, axes, keepdims=len(self.axis) > 1)
        with counted_as(8 if known_truth(training) else 40):
            of_population = variance * self._correction(x, axes) if self.fused else variance
            self._move(self.moving_mean, mean, training)
            self._move(self.moving_variance, of_population, training)
            if known_truth(training):
                return mean, variance
            # By elements and not by tf.cond, as TensorFlow does: both sides are there anyway.
            return (
                where(training, mean, self.moving_mean.value()),
                where(training, variance, self.moving_variance.value()),
            )

    def _correction(self, x, axes):
        number = cast(reduce_prod(gen_ops.gather_v2(shape_of(x), axes, 0)), x.dtype.base_dtype)
        return number / gen_ops.maximum(number - 1, 1)

    def _move(self, average, value, training):
        def moved():
            with name_scope("AssignMovingAvg"), colocate_with(average):
                return average.assign_sub((average.value() - value) * (1.0 - self.momentum))

        self.add_update(smart_cond(training, moved, lambda: average.value()))

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


def batch_normalization(
    inputs,
    axis=-1,
    momentum=0.99,
    epsilon=1e-3,
    center=True,
    scale=True,
    beta_initializer=zeros_initializer(),
    gamma_initializer=ones_initializer(),
    moving_mean_initializer=zeros_initializer(),
    moving_variance_initializer=ones_initializer(),
    beta_regularizer=None,
    gamma_regularizer=None,
    beta_constraint=None,
    gamma_constraint=None,
    training=False,
    trainable=True,
    name=None,
    reuse=None,
    renorm=False,
    renorm_clipping=None,
    renorm_momentum=0.99,
    fused=None,
    virtual_batch_size=None,
    adjustment=None,
):
    """BatchNormalization, made and called.

    Args:
      inputs: a Tensor of a floating type and known rank.
      training: True to normalize by the batch and to move the averages; a bool or a bool scalar
        Tensor.
      reuse: True to use the variables of an earlier layer of this name.
      Others: as for BatchNormalization.
    """
    layer = BatchNormalization(
        axis=axis,
        momentum=momentum,
        epsilon=epsilon,
        center=center,
        scale=scale,
        beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer,
        moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer,
        beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer,
        beta_constraint=beta_constraint,
        gamma_constraint=gamma_constraint,
        renorm=renorm,
        renorm_clipping=renorm_clipping,
        renorm_momentum=renorm_momentum,
        fused=fused,
        trainable=trainable,
        virtual_batch_size=virtual_batch_size,
        adjustment=adjustment,
        name=name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs, training=training)
