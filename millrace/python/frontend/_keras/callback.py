"""Callback: what a program has called while a model trains, and those that need no more than that."""

import numpy as np

from millrace._keras.progress import Progbar


class Callback:
    """The base of callbacks; all methods do nothing.

    Attributes:
      model: the model that trains.
      params: {"epochs", "steps", "samples", "batch_size", "verbose", "do_validation", "metrics"}; steps or samples
        is None where it is not known, "metrics" has the names of what the logs of epochs have.
    """

    model = params = None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params

    def on_train_begin(self, logs=None):
        """Before the first epoch."""

    def on_train_end(self, logs=None):
        """After the last epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch, counted from 0."""

    def on_epoch_end(self, epoch, logs=None):
        """After an epoch; `logs` has its losses and metrics by name."""

    def on_batch_begin(self, batch, logs=None):
        """Before a step of training, counted from 0."""

    def on_batch_end(self, batch, logs=None):
        """After a step of training; `logs` has its losses and metrics by name."""

    def on_train_batch_begin(self, batch, logs=None):
        """The newer name of on_batch_begin, which it calls."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """The newer name of on_batch_end, which it calls."""
        self.on_batch_end(batch, logs)

    def on_test_begin(self, logs=None):
        """Before an evaluation, that of `fit` too."""

    def on_test_end(self, logs=None):
        """After an evaluation."""

    def on_test_batch_begin(self, batch, logs=None):
        """Before a batch of an evaluation."""

    def on_test_batch_end(self, batch, logs=None):
        """After a batch of an evaluation; `logs` has its losses and metrics by name."""

    def on_predict_begin(self, logs=None):
        """Before `predict`."""

    def on_predict_end(self, logs=None):
        """After `predict`."""

    def on_predict_batch_begin(self, batch, logs=None):
        """Before a batch of `predict`."""

    def on_predict_batch_end(self, batch, logs=None):
        """After a batch of `predict`; `logs` has its "outputs", a list of arrays."""


class History(Callback):
    """Keeps the losses and metrics of all epochs.

    Attributes:
      epoch: the numbers of the epochs.
      history: {name: a list with a number for each epoch}.
    """

    def on_train_begin(self, logs=None):
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class BaseLogger(Callback):
    """Accepted: `fit` gives means over each epoch by itself.

    Args:
      stateful_metrics: accepted.
    """

    def __init__(self, stateful_metrics=None):
        self.stateful_metrics = set(stateful_metrics or [])


class TerminateOnNaN(Callback):
    """Ends training with the batch whose loss is no number, or infinite."""

    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class ProgbarLogger(Callback):
    """Prints how far each epoch has come, in a line of a Progbar.

    Args:
      count_mode: whether "samples" or "steps" are counted.
      stateful_metrics: names of numbers that are over the whole epoch already.
    """

    def __init__(self, count_mode="samples", stateful_metrics=None):
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.count_mode, self.stateful_metrics = count_mode, set(stateful_metrics or [])
        self._bar = self._values = None

    def hold(self, names):
        """Told which numbers are over the whole epoch already."""
        self.stateful_metrics.update(names)
        if self._bar is not None:
            self._bar.stateful_metrics.update(names)

    def on_epoch_begin(self, epoch, logs=None):
        if not self.params["verbose"]:
            return
        if self.params.get("epochs", 1) > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._seen, self._values = 0, []
        self._bar = Progbar(
            self.params[self.count_mode],
            verbose=self.params["verbose"],
            stateful_metrics=self.stateful_metrics,
            unit_name=self.count_mode[:-1],
        )

    def on_batch_end(self, batch, logs=None):
        if self._bar is None:
            return
        self._seen += 1 if self.count_mode == "steps" else logs.get("size", 0)
        self._values = self._measured(logs)
        # The end of the epoch has more to tell with the last batch.
        if self._bar.target is None or self._seen < self._bar.target:
            self._bar.update(self._seen, self._values)

    def on_epoch_end(self, epoch, logs=None):
        if self._bar is None:
            return
        if self._bar.target is None:
            self._bar.target = self._seen
        # Metrics are over the whole epoch here; the loss joins that of its last batch, as in TensorFlow.
        self._bar.stateful_metrics.update(name for name in logs or {} if name != "loss")
        self._bar.update(self._seen, self._values + self._measured(logs))
        self._bar = None

    def _measured(self, logs):
        logs = logs or {}
        # A model that its first data made had no names before.
        names = self.params["metrics"] or [
            n for n, value in logs.items() if isinstance(value, float)
        ]
        return [(name, logs[name]) for name in names if name in logs]


class LambdaCallback(Callback):
    """Functions by the names of the methods that they stand for."""

    def __init__(self, **functions):
        for name, function in functions.items():
            if not hasattr(Callback, name) or not name.startswith("on_"):
                raise TypeError(f"LambdaCallback has no {name}")
            if function is not None:
                setattr(self, name, function)
