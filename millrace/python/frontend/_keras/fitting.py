"""What fit, evaluate and predict do with a model."""

import numpy as np

from millrace._keras import sessions, sources
from millrace._keras.belonging import Belonging
from millrace._keras.callback import History
from millrace._keras.compiling import CompiledModel, alone
from millrace._keras.followers import Followers
from millrace._keras.training import phase_feed


class Fitted(CompiledModel):
    """The base of Model: what is trained by arrays, and by what gives batches. See CompiledModel."""

    def _source(
        self, x, y=None, weights=None, shares=None, *, size=None, steps=None, shuffles=False
    ):
        """Where batches come from: x alone, or arrays of x, y and weights, `size` samples at once."""

        def prepared(inputs, labels=None, of_samples=None):
            return self._data(inputs, labels, of_samples, shares)

        found = sources.of_batches(x, prepared, steps, shuffles)
        if found is None:
            return sources.Arrays(self._data(x, y, weights, shares), size or 32, shuffles)
        if y is not None or weights is not None:
            raise ValueError("What gives batches gives their labels and weights itself.")
        return found

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_freq=1,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
    ):
        """Trains it.

        Args:
          x, y: arrays of inputs and labels, lists of them, or dictionaries by names; or y is None, and x an
            iterator or a tf.data.Dataset that gives (x, y) or (x, y, weights) for each step, or a
            tf.keras.utils.Sequence of these.
          batch_size: how many samples a step has; 32 if None.
          epochs: how often it sees all samples; initial_epoch: the number of the first one.
          verbose: 0 to print nothing.
          callbacks: a list of Callbacks.
          validation_split: this share of the samples, the last ones, is not trained but evaluated after
            each epoch; validation_data: (x, y) or (x, y, weights) that is, or what gives batches of these.
          shuffle: whether the samples come in another order in each epoch.
          class_weight: numbers by class; sample_weight: an array of numbers: by which losses count; for several
            outputs a list of them, or a dictionary by names.
          steps_per_epoch: how many steps an epoch has, for iterators and Datasets; a Dataset is gone through
            once in each epoch if None.
          validation_steps: how many batches are evaluated, likewise.
          validation_freq: it is evaluated after each so many epochs; or a list of their numbers, from 1 on.
          max_queue_size, workers, use_multiprocessing: accepted: batches are made as they are needed.

        Returns:
          a History.

        Raises:
          RuntimeError: if it was not compiled; ValueError: if arrays do not fit.
        """
        source = self._source(
            x,
            y,
            sample_weight,
            class_weight,
            size=batch_size,
            steps=steps_per_epoch,
            shuffles=bool(shuffle),
        )
        held_out = None
        if validation_data is not None:
            given = (
                validation_data if isinstance(validation_data, (list, tuple)) else [validation_data]
            )
            held_out = self._source(*given, size=batch_size, steps=validation_steps)
        elif validation_split:
            if not isinstance(source, sources.Arrays):
                raise ValueError("validation_split is for arrays alone: give validation_data")
            source, held_out = source.split(validation_split)
        history = History()
        followers = self._followers(
            [*(callbacks or []), history], source, batch_size, verbose, "train"
        )
        if verbose:
            _announce(source, held_out)
        followers.params.update(epochs=epochs, do_validation=held_out is not None)
        if held_out is not None:
            followers.params["metrics"] += [f"val_{name}" for name in followers.params["metrics"]]
        self.stop_training = False
        followers.tell("on_train_begin", {})
        for epoch in range(initial_epoch, epochs):
            if self.stop_training:
                break
            followers.tell("on_epoch_begin", epoch, {})
            logs = self._epoch(source, followers, "train")
            if logs is None:
                if epoch == initial_epoch:
                    raise ValueError("There are no samples.")
                break
            if held_out is not None and _is_due(epoch, validation_freq):
                found = self._evaluated(held_out, followers)
                logs.update((f"val_{name}", value) for name, value in found.items())
            source.end()
            followers.tell("on_epoch_end", epoch, logs)
        followers.tell("on_train_end", {})
        return history

    def _followers(self, callbacks, source, batch_size, verbose, what):
        params = {
            "batch_size": batch_size or (None if source.steps else 32),
            "steps": source.steps,
            "samples": source.samples,
            "verbose": verbose,
            "metrics": [],
        }
        if self.inputs is not None and self._compiled is not None:
            params["metrics"] = self.metrics_names
        return Followers(callbacks, self, params, what)

    def _epoch(self, source, followers, what):
        """{name: mean} over the batches of an epoch of "train" or "test"; None if there are none."""
        total = None
        for arrays, logs in followers.along(what, source.epoch()):
            if total is None:
                trained = self._ready()
                trained.reset()
                total = _Mean(trained.running)
                followers.note_running(what, [trained.names[i] for i in trained.running])
            values = self.run_batch(what, arrays)
            total.add(values, len(arrays[0]))
            logs.update(zip(trained.names, map(float, values)))
            if what == "train" and self.stop_training:
                break
        return None if total is None else total.named(trained.names)

    def _evaluated(self, source, followers):
        followers.tell("on_test_begin", {})
        logs = self._epoch(source, followers, "test")
        if logs is None:
            raise ValueError("There are no samples.")
        followers.tell("on_test_end", {})
        return logs

    def fit_generator(
        self,
        generator,
        steps_per_epoch=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        validation_data=None,
        validation_steps=None,
        validation_freq=1,
        class_weight=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        shuffle=True,
        initial_epoch=0,
    ):
        """fit of an iterator or Sequence."""
        return self.fit(
            generator,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
        )

    def evaluate_generator(self, generator, steps=None, callbacks=None, *unused, verbose=0, **more):
        """evaluate of an iterator or Sequence."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(self, generator, steps=None, callbacks=None, *unused, verbose=0, **more):
        """predict of an iterator or Sequence."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose=1,
        sample_weight=None,
        steps=None,
        callbacks=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
    ):
        """The loss and metrics over all samples; the loss alone if there are no metrics.

        Args:
          x, y, batch_size, sample_weight, callbacks and the last three: as for fit; steps: how many batches an
            iterator gives, or a Dataset, which gives all if None.
        """
        source = self._source(x, y, sample_weight, size=batch_size, steps=steps)
        followers = self._followers(callbacks, source, batch_size, verbose, "test")
        followers.progress.on_epoch_begin(0)
        found = self._evaluated(source, followers)
        followers.progress.on_epoch_end(0, found)
        return alone(list(found.values()))

    def predict(
        self,
        x,
        batch_size=None,
        verbose=0,
        steps=None,
        callbacks=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
    ):
        """The outputs for arrays of inputs, an array or a list of them.

        Args:
          x: arrays; or an iterator, Dataset or Sequence that gives inputs, or tuples of inputs and others,
            for each of `steps` batches, for all of a Dataset or Sequence if None.
          batch_size: how many samples of arrays a step has; 32 if None.
          callbacks and the last three: as for fit.
        """
        source = sources.of_batches(
            x, lambda inputs, *unused: self._to_predict(inputs), steps, False
        )
        if source is None:
            source = sources.Arrays(self._to_predict(x), batch_size or 32, False)
        followers = self._followers(callbacks, source, batch_size, verbose, "predict")
        followers.progress.on_epoch_begin(0)
        followers.tell("on_predict_begin", {})
        parts = []
        for arrays, logs in followers.along("predict", source.epoch()):
            logs["outputs"] = self._predicted(arrays)
            parts.append(logs["outputs"])
        if not parts:
            raise ValueError("There are no samples.")
        followers.progress.on_epoch_end(0, {})
        followers.tell("on_predict_end", {})
        return alone([np.concatenate(rows) for rows in zip(*parts)])

    def _to_predict(self, x):
        if self.inputs is None:
            self._build_by(x if not isinstance(x, np.ndarray) else [x])
        return self._input_arrays(x)

    def _predicted(self, arrays):
        if self._belonging is None or self._belonging[0] is not self.inputs:
            self._belonging = self.inputs, Belonging(self.inputs)
        states = self._belonging[1].of(self.state_updates)
        feed = {**dict(zip(self.inputs, arrays)), **phase_feed(False)}
        return sessions.get_session().run([self.outputs, states], feed)[0]

    def predict_on_batch(self, x):
        """The outputs for one batch."""
        return alone(self._predicted(self._to_predict(x)))


class _Mean:
    """Means of numbers over batches, weighted by their sizes; of those at places in `running`, which are
    over all batches already, the last."""

    def __init__(self, running):
        self.total, self.count = 0.0, 0
        self.running, self.last = sorted(running), []

    def add(self, values, count):
        self.last = np.array(values, np.float64)
        self.total = self.total + self.last * count
        self.count += count

    def named(self, names):
        if not self.count:
            raise ValueError("There are no samples.")
        made = self.total / self.count
        made[self.running] = self.last[self.running]
        return dict(zip(names, made.tolist()))


def _announce(source, held_out):
    """Prints how much there is to train and to validate with, if that is arrays or datasets."""
    if source.unit is None:
        return
    told = [f"Train on {_size(source)} {source.unit}"]
    if held_out is not None and _size(held_out):
        told.append(f"validate on {_size(held_out)} {source.unit}")
    print(", ".join(told))


def _size(source):
    return source.steps if source.samples is None else source.samples


def _is_due(epoch, frequency):
    """Whether it is evaluated after an epoch, numbered from 0."""
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency
