"""Layers that have layers inside."""

from millrace._keras.layer import Layer


class Nested(Layer):
    """The base of layers that call others: their variables, losses and updates join its own.

    Attributes:
      inner: the list of those; what among it is no layer has no part in this.
    """

    inner = ()

    def _of_inner(self, name):
        return [each for layer in self.inner for each in getattr(layer, name, [])]

    @property
    def trainable_weights(self):
        of_inner = self._of_inner("trainable_weights") if self.trainable else []
        return super().trainable_weights + of_inner

    @property
    def non_trainable_weights(self):
        frozen = [] if self.trainable else self._of_inner("trainable_weights")
        return super().non_trainable_weights + frozen + self._of_inner("non_trainable_weights")

    @property
    def losses(self):
        return super().losses + self._of_inner("losses")

    @property
    def updates(self):
        return super().updates + (self._of_inner("updates") if self.trainable else [])

    @property
    def state_updates(self):
        """Operations that keep states for the next batch, in training or not."""
        return self._of_inner("state_updates")

    def reset_states(self):
        """Has the states of layers that keep them begin again."""
        for layer in self.inner:
            if getattr(layer, "stateful", False):
                layer.reset_states()
