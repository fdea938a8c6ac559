"""Schedules by their names."""

from millrace._keras import cosine_schedules, objects, schedules
from millrace._keras.schedules import LearningRateSchedule

_NAMED = {
    name: each
    for module in (schedules, cosine_schedules)
    for name, each in vars(module).items()
    if isinstance(each, type)
    and issubclass(each, LearningRateSchedule)
    and each is not LearningRateSchedule
    and not name.startswith("_")
}


def serialize(learning_rate_schedule):
    """{"class_name", "config"} of a schedule."""
    return objects.serialize(learning_rate_schedule)


def deserialize(config, custom_objects=None):
    """The schedule that serialize was given. ValueError for unknown names."""
    return objects.deserialize(config, _NAMED, custom_objects, "decay")
