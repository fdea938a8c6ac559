"""tf.contrib.learn.Estimator and SKCompat: tf.estimator.Estimator with fit, and arrays where input functions go."""

import numpy as np

from millrace._canned.added_metrics import add_metrics
from millrace._canned.learn_functions import InputFnOps, MetricSpec, as_spec
from millrace._canned.learn_modes import NotFittedError
from millrace._cluster import run_config as cluster_config
from millrace._estimators import estimator as core
from millrace._estimators.array_inputs import numpy_input_fn
from millrace._estimators.export_outputs import (
    ServingInputReceiver,
    TensorServingInputReceiver,
)
from millrace._estimators.features import argument_names
from millrace._estimators.run_config import RunConfig
from millrace._graph.sparse_tensor import to_tensor_or_sparse
from millrace._ops.arrays import placeholder
from millrace._supervised.value_hooks import FeedFnHook
from millrace._values.structure import flatten, pack

_ARRAY = "x"
_SETTINGS = (
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_secs",
    "save_checkpoints_steps",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "session_config",
)


def core_config(config):
    """The tf.estimator.RunConfig of one of tf.contrib.learn; None stays None."""
    if config is None or isinstance(config, RunConfig):
        return config
    if not isinstance(config, cluster_config.RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config!r}.")
    given = {name: getattr(config, name) for name in _SETTINGS}
    return RunConfig(model_dir=config.model_dir, **given)


