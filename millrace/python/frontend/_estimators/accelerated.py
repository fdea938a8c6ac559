"""TPUEstimator, where there are CPUs alone: the same program trains, with what is said of TPUs left aside.

So it is in TensorFlow with use_tpu=False: params get a batch size, metrics and host calls are functions of
tensors, and everything else is an Estimator's.
"""

import collections
import inspect

from millrace._estimators.accelerated_config import RunConfig
from millrace._estimators.estimator import Estimator
from millrace._estimators.features import argument_names
from millrace._estimators.mode_keys import ModeKeys
from millrace._estimators.spec import EstimatorSpec
from millrace._supervised.hook import SessionRunArgs, SessionRunHook

_BATCH_SIZE = "batch_size"
_CONTEXT = "context"
_USE_TPU = "use_tpu"

_FIELDS = (
    "mode predictions loss train_op eval_metrics export_outputs scaffold_fn host_call training_hooks "
    "evaluation_hooks prediction_hooks"
)


class TPUEstimatorSpec(collections.namedtuple("TPUEstimatorSpec", _FIELDS)):
    """A model as its function made it for one mode.

    Args:
      mode, predictions, loss, train_op, export_outputs, training_hooks, evaluation_hooks,
        prediction_hooks: as for EstimatorSpec.
      eval_metrics: (a function, its tensors: a list, or a dictionary by argument), which gives the
        dictionary of metrics that EstimatorSpec calls eval_metric_ops.
      scaffold_fn: a function that gives a Scaffold.
      host_call: (a function, its tensors) that gives an operation, or several, to run with each step of
        training.

    Raises:
      ValueError: for an eval_metrics or host_call of another form.
    """

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metrics=None,
        export_outputs=None,
        scaffold_fn=None,
        host_call=None,
        training_hooks=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        for name, call in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            if call is not None:
                _check_call(name, call)
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            eval_metrics,
            export_outputs,
            scaffold_fn,
            host_call,
            tuple(training_hooks or ()),
            tuple(evaluation_hooks or ()),
            tuple(prediction_hooks or ()),
        )

    def as_estimator_spec(self):
        """The EstimatorSpec that says the same."""
        training_hooks = self.training_hooks
        if self.host_call is not None and self.mode == ModeKeys.TRAIN:
            training_hooks += (_RunsBeside(_called(self.host_call)),)
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            training_hooks=training_hooks,
            scaffold=self.scaffold_fn() if self.scaffold_fn is not None else None,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


def _check_call(name, call):
    if not isinstance(call, (tuple, list)) or len(call) != 2:
        raise ValueError(f"{name} should be a tuple of a function and its tensors, it is {call}")
    function, tensors = call
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable, it is {function}")
    if not isinstance(tensors, (tuple, list, dict)):
        raise ValueError(f"{name}[1] should be a tuple, list or dict of tensors, it is {tensors}")
    if isinstance(tensors, (tuple, list)):
        try:
            inspect.signature(function).bind(*tensors)
        except TypeError as error:
            names = argument_names(function)
            raise RuntimeError(
                f"In TPUEstimatorSpec.{name}, length of tensors is {len(tensors)}, while the function "
                f"takes {len(names)}: {names}"
            ) from error


def _called(call):
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _RunsBeside(SessionRunHook):
    """Runs operations with each step."""

    def __init__(self, operations):
        self._operations = operations

    def before_run(self, run_context):
        return SessionRunArgs(self._operations)


class TPUEstimator(Estimator):
    """An Estimator for programs that were written for TPUs, on CPUs.

    model_fn must take `params`: params["batch_size"] is the size for the mode, params["use_tpu"] is False.
    It returns a TPUEstimatorSpec or an EstimatorSpec.

    Args:
      model_fn, model_dir, params, warm_start_from: as for Estimator.
      config: a tf.contrib.tpu.RunConfig.
      use_tpu: must be False.
      train_batch_size, eval_batch_size, predict_batch_size: for input_fn and model_fn, by mode.
      batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, embedding_config_spec,
        export_saved_model_api_version: of TPUs; left aside.

    Raises:
      NotImplementedError: if use_tpu is True, as it is by default.
      ValueError: for params that have a key of its own, a model_fn without params, another config.
    """

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        use_tpu=True,
        train_batch_size=None,
        eval_batch_size=None,
        predict_batch_size=None,
        batch_axis=None,
        eval_on_tpu=True,
        export_to_tpu=True,
        export_to_cpu=True,
        warm_start_from=None,
        embedding_config_spec=None,
        export_saved_model_api_version=None,
    ):
        if config is None or not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if use_tpu:
            raise NotImplementedError(
                "TPUEstimator: there are CPU devices alone here: pass use_tpu=False"
            )
        reserved = sorted({_BATCH_SIZE, _CONTEXT, _USE_TPU} & set(_items(params)))
        if reserved:
            raise ValueError(f"{reserved} are reserved keys but existed in params {params}.")
        if model_fn is not None and "params" not in argument_names(model_fn):
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, required by TPUEstimator to "
                'pass batch size as params["batch_size"]'
            )
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        super().__init__(model_fn, model_dir, config, params, warm_start_from)

    def _params_for(self, mode):
        params = super()._params_for(mode)
        _put(params, _USE_TPU, False)
        if self._batch_sizes[mode] is not None:
            _put(params, _BATCH_SIZE, self._batch_sizes[mode])
        return params

    def _spec_of(self, returned):
        if isinstance(returned, TPUEstimatorSpec):
            return returned.as_estimator_spec()
        return super()._spec_of(returned)


def _items(params):
    """The names in params: a dictionary's, or an HParams'."""
    return params.values() if hasattr(params, "add_hparam") else params or {}


def _put(params, name, value):
    if not hasattr(params, "add_hparam"):
        params[name] = value
    elif name in params:
        params.set_hparam(name, value)
    else:
        params.add_hparam(name, value)
