"""Callbacks that write down how training goes, change the rate, stop it, and save the model."""

import csv
import warnings

import numpy as np

from millrace._keras.callback import Callback
from millrace._summaries.file_writer import FileWriter
from millrace._summaries.messages import Summary


class CSVLogger(Callback):
    """Writes a line of comma-separated losses and metrics after each epoch.

    Args:
      filename: the file.
      separator: what is between values.
      append: True to write behind what the file has.
    """

    def __init__(self, filename, separator=",", append=False):
        self.filename, self.separator, self.append = filename, separator, append
        self._file = self._writer = self._names = None

    def on_train_begin(self, logs=None):
        has_head = False
        if self.append:
            try:
                with open(self.filename, encoding="utf-8") as file:
                    has_head = bool(file.readline())
            except FileNotFoundError:
                pass
        mode = "a" if self.append else "w"
        self._file = open(self.filename, mode, encoding="utf-8", newline="")
        self._writer, self._has_head = csv.writer(self._file, delimiter=self.separator), has_head
        self._names = None

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        if self._names is None:
            self._names = sorted(logs)
            if not self._has_head:
                self._writer.writerow(["epoch", *self._names])
        self._writer.writerow([epoch, *(logs.get(name, "NA") for name in self._names)])
        self._file.flush()

    def on_train_end(self, logs=None):
        self._file.close()


class TensorBoard(Callback):
    """Writes the graph, and losses and metrics as summaries, for TensorBoard.

    Args:
      log_dir: the folder.
      histogram_freq: must be 0; tf.summary.histogram makes histograms of Tensors.
      batch_size: accepted.
      write_graph: whether to write the graph.
      update_freq: "epoch" (names begin with "epoch_"), "batch" (with "batch_"), or a number of samples:
        when it writes.

    Raises:
      NotImplementedError: for histograms, gradients, images and embeddings.
    """

    def __init__(
        self,
        log_dir="./logs",
        histogram_freq=0,
        batch_size=32,
        write_graph=True,
        write_grads=False,
        write_images=False,
        embeddings_freq=0,
        update_freq="epoch",
        **unused,
    ):
        if histogram_freq or write_grads or write_images or embeddings_freq:
            raise NotImplementedError(
                "TensorBoard writes losses, metrics and the graph: leave histogram_freq, write_grads, "
                "write_images and embeddings_freq out, and write others with tf.summary"
            )
        self.log_dir, self.write_graph = log_dir, write_graph
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writer, self._seen, self._written, self._steps = None, 0, 0, 0

    def on_train_begin(self, logs=None):
        if self._writer is None:
            graph = self.model.session().graph if self.write_graph else None
            self._writer = FileWriter(self.log_dir, graph)
        else:
            self._writer.reopen()

    def _write(self, prefix, logs, step):
        values = [
            Summary.Value(tag=f"{prefix}_{name}", simple_value=float(value))
            for name, value in logs.items()
            if name not in ("batch", "size", "num_steps")
        ]
        self._writer.add_summary(Summary(value=values), step)
        self._writer.flush()

    def on_batch_end(self, batch, logs=None):
        if self.update_freq == "epoch":
            return
        self._steps += 1
        self._seen += (logs or {}).get("size", 1)
        if self.update_freq == 1 or self._seen - self._written >= self.update_freq:
            self._write("batch", logs or {}, self._steps)
            self._written = self._seen

    def on_epoch_end(self, epoch, logs=None):
        self._write("epoch", logs or {}, epoch)

    def on_train_end(self, logs=None):
        self._writer.close()


