"""Losses as objects: called with (y_true, y_pred) they give one number."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._keras import losses, objects
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_sum


class Loss:
    """A loss as an object: called with (y_true, y_pred, sample_weight=None) it gives the mean.

    Args:
      reduction: "sum_over_batch_size" (or "auto") for the mean over all numbers, "sum", or "none".
      name: its name.

    Classes that derive from it define `call(y_true, y_pred)`.

    Raises:
      ValueError: if the reduction is another.
    """

    def __init__(self, reduction="sum_over_batch_size", name=None):
        if reduction not in ("auto", "sum_over_batch_size", "sum", "none"):
            raise ValueError(f"Invalid Reduction Key {reduction}.")
        self.reduction, self.name = reduction, name

    def call(self, y_true, y_pred):
        """One number for each sample."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def get_config(self):
        """{name: value} of its settings."""
        return {"reduction": self.reduction, "name": self.name}

    def __call__(self, y_true, y_pred, sample_weight=None):
        values = convert(self.call(y_true, y_pred))
        if sample_weight is not None:
            values = values * cast(sample_weight, values.dtype.base_dtype)
        if self.reduction == "none":
            return values
        total = reduce_sum(values)
        if self.reduction == "sum":
            return total
        return total / cast(gen_ops.size(values), values.dtype.base_dtype)


class _Of(Loss):
    """A Loss of one of the functions, with its settings."""

    function = staticmethod(losses.mean_squared_error)

    def __init__(self, reduction="sum_over_batch_size", name=None, **settings):
        super().__init__(reduction, name or type(self).function.__name__)
        self.settings = settings

    def call(self, y_true, y_pred):
        return type(self).function(y_true, y_pred, **self.settings)

    def get_config(self):
        return {**super().get_config(), **self.settings}


class MeanSquaredError(_Of):
    """mean_squared_error as an object."""


class MeanAbsoluteError(_Of):
    """mean_absolute_error as an object."""

    function = staticmethod(losses.mean_absolute_error)


class Hinge(_Of):
    """hinge as an object."""

    function = staticmethod(losses.hinge)


class Huber(_Of):
    """huber_loss as an object."""

    function = staticmethod(losses.huber_loss)

    def __init__(self, delta=1.0, reduction="sum_over_batch_size", name=None):
        super().__init__(reduction, name, delta=delta)


class BinaryCrossentropy(_Of):
    """binary_crossentropy as an object."""

    function = staticmethod(losses.binary_crossentropy)

    def __init__(
        self, from_logits=False, label_smoothing=0, reduction="sum_over_batch_size", name=None
    ):
        super().__init__(reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(_Of):
    """categorical_crossentropy as an object."""

    function = staticmethod(losses.categorical_crossentropy)

    def __init__(
        self, from_logits=False, label_smoothing=0, reduction="sum_over_batch_size", name=None
    ):
        super().__init__(reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


class SparseCategoricalCrossentropy(_Of):
    """sparse_categorical_crossentropy as an object."""

    function = staticmethod(losses.sparse_categorical_crossentropy)

    def __init__(self, from_logits=False, reduction="sum_over_batch_size", name=None):
        super().__init__(reduction, name, from_logits=from_logits)


class MeanAbsolutePercentageError(_Of):
    """mean_absolute_percentage_error as an object."""

    function = staticmethod(losses.mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(_Of):
    """mean_squared_logarithmic_error as an object."""

    function = staticmethod(losses.mean_squared_logarithmic_error)


class SquaredHinge(_Of):
    """squared_hinge as an object."""

    function = staticmethod(losses.squared_hinge)


class CategoricalHinge(_Of):
    """categorical_hinge as an object."""

    function = staticmethod(losses.categorical_hinge)


class KLDivergence(_Of):
    """kullback_leibler_divergence as an object."""

    function = staticmethod(losses.kullback_leibler_divergence)


class LogCosh(_Of):
    """logcosh as an object."""

    function = staticmethod(losses.logcosh)


class Poisson(_Of):
    """poisson as an object."""

    function = staticmethod(losses.poisson)


class CosineSimilarity(_Of):
    """cosine_similarity as an object, along an axis."""

    function = staticmethod(losses.cosine_similarity)

    def __init__(self, axis=-1, reduction="sum_over_batch_size", name=None):
        super().__init__(reduction, name, axis=axis)


KNOWN = {
    **losses.LOSSES,
    **{
        name: each
        for name, each in globals().copy().items()
        if isinstance(each, type) and issubclass(each, _Of) and each is not _Of
    },
}


def get(identifier):
    """A loss: by its name or serialized form, or a function itself. ValueError for unknown names."""
    if identifier is None:
        raise ValueError(f"There must be a loss for each output; there are {sorted(KNOWN)}")
    return objects.get(identifier, KNOWN, "loss function")


def serialize(loss):
    """What deserialize makes the same loss of."""
    return objects.serialize(loss)


def deserialize(name, custom_objects=None):
    """The loss that serialize was given. ValueError for unknown names."""
    return objects.deserialize(name, KNOWN, custom_objects, "loss function")
