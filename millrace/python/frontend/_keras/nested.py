"""Layers that are told which layers are inside."""

from millrace._keras.composed import unique
from millrace._keras.layer import Layer


class Nested(Layer):
    """The base of layers that call others, which need not be layers of Keras's.

    Attributes:
      inner: the list of those.
    """

    inner = ()
    _apart = (*Layer._apart, "inner", "layer")

    def inside(self):
        told = [each for each in self.inner if hasattr(each, "trainable_weights")]
        return unique([*told, *super().inside()])

    def reset_states(self):
        """Has the states of layers that keep them begin again."""
        for layer in self.inner:
            if getattr(layer, "stateful", False):
                layer.reset_states()
