"""Where the batches of fit, evaluate and predict come from: arrays, Sequences, iterators, datasets."""

import warnings

from millrace._keras import batches


class _Source:
    """Batches, epoch by epoch.

    Attributes:
      samples, steps: how many samples or batches an epoch has, as far as that is known.
      unit: in what its size is told before training: "samples", "steps", or None to tell nothing.
    """

    samples = steps = unit = None

    def epoch(self):
        """An iterator over the batches of the next epoch."""
        raise NotImplementedError

    def end(self):
        """After each epoch."""


class Arrays(_Source):
    """Rows of arrays, a list; in another order in each epoch if `shuffles`."""

    unit = "samples"

    def __init__(self, data, batch_size, shuffles):
        self._data, self._size, self._shuffles = data, batch_size, shuffles
        self.samples = len(data[0])

    def epoch(self):
        return batches.batches(self._data, self._size, self._shuffles)

    def split(self, share):
        """(the first samples, the last `share` of them as they are). ValueError if one has none."""
        kept, held_out = batches.split(self._data, share)
        if not len(kept[0]) or not len(held_out[0]):
            raise ValueError(
                f"validation_split={share} leaves no samples to train with, or none to validate, of "
                f"{self.samples}"
            )
        return Arrays(kept, self._size, self._shuffles), Arrays(held_out, self._size, False)


class _Prepared(_Source):
    """The base of those that give whole batches; `prepare` makes arrays of what one gives."""

    def __init__(self, data, prepare, steps):
        self._data, self._prepare, self.steps = data, prepare, steps

    def _made(self, given):
        return self._prepare(*given) if isinstance(given, tuple) else self._prepare(given)


class Sequences(_Prepared):
    """A Sequence, of which `steps` batches make an epoch, all if None."""

    def __init__(self, data, prepare, steps, shuffles):
        super().__init__(data, prepare, len(data) if steps is None else min(steps, len(data)))
        self._shuffles = shuffles

    def epoch(self):
        return map(self._made, self._data.batches(self.steps, self._shuffles))

    def end(self):
        self._data.on_epoch_end()


class Iterators(_Prepared):
    """An iterator, of which the next `steps` batches make an epoch."""

    def epoch(self):
        for made in range(self.steps):
            given = next(self._data, self)
            if given is self:
                warnings.warn(
                    f"The data ran out after {made} of {self.steps} batches: it must have as many as all "
                    "epochs take"
                )
                return
            yield self._made(given)


class Datasets(_Prepared):
    """A tf.data.Dataset, which each epoch goes through once."""

    unit = "steps"

    def epoch(self):
        return map(self._made, batches.values_of(self._data))


def of_batches(data, prepare, steps, shuffles):
    """The source of batches, or None if these are arrays.

    Args:
      data: a Sequence, iterator, tf.data.Dataset or iterator of one; prepare: makes arrays of what it gives.
      steps: how many batches an epoch has; None for all that a Sequence or Dataset has.
      shuffles: whether a Sequence is in another order in each epoch.

    Raises:
      ValueError: for an iterator or a dataset without end, without steps.
    """
    if isinstance(data, batches.Sequence):
        return Sequences(data, prepare, steps, shuffles)
    if steps is None and batches.is_dataset(data):
        return Datasets(data, prepare, batches.size_of(data))
    unit = "steps" if batches.is_dataset(data) else None
    data = batches.iterator_of(data)
    if not batches.is_iterator(data):
        return None
    if steps is None:
        raise ValueError(
            "An iterator needs to be told how many steps to take: steps_per_epoch, validation_steps or steps."
        )
    found = Iterators(data, prepare, steps)
    found.unit = unit
    return found
