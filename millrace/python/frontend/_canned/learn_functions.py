"""What functions of the program give to the estimators of tf.contrib.learn: ModelFnOps, MetricSpec, InputFnOps."""

import collections

from millrace._canned.learn_modes import ModeKeys
from millrace._estimators.export_outputs import PredictOutput
from millrace._estimators.features import argument_names
from millrace._estimators.spec import EstimatorSpec
from millrace._graph.conversion import convert
from millrace._graph.operation import Operation
from millrace._ops.parsing import parse_example
from millrace._ops.arrays import placeholder
from millrace._saved_models.signature_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from millrace._values import dtypes

InputFnOps = collections.namedtuple("InputFnOps", ["features", "labels", "default_inputs"])
# The weights, labels and predictions of metrics go by these names, whatever else they are called.
_PREDICTIONS = ("predictions", "prediction", "predicted_classes", "predicted")
_LABELS = ("labels", "label", "targets", "target", "actual")
_WEIGHTS = ("weights", "weight")


class ModelFnOps(
    collections.namedtuple(
        "ModelFnOps",
        [
            "predictions",
            "loss",
            "train_op",
            "eval_metric_ops",
            "output_alternatives",
            "training_chief_hooks",
            "training_hooks",
            "scaffold",
            "mode",
        ],
    )
):
    """What a model function gives.

    Args:
      mode: one of tf.contrib.learn.ModeKeys.
      predictions: a Tensor or a dictionary of them; needed but for training.
      loss: a scalar; needed but for predictions.
      train_op: an Operation or Tensor; needed for training.
      eval_metric_ops: {name: (value, update)}.
      output_alternatives: {name: (a ProblemType, a dictionary of Tensors)}: what is served.
      training_chief_hooks, training_hooks: SessionRunHooks.
      scaffold: a Scaffold.

    Raises:
      ValueError: if something is missing for the mode.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        output_alternatives=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
    ):
        ModeKeys.validate(mode)
        for name, value, modes in (
            ("train_op", train_op, [ModeKeys.TRAIN]),
            ("loss", loss, [ModeKeys.TRAIN, ModeKeys.EVAL]),
            ("predictions", predictions, [ModeKeys.EVAL, ModeKeys.INFER]),
        ):
            if value is None and mode in modes:
                raise ValueError(f"Missing {name}.")
        if train_op is not None and not isinstance(train_op, Operation):
            train_op = convert(train_op).op
        return super().__new__(
            cls,
            predictions,
            None if loss is None else convert(loss),
            train_op,
            dict(eval_metric_ops or {}),
            output_alternatives,
            list(training_chief_hooks or ()),
            list(training_hooks or ()),
            scaffold,
            mode,
        )

    def estimator_spec(self, default_serving_output_alternative_key=None):
        """The same as a tf.estimator.EstimatorSpec."""
        outputs = None
        if self.output_alternatives:
            outputs = {
                name: PredictOutput(tensors)
                for name, (_, tensors) in self.output_alternatives.items()
            }
            default = default_serving_output_alternative_key or next(iter(outputs))
            outputs[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = outputs[default]
        elif self.mode == ModeKeys.INFER:
            given = self.predictions
            given = given if isinstance(given, dict) else {"predictions": given}
            outputs = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(given)}
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=self.eval_metric_ops,
            export_outputs=outputs,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


def as_spec(returned, mode):
    """The EstimatorSpec of what a model function returned: one, a ModelFnOps, or (predictions, loss, train_op).

    Raises:
      ValueError: for anything else.
    """
    if isinstance(returned, EstimatorSpec):
        return returned
    if not isinstance(returned, ModelFnOps):
        if not isinstance(returned, (tuple, list)) or len(returned) != 3:
            raise ValueError(
                f"Unrecognized value returned by model_fn, please return ModelFnOps: {returned!r}"
            )
        predictions, loss, train_op = returned
        returned = ModelFnOps(mode, predictions, loss, train_op)
    return returned.estimator_spec()


class MetricSpec:
    """A metric, and which predictions, labels and weights it is of.

    Args:
      metric_fn: a function such as those of tf.contrib.metrics. What is called labels, predictions or weights
        is found by name; predictions come first where nothing is called so.
      prediction_key, label_key: of dictionaries; None for what is a Tensor, or the one item of one.
      weight_key: of the features; None for no weights.
    """

    def __init__(self, metric_fn, prediction_key=None, label_key=None, weight_key=None):
        self._metric_fn = metric_fn
        self._prediction_key, self._label_key = prediction_key, label_key
        self._weight_key = weight_key

    @property
    def metric_fn(self):
        return self._metric_fn

    @property
    def prediction_key(self):
        return self._prediction_key

    @property
    def label_key(self):
        return self._label_key

    @property
    def weight_key(self):
        return self._weight_key

    def __str__(self):
        return (
            f"MetricSpec(metric_fn={getattr(self._metric_fn, '__name__', self._metric_fn)}, "
            f"prediction_key={self._prediction_key}, label_key={self._label_key}, "
            f"weight_key={self._weight_key})"
        )

    def create_metric_ops(self, inputs, labels, predictions):
        """(value, update), or what metric_fn gives else.

        Args:
          inputs: the features.
          labels, predictions: Tensors, or dictionaries of them.

        Raises:
          ValueError: if a key is needed or must not be; KeyError: if there is none such.
        """
        predictions = _chosen("prediction", predictions, self._prediction_key)
        labels = _chosen("label", labels, self._label_key)
        names = argument_names(self._metric_fn)
        by_name = {}
        for known, value in ((_PREDICTIONS, predictions), (_LABELS, labels)):
            found = [name for name in known if name in names]
            if found:
                by_name[found[0]] = value
        if self._weight_key is not None:
            found = [name for name in _WEIGHTS if name in names] or ["weights"]
            by_name[found[0]] = inputs[self._weight_key]
        is_named = any(name in names for name in _PREDICTIONS)
        if self._label_key is not None and not any(name in names for name in _LABELS):
            raise ValueError(f"{self}: no argument of the metric is called 'labels': {names}")
        unnamed = [] if is_named else [predictions]
        if unnamed and names and names[0] in by_name:  # labels come first
            unnamed.insert(0, by_name.pop(names[0]))
        return self._metric_fn(*unnamed, **by_name)


def _chosen(name, given, key):
    if key is not None:
        if not isinstance(given, dict):
            raise ValueError(
                f"MetricSpec with {name}_key specified requires {name}s dict, got {given}.\nYou must not "
                f"provide a {name}_key if you only have a single Tensor as {name}s."
            )
        if key not in given:
            raise KeyError(f"Key '{key}' missing from {sorted(given)}.")
        return given[key]
    if isinstance(given, dict):
        if len(given) != 1:
            raise ValueError(
                f"MetricSpec without specified {name}_key requires {name}s tensor or single element dict, "
                f"got {given}"
            )
        return next(iter(given.values()))
    return given


def build_parsing_serving_input_fn(feature_spec, default_batch_size=None):
    """A function without arguments that gives an InputFnOps of Examples as bytes, fed as "examples".

    Args:
      feature_spec: as for tf.parse_example.
      default_batch_size: how many Examples there are; None for any number.
    """

    def input_fn():
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return InputFnOps(parse_example(examples, feature_spec), None, {"examples": examples})

    return input_fn