class BaseEstimator:
    """An Estimator of tf.contrib.learn, over one of tf.estimator.

    Args:
      estimator: the tf.estimator.Estimator.

    Attributes:
      model_dir: the folder of checkpoints.
      config: a copy of its tf.estimator.RunConfig.
    """

    def __init__(self, estimator):
        self._core = estimator

    @property
    def core(self):
        """The tf.estimator.Estimator that does the work."""
        return self._core

    @property
    def model_dir(self):
        return self._core.model_dir

    @property
    def config(self):
        return self._core.config

    @property
    def model_fn(self):
        """The model's function, of (features, labels, mode, config); it gives an EstimatorSpec."""
        return self._core.model_fn

    def get_variable_value(self, name):
        """The value of a variable in the newest checkpoint."""
        return self._core.get_variable_value(name)

    def get_variable_names(self):
        """The names of all variables in the newest checkpoint."""
        return self._core.get_variable_names()

    def fit(
        self,
        x=None,
        y=None,
        input_fn=None,
        steps=None,
        batch_size=None,
        monitors=None,
        max_steps=None,
    ):
        """Trains the model, from its newest checkpoint on.

        Args:
          x, y: arrays (or dictionaries of arrays) of features and labels, shuffled without end.
          input_fn: in place of both, a function that gives (features, labels).
          steps: how many steps; max_steps: up to which global step; the end of the input if both are None.
          batch_size: how many rows of arrays a step takes; 128 if None.
          monitors: SessionRunHooks, and what tf.contrib.learn.monitors has.

        Returns:
          itself.

        Raises:
          ValueError: for both x and input_fn, or neither; for both numbers of steps; for arrays without steps,
          which would have no end.
        """
        if x is not None and steps is None and max_steps is None:
            raise ValueError("fit: arrays have no end here; say steps= or max_steps=")
        input_fn = _input(x, y, input_fn, batch_size, trains=True)
        hooks = [_hook(monitor, self) for monitor in monitors or ()]
        self._core.train(input_fn, hooks=hooks, steps=steps, max_steps=max_steps)
        return self

    def partial_fit(self, x=None, y=None, input_fn=None, steps=1, batch_size=None, monitors=None):
        """fit, of one step by default."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x=None,
        y=None,
        input_fn=None,
        feed_fn=None,
        batch_size=None,
        steps=None,
        metrics=None,
        name=None,
        checkpoint_path=None,
        hooks=None,
        log_progress=True,
    ):
        """{name of a metric: its value}, with "loss" and "global_step".

        Args:
          x, y, input_fn: as for fit; arrays are read once, in their order.
          feed_fn: a function that gives a feed_dict for each step.
          batch_size: how many rows of arrays a step takes; all of them if None.
          steps: how many batches; all of the input if None.
          metrics: {name: MetricSpec, or a function of (predictions, labels)}; a name may be (name, key of the
            predictions).
          name: of the evaluation, if there are several.
          checkpoint_path: the checkpoint; the newest if None.
          hooks: SessionRunHooks.
          log_progress: accepted; hooks log.

        Raises:
          NotFittedError: if there is no checkpoint; ValueError: as fit, or if metrics are no dictionary or unclear.
        """
        if metrics is not None and not isinstance(metrics, dict):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics}.")
        input_fn = _input(x, y, input_fn, batch_size)
        self._trained(checkpoint_path)
        hooks = [*(hooks or ()), *([FeedFnHook(feed_fn)] if feed_fn else ())]
        measured = self._core
        if metrics:

            def added(features, labels, predictions):
                return _metric_ops(metrics, features, labels, predictions)

            measured = add_metrics(self._core, added)
        return measured.evaluate(input_fn, steps, hooks, checkpoint_path, name)

    def predict(
        self,
        x=None,
        input_fn=None,
        batch_size=None,
        outputs=None,
        as_iterable=True,
        iterate_batches=False,
    ):
        """The model's predictions: an iterator of those of each example.

        Args:
          x: an array (or dictionary of arrays); input_fn: a function that gives features, in its place.
          batch_size: how many rows of an array a step takes; all of them if None.
          outputs: the names of the wanted predictions; all if None.
          as_iterable: False for one array (or a dictionary of them) of the whole input.
          iterate_batches: True to iterate over batches.

        Raises:
          NotFittedError: if there is no checkpoint; ValueError: as fit, or for names that there are not.
        """
        input_fn = _input(x, None, input_fn, batch_size)
        self._trained(None)
        found = self._core.predict(
            input_fn, outputs, yield_single_examples=as_iterable and not iterate_batches
        )
        return found if as_iterable else _joined(list(found))

    def export_savedmodel(
        self,
        export_dir_base,
        serving_input_fn,
        default_output_alternative_key=None,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        strip_default_attrs=False,
    ):
        """Writes a SavedModel into a new folder, whose name is a time, and gives its path.

        Args:
          serving_input_fn: gives an InputFnOps, or a ServingInputReceiver.
          default_output_alternative_key: must be None: the model function decides it.
          the others: as for tf.estimator.Estimator.export_saved_model.

        Raises:
          NotFittedError: if there is no checkpoint; NotImplementedError: for default_output_alternative_key.
        """
        if default_output_alternative_key is not None:
            raise NotImplementedError(
                "export_savedmodel: default_output_alternative_key= must be None; the first of a ModelFnOps' "
                "output_alternatives is the default"
            )
        self._trained(checkpoint_path)

        def receiver():
            made = serving_input_fn()
            if not isinstance(made, InputFnOps):
                return made
            is_named = isinstance(made.features, dict)
            kind = ServingInputReceiver if is_named else TensorServingInputReceiver
            return kind(made.features, made.default_inputs)

        return self._core.export_saved_model(
            export_dir_base,
            receiver,
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs=strip_default_attrs,
        )

    def _trained(self, checkpoint_path):
        if not checkpoint_path and self._core.latest_checkpoint() is None:
            raise NotFittedError(f"Couldn't find trained model at {self.model_dir}.")


class Estimator(BaseEstimator):
    """An Estimator of a function of one's own.

    Args:
      model_fn: a function of (features, labels) and, as far as it names them, mode, params, config and
        model_dir; it gives a ModelFnOps, an EstimatorSpec, or (predictions, loss, train_op).
      model_dir: the folder of checkpoints.
      config: a RunConfig.
      params: what model_fn gets as `params`.
      feature_engineering_fn: a function of (features, labels) that gives what model_fn gets of both.

    Raises:
      ValueError: if there are params that model_fn does not take, or two folders are named.
    """

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        feature_engineering_fn=None,
    ):
        names = argument_names(model_fn)
        if params is not None and "params" not in names:
            raise ValueError(
                f"Estimator's model_fn ({model_fn}) does not have a params argument, but params ({params}) "
                "were passed to the Estimator's constructor."
            )

        def adapted(features, labels, mode, params, config):
            labels = self._labels(labels)
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            known = {
                "mode": mode,
                "params": params,
                "config": config,
                "model_dir": self.model_dir,
            }
            given = {name: value for name, value in known.items() if name in names}
            return as_spec(model_fn(features, labels, **given), mode)

        super().__init__(core.Estimator(adapted, model_dir, core_config(config), params))
        self.params = params
        self._makes_labels = None  # until they have been seen

    def _labels(self, labels):
        """The labels; where there are none, to predict, placeholders like those that were seen before.

        Model functions that do not look at their mode read them in any case.
        """
        if labels is not None:
            kinds = [(each.dtype, each.shape) for each in map(to_tensor_or_sparse, flatten(labels))]
            self._makes_labels = lambda: pack(labels, [placeholder(*kind) for kind in kinds])
            return labels
        return None if self._makes_labels is None else self._makes_labels()


class SKCompat:
    """An Estimator as scikit-learn has them: arrays in, arrays out.

    Args:
      estimator: an Estimator of tf.contrib.learn.
    """

    def __init__(self, estimator):
        self._estimator = estimator

    def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None):
        """Trains by arrays; arguments and errors as for Estimator.fit. Gives itself."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None):
        """The metrics for arrays, as Estimator.evaluate; without the global step."""
        found = self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name or "score"
        )
        return {key: value for key, value in found.items() if key != "global_step"}

    def predict(self, x, batch_size=128, outputs=None):
        """The predictions for an array: an array, or a dictionary of them."""
        return self._estimator.predict(x, batch_size=batch_size, outputs=outputs, as_iterable=False)


