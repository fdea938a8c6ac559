"""Layers with layers inside: their variables, losses and updates are its own too."""

from millrace._layers import layer as plain
from millrace._values import structure


def unique(values):
    """A list with each object once, where it comes first."""
    return list({id(each): each for each in values}.values())


class Composed(plain.Layer):
    """The base of Keras's Layer. What is inside are the layers that are its attributes, or that stand in lists,
    tuples and dictionaries which are.

    Attributes:
      trainable: whether its variables, and those of what is inside, are to be trained; setting it sets it there.
    """

    # Attributes whose layers are not inside, or that have none.
    _apart = ("given_settings", "_calls", "_losses", "_updates")

    def inside(self):
        """The layers inside, those of tf.layers too, in the order in which they became attributes."""
        held = [value for name, value in vars(self).items() if name not in self._apart]
        return unique(each for each in structure.flatten(held) if isinstance(each, plain.Layer))

    def _of_inside(self, what):
        return [found for each in self.inside() for found in getattr(each, what, ())]

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        self._trainable = bool(value)
        for each in self.inside():
            each.trainable = value

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        return unique(super().trainable_weights + self._of_inside("trainable_weights"))

    @property
    def non_trainable_weights(self):
        of_inside = self._of_inside("non_trainable_weights" if self.trainable else "weights")
        return unique(super().non_trainable_weights + of_inside)

    @property
    def losses(self):
        return unique(super().losses + self._of_inside("losses"))

    @property
    def updates(self):
        return unique(super().updates + self._of_inside("updates")) if self.trainable else []

    @property
    def state_updates(self):
        """Operations that keep states for the next batch, in training or not."""
        return unique(self._of_inside("state_updates"))
