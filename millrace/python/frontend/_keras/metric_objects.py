"""Metrics as objects, whose variables hold what was seen since they began: sums and means."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._keras import losses, named, sessions
from millrace._layers.layer import snake_case
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones_like, squeeze
from millrace._ops.normalization import l2_normalize
from millrace._ops.reductions import reduce_mean, reduce_sum
from millrace._state.object_names import unique_name
from millrace._state.variables import Variable
from millrace._values import dtypes


class Metric:
    """The base of metrics. Called with what `update_state` takes, one gives its value after that.

    Classes that derive from it make variables by `add_weight` in __init__, and define `update_state`,
    which gives an Operation, and `result`, which gives a Tensor.

    Args:
      name: its name; that of the class if None.
      dtype: the type of its variables and value; float32 if None.

    Attributes:
      variables, weights: its variables.
    """

    def __init__(self, name=None, dtype=None):
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.dtype = dtypes.as_dtype(dtype or dtypes.float32)
        self.weights = []

    @property
    def variables(self):
        return self.weights

    def add_weight(self, name, shape=(), initializer="zeros", dtype=None, **unused):
        """A new variable, which is in no collection; get_session() initializes it."""
        dtype = dtypes.as_dtype(dtype or self.dtype)
        initializer = named.initializer(initializer)
        made = Variable(
            lambda: initializer(list(shape), dtype=dtype),
            dtype=dtype,
            trainable=False,
            collections=[],
            name=f"{self.name}/{name}",
            use_resource=True,
        )
        self.weights.append(made)
        sessions.track([made])
        return made

    def update_state(self, *args, **kwargs):
        """An Operation that counts a batch in."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self):
        """The value of all that was seen."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def __call__(self, *args, **kwargs):
        with name_scope(self.name):
            update = self.update_state(*args, **kwargs)
            with control_dependencies([update]):
                return gen_ops.identity(self.result())

    def reset_states(self):
        """Forgets all that was seen, in get_session()."""
        sessions.get_session().run([each.initializer for each in self.weights])

    def get_config(self):
        """{name: value} of its settings."""
        return {"name": self.name, "dtype": self.dtype.name}


def weighted(values, sample_weight):
    """(values, weights) of one shape: values are averaged along axes that the weights lack.

    Args:
      values: a Tensor; sample_weight: a scalar, of the shape of values, or of its first axes.
    """
    weights = cast(sample_weight, values.dtype.base_dtype)
    ranks = values.shape.ndims, weights.shape.ndims
    if None not in ranks and ranks[1] == ranks[0] + 1:
        weights = squeeze(weights, [-1])
    elif None not in ranks and 0 < ranks[1] < ranks[0]:
        values = reduce_mean(values, axis=list(range(ranks[1], ranks[0])))
    return values, weights * ones_like(values)


class _Sums(Metric):
    """The base: `total` is the weighted sum of values, `count` that of their weights."""

    def __init__(self, name=None, dtype=None):
        super().__init__(name, dtype)
        self.total, self.count = self.add_weight("total"), self.add_weight("count")

    def update_state(self, values, sample_weight=None):
        """Counts values in, times weights."""
        values = cast(values, self.dtype)
        values, weights = weighted(values, 1.0 if sample_weight is None else sample_weight)
        return group(
            self.total.assign_add(reduce_sum(values * weights), read_value=False),
            self.count.assign_add(reduce_sum(weights), read_value=False),
        )


class Mean(_Sums):
    """The weighted mean of values."""

    def result(self):
        return gen_ops.div_no_nan(self.total.read_value(), self.count.read_value())


class Sum(Metric):
    """The weighted sum of values."""

    def __init__(self, name=None, dtype=None):
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values, sample_weight=None):
        """Adds values, times weights."""
        values = cast(values, self.dtype)
        values, weights = weighted(values, 1.0 if sample_weight is None else sample_weight)
        return self.total.assign_add(reduce_sum(values * weights), read_value=False)

    def result(self):
        return self.total.read_value()


class MeanTensor(Metric):
    """The weighted mean of Tensors, element by element; all have the shape of the first."""

    def __init__(self, name=None, dtype=None):
        super().__init__(name, dtype)
        self.total = self.count = None

    def update_state(self, values, sample_weight=None):
        """Counts a Tensor in. ValueError if its shape is unknown or another than the first one's."""
        values = cast(values, self.dtype)
        if self.total is None:
            shape = values.shape.as_list()
            self.total, self.count = (self.add_weight(n, shape) for n in ("total", "count"))
        elif not values.shape.is_compatible_with(self.total.shape):
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set during "
                f"the first call): {self.total.shape}. Got: {values.shape}"
            )
        weights = ones_like(values)
        if sample_weight is not None:
            given = cast(sample_weight, self.dtype)
            missing = values.shape.ndims - given.shape.ndims if given.shape.ndims else 0
            for _ in range(missing):
                given = gen_ops.expand_dims(given, -1)
            weights = weights * given
        return group(
            self.total.assign_add(values * weights, read_value=False),
            self.count.assign_add(weights, read_value=False),
        )

    def result(self):
        if self.total is None:
            raise ValueError("MeanTensor does not have any result yet: call update_state first.")
        return gen_ops.div_no_nan(self.total.read_value(), self.count.read_value())


