"""Metrics by their names: functions of losses, and objects."""

from millrace._keras import losses, metric_objects, objects, threshold_metrics
from millrace._keras.metric_objects import Metric

KNOWN = {
    **losses.METRICS,
    **{
        name: each
        for module in (metric_objects, threshold_metrics)
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, Metric) and not name.startswith("_")
    },
}


def get(identifier):
    """A metric: by its name or serialized form, a function or a Metric itself. ValueError for others."""
    if identifier is None:
        raise ValueError(f"None is no metric; there are {sorted(KNOWN)}")
    if isinstance(identifier, Metric):
        return identifier
    return objects.get(identifier, KNOWN, "metric function")


def serialize(metric):
    """What deserialize makes the same metric of."""
    return objects.serialize(metric)


def deserialize(config, custom_objects=None):
    """The metric that serialize was given. ValueError for unknown names."""
    return objects.deserialize(config, KNOWN, custom_objects, "metric function")