class ReduceLROnPlateau(Callback):
    """Makes the rate smaller when a number no longer becomes better.

    Args:
      monitor: its name in the logs.
      factor: by what the rate is multiplied, less than 1.
      patience: how many epochs it may not become better.
      verbose: 1 to say so.
      mode: "min", "max", or "auto" for "max" where the name has "acc" in it.
      min_delta: how much better it must become.
      cooldown: how many epochs after that do not count.
      min_lr: the least rate.

    Raises:
      ValueError: if the factor is not less than 1.
    """

    def __init__(
        self,
        monitor="val_loss",
        factor=0.1,
        patience=10,
        verbose=0,
        mode="auto",
        min_delta=1e-4,
        cooldown=0,
        min_lr=0,
        **older,
    ):
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        is_max = mode == "max" or mode == "auto" and "acc" in monitor
        self.sign = 1 if is_max else -1
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_delta, self.cooldown = older.pop("epsilon", min_delta), cooldown
        self.min_lr = min_lr
        if older:
            raise TypeError(f"ReduceLROnPlateau() got an unexpected argument {sorted(older)[0]!r}")

    def on_train_begin(self, logs=None):
        self.best, self.wait, self.cooldown_counter = -np.inf, 0, 0

    def on_epoch_end(self, epoch, logs=None):
        logs = {} if logs is None else logs
        session, rate = self.model.session(), self.model.optimizer.lr
        logs["lr"] = old = float(session.run(rate))
        value = logs.get(self.monitor)
        if value is None:
            _warn_of(self, logs)
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.sign * value > self.best + self.min_delta:
            self.best, self.wait = self.sign * value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and old > self.min_lr:
                new = max(old * self.factor, self.min_lr)
                rate.load(new, session)
                if self.verbose:
                    print(
                        f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {new}."
                    )
                self.cooldown_counter, self.wait = self.cooldown, 0


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
            print(
                f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}."
            )


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
            _warn_of(self, logs or {})
            return
        if self.sign * value - self.min_delta > self.best:
            self.best, self.wait = self.sign * value, 0
            if self.restores:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.best_weights is not None:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs=None):
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ModelCheckpoint(Callback):
    """Saves the model, or its weights, after epochs.

    Args:
      filepath: where, with {epoch} and the names of the logs to be filled in.
      monitor, mode: what is best, as for EarlyStopping.
      verbose: 1 to print when it saves.
      save_best_only: True to save only when it has become better.
      save_weights_only: whether the weights are saved alone, instead of the model whole.
      save_freq: "epoch", or a number: it saves after the batch with which so many samples were seen.
      period: it saves after each so many epochs.
      load_weights_on_restart: must be False.

    Raises:
      ValueError: for another save_freq; NotImplementedError: for load_weights_on_restart; TypeError: for other
        arguments.
    """

    def __init__(
        self,
        filepath,
        monitor="val_loss",
        verbose=0,
        save_best_only=False,
        save_weights_only=False,
        mode="auto",
        save_freq="epoch",
        **older,
    ):
        is_max = mode == "max" or mode == "auto" and "acc" in monitor
        self.sign, self.best = (1 if is_max else -1), -np.inf
        self.filepath, self.monitor, self.verbose = filepath, monitor, verbose
        self.best_only, self.weights_only = save_best_only, save_weights_only
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self.save_freq, self.period = save_freq, older.pop("period", 1)
        if older.pop("load_weights_on_restart", False):
            raise NotImplementedError("load_weights_on_restart: load the weights before fit")
        if older:
            raise TypeError(f"ModelCheckpoint() got an unexpected argument {sorted(older)[0]!r}")
        self._epoch = self._epochs = self._samples = 0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_batch_end(self, batch, logs=None):
        if self.save_freq == "epoch":
            return
        self._samples += (logs or {}).get("size", 1)
        if self._samples >= self.save_freq:
            self._samples = 0
            self._save(self._epoch, logs or {})

    def on_epoch_end(self, epoch, logs=None):
        self._epochs += 1
        if self.save_freq == "epoch" and self._epochs >= self.period:
            self._epochs = 0
            self._save(epoch, logs or {})

    def _save(self, epoch, logs):
        path = str(self.filepath).format(**{**logs, "epoch": epoch + 1})
        if self.best_only:
            if self.monitor not in logs:
                _warn_of(self, logs)
                return
            before, now = self.sign * self.best, logs[self.monitor]
            if self.sign * now <= self.best:
                if self.verbose:
                    print(
                        f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {before:.5f}"
                    )
                return
            self.best = self.sign * now
            improved = f"{self.monitor} improved from {before:.5f} to {now:.5f}, "
        else:
            improved = ""
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: {improved}saving model to {path}")
        if self.weights_only:
            self.model.save_weights(path)
        else:
            self.model.save(path)


def _warn_of(callback, logs):
    warnings.warn(
        f"{type(callback).__name__} looks at `{callback.monitor}`, which is not available, and does nothing. "
        f"Available metrics are: {','.join(logs)}"
    )
