"""What compile, fit, evaluate and predict do with a model."""

import numpy as np

from millrace._keras import batches, configs, objects, optimizer_names, sessions
from millrace._keras.callbacks import History
from millrace._keras.inputs import Input
from millrace._keras.layer import Layer
from millrace._keras.training import Trained, phase_feed
from millrace._values import structure


class Fitted(Layer):
    """The base of Model: what is trained by data, once it has inputs and outputs.

    Attributes:
      inputs, outputs: lists of Tensors, or None before its first data or call; optimizer: what compile was
        given.
      stop_training: set to True, it ends `fit` after an epoch.
    """

    def __init__(self, **kwargs):
        self.inputs = self.outputs = None
        super().__init__(**kwargs)
        self.optimizer = self._trained = self._compiled = None
        self.stop_training = False

    def compile(self, optimizer, loss=None, metrics=None, loss_weights=None, **unknown):
        """Says how it is trained.

        Args:
          optimizer: a name, or an optimizer of tf.keras or tf.train.
          loss: a name, a function of (y_true, y_pred) or a Loss; for several outputs a list or a
            dictionary by their layers' names.
          metrics: a list of names and functions; "accuracy" is the one that fits.
          loss_weights: numbers by which losses of several outputs count.

        Raises:
          TypeError: for other arguments; ValueError: for unknown names.
        """
        if unknown:
            raise TypeError(f"compile() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        if loss is None:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        self.optimizer = optimizer_names.get(optimizer)
        self._compiled = (loss, metrics, loss_weights)
        self._trained = None
        if self.inputs is not None:
            self._ready()

    def _ready(self, inputs=None):
        """What trains it, made when its shapes are known."""
        if self._compiled is None:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, "
                "loss)`."
            )
        self._build_by(inputs)
        if self._trained is None:
            self._trained = Trained(self, self.optimizer, *self._compiled)
        return self._trained

    def _build_by(self, arrays):
        """Makes inputs and outputs of a class's own `call`, in the shapes of its first data."""
        if self.inputs is not None:
            return
        found = structure.flatten(arrays if isinstance(arrays, (list, tuple)) else [arrays])
        inputs = [
            Input(np.shape(each)[1:], dtype=_input_type(np.asarray(each).dtype)) for each in found
        ]
        self._given = inputs[0] if len(inputs) == 1 else inputs
        self._made = self._first_outputs(self._given)
        self.inputs, self.outputs = inputs, structure.flatten(self._made)
        self._path = []

    def _first_outputs(self, inputs):
        return self(inputs)

    @property
    def metrics_names(self):
        """The names of what evaluate and train_on_batch give."""
        return list(self._ready().names)

    def session(self):
        """The session that it runs in."""
        return sessions.get_session()

    def _data(self, x, y, sample_weight=None, class_weight=None):
        """All arrays of a batch or set: inputs, labels, weights."""
        if self.inputs is None:
            self._build_by(x if not isinstance(x, np.ndarray) else [x])
        trained = self._ready(x)
        inputs = batches.arrays_of(x, self.input_names, "input")
        inputs = [_as_fed(a, raw.shape) for a, raw in zip(inputs, self.inputs)]
        targets = batches.arrays_of(y, self.output_names, "target")
        if len(inputs[0]) != len(targets[0]):
            raise ValueError(
                "Input arrays should have the same number of samples as target arrays. Found "
                f"{len(inputs[0])} input samples and {len(targets[0])} target samples."
            )
        for target, wanted in zip(targets, trained.targets):
            if not wanted.shape.is_compatible_with(target.shape):
                raise ValueError(
                    f"Error when checking target: expected {wanted.op.name} to have shape "
                    f"{wanted.shape}, but got array with shape {target.shape}"
                )
        weights = batches.weights_of(len(inputs[0]), targets[0], sample_weight, class_weight)
        return [*inputs, *targets, weights]

    def _run(self, step, arrays):
        count = len(self.inputs)
        return step(arrays[:count], arrays[count:-1], arrays[-1])

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
            each epoch; validation_data: (x, y) or (x, y, weights) that is.
          shuffle: whether the samples come in another order in each epoch.
          class_weight: numbers by class; sample_weight: an array of numbers: by which losses count.
          steps_per_epoch: how many steps an epoch has, for iterators and Datasets.
          validation_steps: how many batches are evaluated, for iterators.

        Returns:
          a History.

        Raises:
          RuntimeError: if it was not compiled; ValueError: if arrays do not fit.
        """
        x = batches.iterator_of(x)
        is_iterator = batches.is_iterator(x)
        is_sequence = isinstance(x, batches.Sequence)
        if is_sequence and y is not None:
            raise ValueError("A Sequence gives its labels itself.")
        if is_iterator and (y is not None or steps_per_epoch is None):
            raise ValueError("An iterator needs steps_per_epoch, and gives its labels itself.")
        data = held_out = None
        if not is_iterator and not is_sequence:
            data = self._data(x, y, sample_weight, class_weight)
            if validation_split and validation_data is None:
                data, held_out = batches.split(data, validation_split)
        history = History()
        followers = [*(callbacks or []), history]
        size = batch_size or 32
        for follower in followers:
            follower.set_model(self)
            follower.set_params({"epochs": epochs, "verbose": verbose, "batch_size": size})
            follower.on_train_begin({})
        self.stop_training = False
        for epoch in range(initial_epoch, epochs):
            for follower in followers:
                follower.on_epoch_begin(epoch, {})
            if is_iterator:
                steps = (self._data(*each) for each in batches.steps(x, steps_per_epoch))
            elif is_sequence:
                steps = (self._data(*each) for each in x.batches(steps_per_epoch, shuffle))
            else:
                steps = batches.batches(data, size, shuffle)
            logs = self._epoch(steps, followers)
            if held_out is not None:
                self._validate(logs, self._means(batches.batches(held_out, size, False)))
            elif validation_data is not None:
                validation_data = batches.iterator_of(validation_data)
                self._validate(logs, self._evaluated(validation_data, size, validation_steps))
            if verbose:
                numbers = " - ".join(f"{name}: {value:.4f}" for name, value in logs.items())
                print(f"Epoch {epoch + 1}/{epochs} - {numbers}", flush=True)
            if is_sequence:
                x.on_epoch_end()
            for follower in followers:
                follower.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        for follower in followers:
            follower.on_train_end({})
        return history

    def _epoch(self, steps, followers):
        trained, total = None, None
        for number, arrays in enumerate(steps):
            if trained is None:
                trained = self._ready()
                trained.reset()
                total = _Mean(trained.running)
            for follower in followers:
                follower.on_train_batch_begin(number, {"batch": number, "size": len(arrays[-1])})
            values = self._run(trained.train, arrays)
            total.add(values, len(arrays[-1]))
            logs = dict(zip(trained.names, map(float, values)))
            for follower in followers:
                follower.on_train_batch_end(
                    number, {"batch": number, "size": len(arrays[-1]), **logs}
                )
        if total is None:
            raise ValueError("There are no samples.")
        return total.named(trained.names)

    def _validate(self, logs, values):
        logs.update((f"val_{name}", value) for name, value in values.items())

    def _means(self, steps):
        trained = self._ready()
        trained.reset()
        total = _Mean(trained.running)
        for arrays in steps:
            total.add(self._run(trained.test, arrays), len(arrays[-1]))
        return total.named(trained.names)

    def _evaluated(self, given, size, steps):
        if batches.is_iterator(given):
            if steps is None:
                raise ValueError("An iterator needs to be told how many steps to take.")
            return self._means(self._data(*each) for each in batches.steps(given, steps))
        if isinstance(given, batches.Sequence):
            return self._means(self._data(*each) for each in given.batches(steps, False))
        return self._means(batches.batches(self._data(*given), size, False))

    def fit_generator(self, generator, steps_per_epoch=None, epochs=1, **options):
        """fit of an iterator or Sequence. How many processes or threads prepare batches is accepted."""
        for name in ("max_queue_size", "workers", "use_multiprocessing"):
            options.pop(name, None)
        return self.fit(generator, steps_per_epoch=steps_per_epoch, epochs=epochs, **options)

    def evaluate_generator(self, generator, steps=None, callbacks=None, verbose=0, **unused):
        """evaluate of an iterator or Sequence."""
        return self.evaluate(generator, steps=steps, verbose=verbose)

    def predict_generator(self, generator, steps=None, callbacks=None, verbose=0, **unused):
        """predict of an iterator or Sequence."""
        return self.predict(generator, steps=steps)

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose=1,
        sample_weight=None,
        steps=None,
        callbacks=None,
    ):
        """The loss and metrics over all samples; the loss alone if there are no metrics.

        Args:
          x, y, batch_size, sample_weight: as for fit; steps: how many batches an iterator gives.
        """
        x = batches.iterator_of(x)
        is_whole = batches.is_iterator(x) or isinstance(x, batches.Sequence)
        given = x if is_whole else (x, y, sample_weight)
        found = list(self._evaluated(given, batch_size or 32, steps).values())
        return found if len(found) > 1 else found[0]

    def predict(self, x, batch_size=None, verbose=0, steps=None):
        """The outputs for arrays of inputs, an array or a list of them.

        Args:
          x: arrays; or an iterator, Dataset or Sequence that gives inputs, or tuples of inputs and others,
            for each of `steps` batches.
          batch_size: how many samples a step has; 32 if None.
        """
        x = batches.iterator_of(x)
        if batches.is_iterator(x) or isinstance(x, batches.Sequence):
            if batches.is_iterator(x) and steps is None:
                raise ValueError("An iterator needs to be told how many steps to take.")
            given = batches.steps(x, steps) if batches.is_iterator(x) else x.batches(steps, False)
            made = [self.predict(e[0] if isinstance(e, tuple) else e, batch_size) for e in given]
            if not made:
                raise ValueError("There are no samples.")
            if isinstance(made[0], list):
                return [np.concatenate(parts) for parts in zip(*made)]
            return np.concatenate(made)
        if self.inputs is None:
            self._build_by(x if not isinstance(x, np.ndarray) else [x])
        arrays = batches.arrays_of(x, self.input_names, "input")
        arrays = [_as_fed(a, tensor.shape) for a, tensor in zip(arrays, self.inputs)]
        session, feed = sessions.get_session(), phase_feed(False)
        states = self.state_updates
        parts = [
            session.run([self.outputs, states], {**dict(zip(self.inputs, rows)), **feed})[0]
            for rows in batches.batches(arrays, batch_size or 32, False)
        ]
        found = [np.concatenate(rows) for rows in zip(*parts)]
        return found if len(found) > 1 else found[0]

    predict_on_batch = predict

    def train_on_batch(self, x, y, sample_weight=None, class_weight=None):
        """Trains one step; the loss and metrics of before it."""
        data = self._data(x, y, sample_weight, class_weight)
        self._ready().reset()
        return _alone(self._run(self._ready().train, data))

    def test_on_batch(self, x, y, sample_weight=None):
        """The loss and metrics of one batch."""
        data = self._data(x, y, sample_weight)
        self._ready().reset()
        return _alone(self._run(self._ready().test, data))

    def training_config(self):
        """How it was compiled, in plain values; None if it was not, or not by an optimizer of Keras's."""
        if self._compiled is None or not hasattr(self.optimizer, "get_config"):
            return None
        loss, metrics, shares = self._compiled
        return {
            "loss": configs.plain_value("", loss),
            "metrics": configs.plain_value("", metrics),
            "weighted_metrics": None,
            "sample_weight_mode": None,
            "loss_weights": shares,
            "optimizer_config": optimizer_names.serialize(self.optimizer),
        }

    def compile_from(self, config, custom_objects=None):
        """compile with what training_config gave."""
        with objects.custom_object_scope(custom_objects or {}):
            optimizer = optimizer_names.deserialize(config["optimizer_config"], custom_objects)
            metrics = config.get("metrics")
            self.compile(optimizer, config["loss"], metrics, config.get("loss_weights"))

    def give_optimizer_state(self, values):
        """Gives the optimizer's weights values, a list; of one that did not train yet that of the steps alone,
        or none. ValueError if they do not fit."""
        if len(values) > 1:
            self._ready().train_step()  # makes the others
        if values:
            self.optimizer.set_weights(values)


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


def _alone(values):
    return values if len(values) > 1 else values[0]


def _input_type(dtype):
    return "int32" if dtype.kind in "iub" and dtype.itemsize > 1 else "float32"


def _as_fed(array, shape):
    """Vectors became columns; a model whose inputs are vectors gets them as they were."""
    return array[:, 0] if shape.ndims == 1 and array.ndim == 2 else array
