"""Models of Keras as Estimators: model_to_estimator."""

import logging

from millrace._estimators.estimator import Estimator
from millrace._estimators.mode_keys import ModeKeys
from millrace._estimators.spec import EstimatorSpec
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import add_to_collection
from millrace._keras import objects, optimizer_names, sessions
from millrace._keras.architectures import clone_model
from millrace._keras.saving import load_model
from millrace._keras.training import Trained
from millrace._measures.means import mean
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import shape
from millrace._supervised.scaffold import Scaffold
from millrace._train.global_steps import get_or_create_global_step
from millrace._values import dtypes

_log = logging.getLogger("millrace")


def model_to_estimator(
    keras_model=None,
    keras_model_path=None,
    custom_objects=None,
    model_dir=None,
    config=None,
    checkpoint_format="saver",
):
    """An Estimator that trains, evaluates and asks a compiled model of Keras.

    The model is made again in each graph of the Estimator; training begins with the values that it has now.
    Features are a Tensor, a list of them, or a dictionary by the names of the model's inputs; labels the same
    by its outputs. Predictions are a dictionary by outputs; metrics are those of `compile`.

    Args:
      keras_model: a compiled model between inputs and outputs, or a Sequential that knows its inputs.
      keras_model_path: the path of a saved one, in its place.
      custom_objects: {name: class or function} of what the model has of the program's own.
      model_dir, config: as for tf.estimator.Estimator.
      checkpoint_format: "saver", or "checkpoint", which is taken for it.

    Raises:
      ValueError: for both models or none, one that is not compiled, one with a `call` of its own, or another
        format.
    """
    if keras_model is None and keras_model_path is None:
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided.")
    if keras_model is not None and keras_model_path is not None:
        raise ValueError("Please specify either `keras_model` or `keras_model_path`, but not both.")
    if checkpoint_format not in (None, "saver", "checkpoint"):
        raise ValueError(f'checkpoint_format is "saver" or "checkpoint", not {checkpoint_format!r}')
    if keras_model is None:
        _log.info("Loading models from %s", keras_model_path)
        keras_model = load_model(keras_model_path, custom_objects)
    else:
        _log.info("Using the Keras model provided.")
    if keras_model.optimizer is None:
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the model with "
            "`model.compile()` before calling `model_to_estimator()`."
        )
    if keras_model.inputs is None:
        raise ValueError(
            "The given keras model does not know its inputs yet: give its first layer an input_shape, or "
            "make it of tf.keras.Input"
        )
    model_fn = _function_of(keras_model, keras_model.get_weights(), custom_objects)
    return Estimator(model_fn, model_dir=model_dir, config=config)


def _function_of(model, first_values, custom_objects):
    """The model_fn of a compiled model, whose variables begin with these values."""

    def model_fn(features, labels, mode):
        sessions.set_learning_phase(int(mode == ModeKeys.TRAIN))
        with objects.custom_object_scope(custom_objects or {}):
            given = _in_order(features, model.input_names, "features")
            given = [cast(each, old.dtype) for each, old in zip(given, model.inputs)]
            made = clone_model(model, given)
            predictions = dict(zip(made.output_names, made.outputs))
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=predictions)
            targets = _in_order(labels, made.output_names, "labels")
            optimizer = model.optimizer
            if hasattr(optimizer, "get_config"):
                optimizer = optimizer_names.deserialize(optimizer_names.serialize(optimizer))
            trained = Trained(made, optimizer, model.compiled.in_another_graph(), targets)
        if mode == ModeKeys.EVAL:
            metrics = _metrics_of(trained, given[0])
            return EstimatorSpec(mode, predictions, trained.loss, eval_metric_ops=metrics)
        train_op = trained.train_step(get_or_create_global_step())

        def give_first_values(scaffold, session):
            for variable, value in zip(made.weights, first_values):
                variable.load(value, session)

        return EstimatorSpec(
            mode,
            predictions,
            trained.loss,
            train_op,
            scaffold=Scaffold(init_fn=give_first_values),
        )

    return model_fn


def _in_order(given, names, what):
    """Tensors by a list of names, of one, a list or a dictionary of them."""
    if isinstance(given, dict):
        missing = [name for name in names if name not in given]
        if missing:
            raise KeyError(
                f"Difference between {what} and the model's names: there are no {missing} in {sorted(given)}"
            )
        given = [given[name] for name in names]
    elif not isinstance(given, (list, tuple)):
        given = [given]
    if len(given) != len(names):
        raise ValueError(f"The model has {names}, and was given {len(given)} {what}")
    return [convert(each) for each in given]


def _metrics_of(trained, rows):
    """{name: (value, update)} over all batches: metrics that are means of a batch count by its rows."""
    count = cast(shape(rows)[0], dtypes.float32)
    metrics = {}
    for index, name in enumerate(trained.names[1:], 1):
        number, running = trained.numbers[index - 1], trained.running.get(index)
        if running is None:
            metrics[name] = mean(number, weights=count)
            continue
        for variable in running.weights:
            add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
        metrics[name] = (running.result(), number)
    return metrics