class MeanOf(Mean):
    """The mean of a function of (y_true, y_pred); classes that derive from it set `function`.

    Args:
      name, dtype: as for Metric; others: settings of the function.
    """

    function = staticmethod(losses.mean_squared_error)

    def __init__(self, name=None, dtype=None, **settings):
        super().__init__(name, dtype)
        self.settings = settings

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch in."""
        y_true, y_pred = convert(y_true), cast(y_pred, self.dtype)
        return super().update_state(
            type(self).function(y_true, y_pred, **self.settings), sample_weight
        )

    def get_config(self):
        return {**super().get_config(), **self.settings}


def _matches(y_true, y_pred):
    y_pred = convert(y_pred)
    return cast(gen_ops.equal(cast(y_true, y_pred.dtype.base_dtype), y_pred), dtypes.float32)


def _cosines(y_true, y_pred, axis=-1):
    y_pred = convert(y_pred)
    y_true = cast(y_true, y_pred.dtype.base_dtype)
    return reduce_sum(l2_normalize(y_true, axis=axis) * l2_normalize(y_pred, axis=axis), axis)


class Accuracy(MeanOf):
    """How often predictions equal labels."""

    function = staticmethod(_matches)


class BinaryAccuracy(MeanOf):
    """How often predictions are on the side of a threshold that labels say."""

    function = staticmethod(losses.binary_accuracy)

    def __init__(self, name=None, dtype=None, threshold=0.5):
        super().__init__(name, dtype, threshold=threshold)


class CosineSimilarity(MeanOf):
    """The mean cosine of the angle between labels and predictions along an axis."""

    function = staticmethod(_cosines)

    def __init__(self, name=None, dtype=None, axis=-1):
        super().__init__(name, dtype, axis=axis)


class TopKCategoricalAccuracy(MeanOf):
    """How often the largest of the labels is among the k largest of predictions."""

    function = staticmethod(losses.top_k_categorical_accuracy)

    def __init__(self, k=5, name=None, dtype=None):
        super().__init__(name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanOf):
    """How often the class that the label says is among the k largest of predictions."""

    function = staticmethod(losses.sparse_top_k_categorical_accuracy)

    def __init__(self, k=5, name=None, dtype=None):
        super().__init__(name, dtype, k=k)


class BinaryCrossentropy(MeanOf):
    """The mean of binary_crossentropy; its settings as there."""

    function = staticmethod(losses.binary_crossentropy)

    def __init__(self, name=None, dtype=None, from_logits=False, label_smoothing=0):
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(MeanOf):
    """The mean of categorical_crossentropy; its settings as there."""

    function = staticmethod(losses.categorical_crossentropy)

    def __init__(self, name=None, dtype=None, from_logits=False, label_smoothing=0):
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class SparseCategoricalCrossentropy(MeanOf):
    """The mean of sparse_categorical_crossentropy; its settings as there."""

    function = staticmethod(losses.sparse_categorical_crossentropy)

    def __init__(self, name=None, dtype=None, from_logits=False, axis=-1):
        super().__init__(name, dtype, from_logits=from_logits, axis=axis)


class RootMeanSquaredError(Mean):
    """The root of the mean of squared differences."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch in."""
        y_pred = cast(y_pred, self.dtype)
        squares = gen_ops.squared_difference(y_pred, cast(y_true, self.dtype))
        return super().update_state(squares, sample_weight)

    def result(self):
        return gen_ops.sqrt(super().result())


class MeanRelativeError(Mean):
    """The mean of absolute differences divided by a Tensor, `normalizer`; 0 where that is 0."""

    def __init__(self, normalizer, name=None, dtype=None):
        super().__init__(name, dtype)
        self.normalizer = normalizer

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch in."""
        y_pred, y_true = cast(y_pred, self.dtype), cast(y_true, self.dtype)
        size = cast(self.normalizer, self.dtype)
        return super().update_state(
            gen_ops.div_no_nan(gen_ops.abs(y_true - y_pred), size), sample_weight
        )


class CategoricalAccuracy(MeanOf):
    """How often the largest of labels and predictions are at the same place."""

    function = staticmethod(losses.categorical_accuracy)


class SparseCategoricalAccuracy(MeanOf):
    """How often the largest of predictions is at the place that the label says."""

    function = staticmethod(losses.sparse_categorical_accuracy)


class MeanSquaredError(MeanOf):
    """The mean of mean_squared_error."""

    function = staticmethod(losses.mean_squared_error)


class MeanAbsoluteError(MeanOf):
    """The mean of mean_absolute_error."""

    function = staticmethod(losses.mean_absolute_error)


class MeanAbsolutePercentageError(MeanOf):
    """The mean of mean_absolute_percentage_error."""

    function = staticmethod(losses.mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(MeanOf):
    """The mean of mean_squared_logarithmic_error."""

    function = staticmethod(losses.mean_squared_logarithmic_error)


class Hinge(MeanOf):
    """The mean of hinge."""

    function = staticmethod(losses.hinge)


class SquaredHinge(MeanOf):
    """The mean of squared_hinge."""

    function = staticmethod(losses.squared_hinge)


class CategoricalHinge(MeanOf):
    """The mean of categorical_hinge."""

    function = staticmethod(losses.categorical_hinge)


class KLDivergence(MeanOf):
    """The mean of kullback_leibler_divergence."""

    function = staticmethod(losses.kullback_leibler_divergence)


class LogCoshError(MeanOf):
    """The mean of logcosh."""

    function = staticmethod(losses.logcosh)


class Poisson(MeanOf):
    """The mean of poisson."""

    function = staticmethod(losses.poisson)
