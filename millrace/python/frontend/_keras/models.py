"""Model and Sequential: layers that are trained together."""

import numpy as np

from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._keras import batches, calls, optimizer_names, sessions
from millrace._keras.callbacks import History
from millrace._keras.layer import Input, InputLayer, Layer
from millrace._keras.training import Trained, phase_feed
from millrace._saving.saver import Saver
from millrace._values import structure


class Model(Layer):
    """Layers between inputs and outputs, which compile, fit, evaluate and predict work on.

        x = tf.keras.Input([784])
        model = tf.keras.Model(x, tf.keras.layers.Dense(10, activation="softmax")(x))

    A class that derives from it may instead have layers as attributes and define `call(inputs)`; it is
    built when it is first called, or by its first data.

    Args:
      inputs: what tf.keras.Input gave, one or a list.
      outputs: what layers made of them, one or a list.
      name: its name.

    Attributes:
      layers: its layers; inputs, outputs: lists of Tensors; optimizer: what compile was given.
      stop_training: set to True, it ends `fit` after an epoch.

    Raises:
      ValueError: if an output is not made of the inputs by layers.
    """

    def __init__(self, inputs=None, outputs=None, name=None, **kwargs):
        self.layers, self.inputs, self.outputs, self._path = [], None, None, None
        super().__init__(name=name, **kwargs)
        self.optimizer = self._trained = self._compiled = self._saved = None
        self.stop_training = False
        if (inputs is None) != (outputs is None):
            raise ValueError("A model needs both inputs and outputs, or neither.")
        if inputs is not None:
            self._connect(inputs, outputs)

    def _connect(self, inputs, outputs):
        self._given, self._made = inputs, outputs
        self.inputs, self.outputs = structure.flatten(inputs), structure.flatten(outputs)
        self._path = calls.between(inputs, outputs)
        for call in self._path:
            self._add_layer(call.layer)
        self.built = True

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if not name.startswith("_") and name not in ("layers", "inputs", "outputs"):
            for each in structure.flatten(value):
                if isinstance(each, Layer):
                    self._add_layer(each)

    def _add_layer(self, layer):
        if not any(layer is each for each in self.layers):
            self.layers.append(layer)

    @property
    def output_names(self):
        """The names of the layers that give the outputs; with a number where one gives several."""
        names = []
        for tensor in self.outputs or []:
            made_by = [call.layer.name for call in self._path if tensor in _tensors(call.outputs)]
            name = made_by[-1] if made_by else tensor.op.name
            names.append(name if name not in names else f"{name}_{len(names)}")
        return names

    @property
    def input_names(self):
        return [tensor.op.name for tensor in self.inputs or []]

    @property
    def output(self):
        """Its output; a list if there are several."""
        return self._needs_tensors().outputs[0] if len(self.outputs) == 1 else self.outputs

    @property
    def input(self):
        return self._needs_tensors().inputs[0] if len(self.inputs) == 1 else self.inputs

    def _needs_tensors(self):
        if self.inputs is None:
            raise AttributeError(f"Model {self.name} has no inputs yet: call it, or fit it, first.")
        return self

    def call(self, inputs):
        if self._path is None:
            raise NotImplementedError(
                f"Model {self.name} has neither inputs and outputs nor a `call` of its own."
            )
        return calls.again(self._path, self._given, inputs, self._made)

    def get_layer(self, name=None, index=None):
        """A layer by its name or number. ValueError if there is none."""
        if index is not None:
            if index >= len(self.layers):
                raise ValueError(f"Was asked for layer {index}, but there are {len(self.layers)}.")
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"No such layer: {name}; there are {[layer.name for layer in self.layers]}"
        )

    # ---- Of all layers ---------------------------------------------------------------------------

    def _of_layers(self, what, own):
        found = [each for layer in self.layers for each in getattr(layer, what)] + own
        return [each for i, each in enumerate(found) if not any(each is e for e in found[:i])]

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        return self._of_layers("trainable_weights", super().trainable_weights)

    @property
    def non_trainable_weights(self):
        kept = self._of_layers("non_trainable_weights", super().non_trainable_weights)
        if self.trainable:
            return kept
        # Its own, those that would train included, are in `kept`.
        return self._of_layers("trainable_weights", []) + kept

    @property
    def losses(self):
        return self._of_layers("losses", super().losses)

    @property
    def updates(self):
        return self._of_layers("updates", super().updates) if self.trainable else []

    def count_params(self):
        """The number of elements of all its variables."""
        return _count(self.weights)

    def summary(self, line_length=65, positions=None, print_fn=None):
        """Prints its layers: their outputs' shapes and how many parameters they have."""
        write = print_fn or print
        write(f'Model: "{self.name}"')
        write("_" * line_length)
        write(f"{'Layer (type)':29}{'Output Shape':26}Param #")
        write("=" * line_length)
        for layer in self.layers:
            try:
                shape = layer.output_shape
            except AttributeError:
                shape = "multiple"
            kind = f"{layer.name} ({type(layer).__name__})"
            write(f"{kind:29}{str(shape):26}{_count(layer.weights)}")
        write("=" * line_length)
        write(f"Total params: {self.count_params():,}")
        write(f"Trainable params: {_count(self.trainable_weights):,}")
        write(f"Non-trainable params: {_count(self.non_trainable_weights):,}")

    # ---- Training --------------------------------------------------------------------------------

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
        is_iterator = hasattr(x, "__next__")
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
        if hasattr(given, "__next__"):
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
        is_whole = hasattr(x, "__next__") or isinstance(x, batches.Sequence)
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
        if hasattr(x, "__next__") or isinstance(x, batches.Sequence):
            if hasattr(x, "__next__") and steps is None:
                raise ValueError("An iterator needs to be told how many steps to take.")
            given = batches.steps(x, steps) if hasattr(x, "__next__") else x.batches(steps, False)
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
        parts = [
            session.run(self.outputs, {**dict(zip(self.inputs, rows)), **feed})
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

    # ---- Files -----------------------------------------------------------------------------------

    def save_weights(self, filepath, overwrite=True, save_format=None):
        """Saves its variables in a checkpoint, by their names. NotImplementedError for HDF5."""
        _check_format(filepath, save_format)
        self._saver().save(sessions.get_session(), str(filepath), write_meta_graph=False)

    def load_weights(self, filepath):
        """Gives its variables the values that save_weights saved."""
        _check_format(filepath, None)
        self._saver().restore(sessions.get_session(), str(filepath))

    def _saver(self):
        """One Saver for the same variables: each adds nodes to the graph."""
        if self._saved is None or self._saved[0] != self.weights:
            self._saved = self.weights, Saver(self.weights, max_to_keep=None)
        return self._saved[1]

    def save(self, filepath, *unused, **options):
        """NotImplementedError: the weights alone can be saved."""
        raise NotImplementedError(
            f"Models are not saved whole ({filepath}): save_weights keeps the variables, and the program "
            "builds the model again."
        )


def _check_format(path, save_format):
    if save_format in ("h5", "hdf5") or str(path).endswith((".h5", ".hdf5", ".keras")):
        raise NotImplementedError(
            f"HDF5 files are not written or read ({path}): give a name without .h5 for a checkpoint"
        )


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


def _tensors(values):
    return {each for each in structure.flatten(values) if isinstance(each, Tensor)}


def _count(variables):
    return sum(int(np.prod(each.shape.as_list(), dtype=np.int64)) for each in variables)


def _alone(values):
    return values if len(values) > 1 else values[0]


def _input_type(dtype):
    return "int32" if dtype.kind in "iub" and dtype.itemsize > 1 else "float32"


def _as_fed(array, shape):
    """Vectors became columns; a model whose inputs are vectors gets them as they were."""
    return array[:, 0] if shape.ndims == 1 and array.ndim == 2 else array


class Sequential(Model):
    """Layers one after the other.

    Args:
      layers: a list of them.
      name: its name.

    It is built when its first layer says the shape of its inputs, or by its first data.
    """

    def __init__(self, layers=None, name=None):
        super().__init__(name=name)
        self._last = None
        for layer in layers or []:
            self.add(layer)

    def add(self, layer):
        """Puts a layer behind the others. TypeError if it is none."""
        layer = layer.tensor if isinstance(layer, InputLayer) else layer
        if isinstance(layer, Tensor) and calls.is_remembered(layer) and not self.layers:
            self._last = layer
            self._begin = layer
            return
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if self._last is None and not self.layers:
            shape = getattr(layer, "batch_input_shape", None)
            if isinstance(layer, Model) and layer.inputs is not None:
                shape = layer.inputs[0].shape.as_list()
            if shape is not None:
                self._last = self._begin = Input(batch_shape=shape, name=f"{layer.name}_input")
        self._add_layer(layer)
        if self._last is not None:
            self._last = layer(self._last)
            self._connect(self._begin, self._last)
            self._trained = None

    def pop(self):
        """Takes the last layer away. TypeError if there is none."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        layer = self.layers.pop()
        if self._last is not None:
            self._last = layer.input
            self._trained = None
            if self.layers:
                kept = list(self.layers)
                self._connect(self._begin, self._last)
                self.layers = kept

    def build(self, input_shape=None):
        """Makes the variables for inputs of a shape, batch included."""
        if self.inputs is None and input_shape is not None:
            self._begin = Input(batch_shape=input_shape)
            self._first_outputs(self._begin)
        self.built = True

    def call(self, inputs):
        for layer in self.layers:
            inputs = layer(convert(inputs))
        return inputs

    def _first_outputs(self, inputs):
        made = inputs
        for layer in self.layers:
            made = layer(made)
        self._begin, self._last = inputs, made
        self._connect(inputs, made)
        return made

    def _build_by(self, arrays):
        if self.inputs is None:
            super()._build_by(arrays)
            self._path = calls.between(self._begin, self._last)

    def predict_classes(self, x, batch_size=32, verbose=0):
        """The class of each sample: the largest output, or whether one output is above a half."""
        made = self.predict(x, batch_size)
        return made.argmax(-1) if made.shape[-1] > 1 else (made > 0.5).astype("int32")

    def predict_proba(self, x, batch_size=32, verbose=0):
        """predict."""
        return self.predict(x, batch_size)
