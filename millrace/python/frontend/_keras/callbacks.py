"""Callbacks: what a program has called while a model trains."""

import numpy as np


class Callback:
    """The base of callbacks; all methods do nothing.

    Attributes:
      model: the model that trains.
      params: {"epochs", "steps", "samples", "batch_size", "verbose", "metrics"}.
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


class LambdaCallback(Callback):
    """Functions by the names of the methods that they stand for."""

    def __init__(self, **functions):
        for name, function in functions.items():
            if not hasattr(Callback, name) or not name.startswith("on_"):
                raise TypeError(f"LambdaCallback has no {name}")
            if function is not None:
                setattr(self, name, function)


class LearningRateScheduler(Callback):
    """Sets the rate at the begin of each epoch.

    Args:
      schedule: gives the rate of (epoch, rate), or of the epoch alone.
      verbose: 1 to print it.
    """

    def __init__(self, schedule, verbose=0):
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        optimizer = self.model.optimizer
        if not hasattr(optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        session = self.model.session()
        try:
            rate = self.schedule(epoch, float(session.run(optimizer.lr)))
        except TypeError:
            rate = self.schedule(epoch)
        optimizer.lr.load(rate, session)
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler sets learning rate to {rate}.")


class EarlyStopping(Callback):
    """Ends training when a number no longer becomes better.

    Args:
      monitor: its name in the logs.
      min_delta: how much better it must become.
      patience: how many epochs it may not.
      verbose: 1 to say when training ends.
      mode: "min", "max", or "auto" for "max" where the name has "acc" in it.
      baseline: what it must be better than.
      restore_best_weights: True for the weights of the best epoch in the end.
    """

    def __init__(
        self,
        monitor="val_loss",
        min_delta=0,
        patience=0,
        verbose=0,
        mode="auto",
        baseline=None,
        restore_best_weights=False,
    ):
        is_max = mode == "max" or mode == "auto" and "acc" in monitor
        self.sign = 1 if is_max else -1
        self.monitor, self.min_delta, self.patience = monitor, abs(min_delta), patience
        self.verbose, self.baseline, self.restores = verbose, baseline, restore_best_weights
        self.stopped_epoch = 0

    def on_train_begin(self, logs=None):
        self.wait, self.stopped_epoch, self.best_weights = 0, 0, None
        self.best = -np.inf if self.baseline is None else self.sign * self.baseline

    def on_epoch_end(self, epoch, logs=None):
        value = (logs or {}).get(self.monitor)
        if value is None:
            raise ValueError(
                f"EarlyStopping looks at `{self.monitor}`, which is not available. Available metrics "
                f"are: {','.join(logs or {})}"
            )
        if self.sign * value - self.min_delta > self.best:
            self.best, self.wait = self.sign * value, 0
            if self.restores:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs=None):
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ModelCheckpoint(Callback):
    """Saves the weights after epochs.

    Args:
      filepath: where, with {epoch} and the names of the logs to be filled in.
      monitor, mode: what is best, as for EarlyStopping.
      verbose: 1 to print when it saves.
      save_best_only: True to save only when it has become better.
      save_weights_only: must be True.
    """

    def __init__(
        self,
        filepath,
        monitor="val_loss",
        verbose=0,
        save_best_only=False,
        save_weights_only=False,
        mode="auto",
    ):
        if not save_weights_only:
            raise NotImplementedError("models are not saved whole: give save_weights_only=True")
        is_max = mode == "max" or mode == "auto" and "acc" in monitor
        self.sign, self.best = (1 if is_max else -1), -np.inf
        self.filepath, self.monitor, self.verbose = filepath, monitor, verbose
        self.best_only = save_best_only

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.best_only:
            if self.monitor not in logs:
                raise ValueError(f"Can save best model only with {self.monitor} available")
            if self.sign * logs[self.monitor] <= self.best:
                return
            self.best = self.sign * logs[self.monitor]
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        self.model.save_weights(path)