def _hook(monitor, estimator):
    """A monitor that is told whose training it watches."""
    if hasattr(monitor, "set_estimator"):
        monitor.set_estimator(estimator)
    return monitor


def _metric_ops(metrics, features, labels, predictions):
    """{name: (value, update)} of what a program says of metrics."""
    found = {}
    for name, metric in metrics.items():
        name, key = name if isinstance(name, tuple) else (name, None)
        if isinstance(metric, MetricSpec):
            found[name] = metric.create_metric_ops(features, labels, predictions)
        elif key is None and isinstance(predictions, dict):
            raise ValueError(
                "Metrics passed provide only name, no prediction, but predictions are "
                f"{sorted(predictions)}: say ({name!r}, one of them) instead of {name!r}"
            )
        else:
            found[name] = metric(predictions if key is None else predictions[key], labels)
    return found


def _joined(batches):
    """Arrays of batches as one, or dictionaries of them."""
    if not batches:
        return np.zeros([0])
    if isinstance(batches[0], dict):
        return {key: np.concatenate([each[key] for each in batches]) for key in batches[0]}
    return np.concatenate(batches)


def _input(x, y, input_fn, batch_size, trains=False):
    """The input function that is meant."""
    if (x is None) == (input_fn is None):
        raise ValueError("Either x or input_fn must be provided, and not both.")
    if input_fn is not None:
        if y is not None or batch_size is not None:
            raise ValueError("With input_fn, neither y nor batch_size can be given.")
        return input_fn
    rows, labels = _as_rows(x), None if y is None else _as_rows(y)
    count = len(next(iter(rows.values())) if isinstance(rows, dict) else rows)
    named = rows if isinstance(rows, dict) else {_ARRAY: rows}
    made = numpy_input_fn(
        named,
        labels,
        batch_size or (128 if trains else max(count, 1)),
        num_epochs=None if trains else 1,
        shuffle=trains,
    )

    def from_arrays():
        given = made()
        features, found = given if labels is not None else (given, None)
        return (features if isinstance(rows, dict) else features[_ARRAY]), found

    return from_arrays


def _as_rows(value):
    """Arrays as models take them: floats of 32 bits."""
    if isinstance(value, dict):
        return {key: _as_rows(each) for key, each in value.items()}
    if not isinstance(value, (np.ndarray, list, tuple)) and not hasattr(value, "__array__"):
        raise ValueError(
            f"x and y are arrays or dictionaries of arrays, not {value!r}; use input_fn="
        )
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array
