"""A model that compile made ready, one batch at a time."""

import numpy as np

from millrace._keras import batches, configs, objects, optimizer_names, sessions
from millrace._keras.inputs import Input
from millrace._keras.layer import Layer
from millrace._keras.training import Compiled, Trained
from millrace._values import structure


class CompiledModel(Layer):
    """The base of Fitted: what is trained by batches, once it has inputs and outputs.

    Attributes:
      inputs, outputs: lists of Tensors, or None before its first data or call; optimizer, loss: what compile
        was given.
      stop_training: set to True, it ends an epoch of `fit` with the batch, and `fit` with the epoch.
    """

    def __init__(self, **kwargs):
        self.inputs = self.outputs = None
        super().__init__(**kwargs)
        self.optimizer = self.loss = None
        self._trained = self._compiled = self._belonging = None
        self.stop_training = False

    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        metrics=None,
        loss_weights=None,
        sample_weight_mode=None,
        weighted_metrics=None,
        **unknown,
    ):
        """Says how it is trained. What is trainable now is what fit changes.

        Args:
          optimizer: a name, or an optimizer of tf.keras or tf.train.
          loss: a name, a function of (y_true, y_pred) or a Loss; for several outputs a list or a dictionary by
            their layers' names; outputs without one take no labels. None if `add_loss` says all.
          metrics: a list of names and functions, for several outputs also a list of lists or a dictionary;
            "accuracy" and "crossentropy" are those that fit, and "acc" and "ce" in logs, where others have their
            function's name ("mae" is "mean_absolute_error"). What a mask leaves out is not measured.
          loss_weights: numbers by which losses of several outputs count.
          sample_weight_mode: "temporal" if samples have a weight for each time, of shape [batch, time].
          weighted_metrics: metrics in which the weights of samples count; "weighted_..." in logs.

        Raises:
          TypeError: for other arguments; ValueError: for unknown names, and if there is no loss at all.
        """
        if unknown:
            raise TypeError(f"compile() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        self.optimizer, self.loss = optimizer_names.get(optimizer), loss
        self._compiled = Compiled(loss, metrics, loss_weights, sample_weight_mode, weighted_metrics)
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
            self._trained = Trained(self, self.optimizer, self._compiled)
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
    def compiled(self):
        """What compile was told, a Compiled; None before it."""
        return self._compiled

    @property
    def metrics_names(self):
        """The names of what evaluate and train_on_batch give."""
        return list(self._ready().names)

    def session(self):
        """The session that it runs in."""
        return sessions.get_session()

    def _data(self, x, y=None, sample_weight=None, class_weight=None):
        """All arrays of a batch or set: inputs, then labels and weights of each output with a loss."""
        if self.inputs is None:
            self._build_by(x if not isinstance(x, np.ndarray) else [x])
        goals = self._ready(x).goals
        arrays = self._input_arrays(x)
        names = [goal.name for goal in goals]
        if not goals:
            return arrays
        if y is None:
            raise ValueError(f"The model has losses of {names}, and there are no labels for these.")
        if isinstance(y, (list, tuple)) and len(y) == len(self.output_names) > len(names):
            y = [each for name, each in zip(self.output_names, y) if name in names]
        targets = batches.arrays_of(y, names, "target")
        if len(arrays[0]) != len(targets[0]):
            raise ValueError(
                "Input arrays should have the same number of samples as target arrays. Found "
                f"{len(arrays[0])} input samples and {len(targets[0])} target samples."
            )
        weights = batches.of_outputs(sample_weight, names)
        shares = batches.of_outputs(class_weight, names)
        for goal, target in zip(goals, targets):
            if not goal.target.shape.is_compatible_with(target.shape):
                raise ValueError(
                    f"Error when checking target: expected {goal.target.op.name} to have shape "
                    f"{goal.target.shape}, but got array with shape {target.shape}"
                )
        weights = [
            batches.weights_of(target, weight, share, goal.is_temporal)
            for goal, target, weight, share in zip(goals, targets, weights, shares)
        ]
        return [*arrays, *targets, *weights]

    def _input_arrays(self, x):
        arrays = batches.arrays_of(x, self.input_names, "input")
        return [_as_fed(a, tensor.shape) for a, tensor in zip(arrays, self.inputs)]

    def run_batch(self, what, arrays):
        """The numbers of a batch; `what` is "train" or "test"."""
        count, trained = len(self.inputs), self._ready()
        at = count + len(trained.goals)
        return getattr(trained, what)(arrays[:count], arrays[count:at], arrays[at:])

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True):
        """Trains one step; the loss and metrics of before it."""
        return self._on_batch("train", self._data(x, y, sample_weight, class_weight), reset_metrics)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True):
        """The loss and metrics of one batch."""
        return self._on_batch("test", self._data(x, y, sample_weight), reset_metrics)

    def _on_batch(self, what, data, resets):
        if resets:
            self._ready().reset()
        return alone(self.run_batch(what, data))

    def training_config(self):
        """How it was compiled, in plain values; None if it was not, or not by an optimizer of Keras's."""
        if self._compiled is None or not hasattr(self.optimizer, "get_config"):
            return None
        told = {
            name: configs.plain_value("", value) for name, value in vars(self._compiled).items()
        }
        return {**told, "optimizer_config": optimizer_names.serialize(self.optimizer)}

    def compile_from(self, config, custom_objects=None):
        """compile with what training_config gave."""
        with objects.custom_object_scope(custom_objects or {}):
            optimizer = optimizer_names.deserialize(config["optimizer_config"], custom_objects)
            told = {name: config.get(name) for name in vars(Compiled(*[None] * 5))}
            self.compile(optimizer, **told)

    def give_optimizer_state(self, values):
        """Gives the optimizer's weights values, a list; of one that did not train yet that of the steps alone,
        or none. ValueError if they do not fit."""
        if len(values) > 1:
            self._ready().train_step()  # makes the others
        if values:
            self.optimizer.set_weights(values)


def alone(values):
    """What is given for one alone, or the list."""
    return values if len(values) > 1 else values[0]


def _input_type(dtype):
    return "int32" if dtype.kind in "iub" and dtype.itemsize > 1 else "float32"


def _as_fed(array, shape):
    """Vectors became columns; a model whose inputs are vectors gets them as they were."""
    return array[:, 0] if shape.ndims == 1 and array.ndim == 2 else array
