"""Estimator: a model's function, trained, evaluated, asked and exported in graphs of their own."""

import copy
import logging
import os
import shutil
import tempfile
import time

import numpy as np

from millrace._cluster.device_setter import replica_device_setter
from millrace._estimators import replicas, warm_starts
from millrace._estimators.evaluating import StopAfterSteps, write_results
from millrace._estimators.export_outputs import signatures_of
from millrace._estimators.features import argument_names, called_input_fn
from millrace._estimators.mode_keys import MetricKeys, ModeKeys
from millrace._estimators.run_config import RunConfig
from millrace._estimators.spec import EstimatorSpec
from millrace._flow.control_flow import group
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection, get_collection
from millrace._graph.graph import Graph
from millrace._measures.means import mean
from millrace._ops.random_values import set_random_seed
from millrace._run.session import Session
from millrace._saved_models.builder import SavedModelBuilder
from millrace._saved_models.constants import EXTRA_ASSETS_DIRECTORY
from millrace._saved_models.tags import SERVING
from millrace._saving.checkpoint_reader import (
    CheckpointReader,
    list_variables,
    load_variable,
)
from millrace._saving.checkpoint_state import latest_checkpoint
from millrace._saving.saver import Saver
from millrace._summaries.building import scalar
from millrace._supervised.hook import SessionRunHook
from millrace._supervised.monitored_session import MonitoredSession
from millrace._supervised.saving_hooks import CheckpointSaverHook, CheckpointSaverListener
from millrace._supervised.scaffold import Scaffold
from millrace._supervised.session_creators import ChiefSessionCreator
from millrace._supervised.step_hooks import StopAtStepHook
from millrace._supervised.training_session import MonitoredTrainingSession
from millrace._supervised.value_hooks import FinalOpsHook, LoggingTensorHook, NanTensorHook
from millrace._train.global_steps import create_global_step

_log = logging.getLogger("millrace")

_MODEL_FN_ARGUMENTS = {"features", "labels", "mode", "params", "self", "config"}


class Estimator:
    """A model that is trained, evaluated, asked and exported.

    Args:
      model_fn: a function of features and, as far as it names them, labels, mode, params and config; it
        returns an EstimatorSpec.
      model_dir: the folder of checkpoints; the config's, or else a temporary one, if None.
      config: a tf.estimator.RunConfig.
      params: what model_fn and input_fns get as `params`.
      warm_start_from: a checkpoint, or WarmStartSettings, for the first values.

    Raises:
      ValueError: if model_fn takes other arguments, or two folders are named.
    """

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        _check_model_fn(model_fn, params)
        if config is not None and not isinstance(config, RunConfig):
            raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
        self._config = _in_folder(config or RunConfig(), model_dir)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start = _settings(warm_start_from)
        _log.info("Using config: %r", self._config)

    @property
    def model_dir(self):
        """The folder of checkpoints."""
        return self._config.model_dir

    @property
    def config(self):
        """A copy of the RunConfig."""
        return copy.copy(self._config)

    @property
    def params(self):
        """A copy of the parameters."""
        return copy.deepcopy(self._params)

    @property
    def warm_start_settings(self):
        """The WarmStartSettings, or None."""
        return self._warm_start

    @property
    def model_fn(self):
        """The function, of (features, labels, mode, config)."""

        def public_model_fn(features, labels, mode, config):
            return self._model(features, labels, mode, config)

        return public_model_fn

    def get_variable_value(self, name):
        """The value of a variable in the newest checkpoint."""
        return load_variable(self._trained(), name)

    def get_variable_names(self):
        """The names of all variables in the newest checkpoint."""
        return [name for name, _ in list_variables(self._trained())]

    def latest_checkpoint(self):
        """The path of the newest checkpoint, or None."""
        return latest_checkpoint(self.model_dir)

    def eval_dir(self, name=None):
        """The folder of an evaluation's summaries."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def _trained(self):
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError(
                f"Estimator has not been trained yet: {self.model_dir} has no checkpoint."
            )
        return path

    # ---- Training --------------------------------------------------------------------------------

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Trains the model, from its newest checkpoint on.

        Args:
          input_fn: gives features and labels: a tuple of both, or a data set of such tuples.
          hooks: SessionRunHooks.
          steps: how many steps; max_steps: up to which global step; the end of the input if both are None.
          saving_listeners: CheckpointSaverListeners.

        Returns:
          itself.

        Raises:
          ValueError: for both numbers, or one below 1.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        hooks = _checked(hooks, SessionRunHook, "hooks")
        listeners = _checked(saving_listeners, CheckpointSaverListener, "saving_listeners")
        if max_steps is not None:
            if self._saved_step() >= max_steps:
                _log.info("Skipping training since max_steps has already saved.")
                return self
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        loss = self._train(input_fn, hooks, listeners)
        _log.info("Loss for final step: %s.", loss)
        return self

    def _saved_step(self):
        path = self.latest_checkpoint()
        return int(CheckpointReader(path).get_tensor(GraphKeys.GLOBAL_STEP)) if path else 0

    def _train(self, input_fn, hooks, listeners):
        graph = Graph()
        strategy = self._config.train_distribute
        if strategy is not None:
            with graph.as_default(), strategy.scope(), strategy.extended.begun_apart():
                return self._train_replicas(strategy, input_fn, hooks, listeners)
        with graph.as_default(), graph.device(self._devices()):
            set_random_seed(self._config.tf_random_seed)
            step = create_global_step()
            features, labels, input_hooks = self._input(input_fn, ModeKeys.TRAIN)
            spec = self._model(features, labels, ModeKeys.TRAIN, self._config)
            return self._train_model(spec, step, [*input_hooks, *hooks], listeners)

    def _train_replicas(self, strategy, input_fn, hooks, listeners):
        """_train in a strategy's scope."""
        set_random_seed(self._config.tf_random_seed)
        step = create_global_step()
        mode = ModeKeys.TRAIN
        known = {"mode": mode, "params": self._params_for(mode), "config": self.config}
        features, labels, input_hooks = replicas.replica_input(strategy, input_fn, known)
        spec = replicas.trained_together(
            strategy,
            lambda *own: self._model(*own, mode, self._config),
            features,
            labels,
        )
        hooks = [*replicas.session_hooks(strategy), *input_hooks, *hooks]
        return self._train_model(spec, step, hooks, listeners)

    def _train_model(self, spec, step, hooks, listeners):
        config = self._config
        if self._warm_start:
            warm_starts.warm_start(*self._warm_start)
        if not any(tensor.op.name == "loss" for tensor in get_collection(GraphKeys.SUMMARIES)):
            scalar("loss", spec.loss)
        add_to_collection(GraphKeys.LOSSES, spec.loss)
        hooks = [*hooks, NanTensorHook(spec.loss)]
        if config.log_step_count_steps is not None:
            hooks.append(
                LoggingTensorHook(
                    {"loss": spec.loss, "step": step}, every_n_iter=config.log_step_count_steps
                )
            )
        hooks += spec.training_hooks
        if not (spec.scaffold.saver or get_collection(GraphKeys.SAVERS)):
            saver = Saver(
                sharded=True,
                max_to_keep=config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                defer_build=True,
                save_relative_paths=True,
            )
            add_to_collection(GraphKeys.SAVERS, saver)
        saves, initializes = True, config.is_chief
        if config.train_distribute is not None:
            saves = config.train_distribute.extended.should_checkpoint
            initializes = config.train_distribute.extended.experimental_should_init
        chief_hooks = []
        if saves:
            chief_hooks = [*spec.training_chief_hooks, *self._saving(spec, hooks, listeners)]
        loss = None
        with MonitoredTrainingSession(
            master=config.master,
            is_chief=initializes,
            checkpoint_dir=self.model_dir,
            scaffold=spec.scaffold,
            hooks=hooks,
            chief_only_hooks=chief_hooks,
            save_checkpoint_secs=None,
            save_summaries_steps=config.save_summary_steps if saves else None,
            config=config.session_config,
            log_step_count_steps=config.log_step_count_steps if saves else None,
            max_wait_secs=config.session_creation_timeout_secs,
        ) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        if loss is None:
            _log.warning(
                "Training with estimator made no steps. Perhaps input is empty or misspecified."
            )
        return loss

    def _saving(self, spec, hooks, listeners):
        """The hook that saves, if none is there, and whom it tells."""
        config = self._config
        there = [
            hook
            for hook in (*hooks, *spec.training_chief_hooks)
            if isinstance(hook, CheckpointSaverHook)
        ]
        made = []
        if not there and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            made = [
                CheckpointSaverHook(
                    self.model_dir,
                    save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps,
                    scaffold=spec.scaffold,
                )
            ]
        if listeners:
            if not there and not made:
                raise ValueError(
                    "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                    "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
                )
            (there or made)[0].add_listeners(listeners)
        return made

    def _devices(self):
        config = self._config
        if config.device_fn is not None:
            return config.device_fn
        if not config.num_ps_replicas:
            return ""
        return replica_device_setter(
            ps_tasks=config.num_ps_replicas,
            worker_device=f"/job:{config.task_type}/task:{config.task_id}",
            merge_devices=True,
            cluster=config.cluster_spec,
        )

    def _input(self, input_fn, mode):
        return called_input_fn(input_fn, mode, self._params_for(mode), self.config)

    def _params_for(self, mode):
        """A copy of the parameters, as functions get them in a mode."""
        return self.params

    def _spec_of(self, returned):
        """The EstimatorSpec of what model_fn returned. ValueError for anything else."""
        if not isinstance(returned, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return returned

    def _model(self, features, labels, mode, config):
        """The EstimatorSpec. ValueError if labels are given that model_fn does not take, or it gives another."""
        names = argument_names(self._model_fn)
        known = {"mode": mode, "params": self._params_for(mode), "config": config}
        arguments = {name: value for name, value in known.items() if name in names}
        if "labels" in names:
            arguments["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        _log.info("Calling model_fn.")
        return self._spec_of(self._model_fn(features=features, **arguments))

    def _checkpoint(self, given, what_for):
        """The given checkpoint or the newest; None, which the log tells, if there is none."""
        path = given or self.latest_checkpoint()
        if path is None:
            _log.info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self.model_dir,
                what_for,
            )
        return path

    # ---- Evaluation ------------------------------------------------------------------------------

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """What the model's metrics give for an input.

        Args:
          input_fn: as for `train`.
          steps: how many batches; all of the input if None.
          hooks: SessionRunHooks.
          checkpoint_path: the checkpoint; the newest if None.
          name: of the evaluation, if there are several.

        Returns:
          {name of a metric: its value}, with "loss" and "global_step".

        Raises:
          ValueError: for steps below 1.
        """
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        hooks = _checked(hooks, SessionRunHook, "hooks")
        path = self._checkpoint(checkpoint_path, "evaluate")
        with Graph().as_default():
            set_random_seed(self._config.tf_random_seed)
            step = create_global_step()
            features, labels, input_hooks = self._input(input_fn, ModeKeys.EVAL)
            spec = self._model(features, labels, ModeKeys.EVAL, self._config)
            values, update = _metrics(spec, step)
            final = FinalOpsHook(values)
            all_hooks = [*input_hooks, *hooks, *spec.evaluation_hooks]
            if steps is not None:
                all_hooks.append(StopAfterSteps(steps))
            creator = ChiefSessionCreator(
                spec.scaffold,
                self._config.evaluation_master,
                self._config.session_config if not self._config.cluster_spec else None,
                checkpoint_filename_with_path=path,
            )
            with MonitoredSession(creator, [*all_hooks, final]) as session:
                while not session.should_stop():
                    session.run(update)
        results = final.final_ops_values
        write_results(self.eval_dir(name), results, int(results[GraphKeys.GLOBAL_STEP]))
        return results

    # ---- Predictions -----------------------------------------------------------------------------

    def predict(
        self,
        input_fn,
        predict_keys=None,
        hooks=None,
        checkpoint_path=None,
        yield_single_examples=True,
    ):
        """Yields the model's predictions for an input.

        Args:
          input_fn: gives features; labels are left aside.
          predict_keys: which predictions, by name; all if None.
          hooks: SessionRunHooks.
          checkpoint_path: the checkpoint; the newest if None.
          yield_single_examples: False to yield whole batches.

        Raises:
          ValueError: if no prediction is left, or batches differ in length.
        """
        hooks = _checked(hooks, SessionRunHook, "hooks")
        path = self._checkpoint(checkpoint_path, "predict")
        with Graph().as_default():
            set_random_seed(self._config.tf_random_seed)
            create_global_step()
            features, _, input_hooks = self._input(input_fn, ModeKeys.PREDICT)
            spec = self._model(features, None, ModeKeys.PREDICT, self._config)
            wanted = _chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                spec.scaffold,
                config=self._config.session_config if not self._config.cluster_spec else None,
                checkpoint_filename_with_path=path,
            )
            all_hooks = [*input_hooks, *hooks, *spec.prediction_hooks]
            session = MonitoredSession(creator, all_hooks)
        with session:
            while not session.should_stop():
                found = session.run(wanted)
                if not yield_single_examples:
                    yield found
                elif isinstance(found, dict):
                    for index in range(_length(found)):
                        yield {key: value[index] for key, value in found.items()}
                else:
                    yield from found

    # ---- Export ----------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        experimental_mode=ModeKeys.PREDICT,
        strip_default_attrs=True,
    ):
        """Writes a SavedModel into a new folder, whose name is a time.

        Args:
          export_dir_base: where that folder is made.
          serving_input_receiver_fn: gives a ServingInputReceiver.
          assets_extra: {path in the folder's "assets.extra": file to copy there}.
          as_text: True for protocol text.
          checkpoint_path: the checkpoint; the newest if None.
          experimental_mode: must be ModeKeys.PREDICT.
          strip_default_attrs: True to leave attributes out that have their defaults.

        Returns:
          the path of the folder, as bytes.

        Raises:
          ValueError: if there is no checkpoint, or no signature can be served.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        if experimental_mode != ModeKeys.PREDICT:
            raise NotImplementedError("export_saved_model: experimental_mode= must be PREDICT")
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            raise ValueError(f"Couldn't find trained model at {self.model_dir}.")
        target = _new_folder(os.fspath(export_dir_base))
        unfinished = os.path.join(os.path.dirname(target), f"temp-{os.path.basename(target)}")
        with Graph().as_default():
            create_global_step()
            set_random_seed(self._config.tf_random_seed)
            receiver = serving_input_receiver_fn()
            spec = self._model(receiver.features, None, ModeKeys.PREDICT, self._config)
            signatures = signatures_of(receiver, spec.export_outputs)
            builder = SavedModelBuilder(unfinished)
            with Session() as session:
                saver = spec.scaffold.saver or Saver(sharded=True)
                saver.build()
                saver.restore(session, path)
                main_op = spec.scaffold.local_init_op
                builder.add_meta_graph_and_variables(
                    session,
                    [SERVING],
                    signature_def_map=signatures,
                    assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
                    main_op=Scaffold.default_local_init_op() if main_op is None else main_op,
                    strip_default_attrs=strip_default_attrs,
                    saver=spec.scaffold.saver,
                )
            builder.save(as_text)
        for name, source in (assets_extra or {}).items():
            copied = os.path.join(unfinished, EXTRA_ASSETS_DIRECTORY, name)
            os.makedirs(os.path.dirname(copied), exist_ok=True)
            shutil.copyfile(source, copied)
        os.rename(unfinished, target)
        return target.encode()

    def export_savedmodel(
        self,
        export_dir_base,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        strip_default_attrs=False,
    ):
        """As export_saved_model."""
        return self.export_saved_model(
            export_dir_base,
            serving_input_receiver_fn,
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs=strip_default_attrs,
        )


def _check_model_fn(model_fn, params):
    if model_fn is None:
        raise ValueError("model_fn must be provided to Estimator.")
    names = argument_names(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to "
            "Estimator."
        )
    others = sorted(set(names) - _MODEL_FN_ARGUMENTS)
    if others:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {others}")


def _in_folder(config, model_dir):
    """The config with the folder that it names, or `model_dir`, or a new one."""
    model_dir = os.fspath(model_dir) if model_dir is not None else None
    if model_dir is not None and config.model_dir is not None and model_dir != config.model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In "
            f"constructor: '{model_dir}', in `RunConfig`: '{config.model_dir}' "
        )
    folder = model_dir or config.model_dir
    if folder is None:
        folder = tempfile.mkdtemp()
        _log.warning("Using temporary folder as model directory: %s", folder)
    return config.replace(model_dir=folder)


def _settings(given):
    if given is None or isinstance(given, warm_starts.WarmStartSettings):
        return given
    if isinstance(given, (str, os.PathLike)):
        return warm_starts.WarmStartSettings(os.fspath(given))
    raise ValueError(
        "warm_start_from must be a string or a WarmStartSettings, instead got " f"{type(given)}"
    )


def _checked(items, kind, name):
    items = list(items or ())
    for item in items:
        if not isinstance(item, kind):
            raise TypeError(f"{name} must be a list of {kind.__name__}, given: {items}")
    return items


def _metrics(spec, step):
    """({name: the value in the end}, what each step runs)."""
    metrics = dict(spec.eval_metric_ops)
    if MetricKeys.LOSS in metrics:
        raise ValueError(
            f'Metric with name "{MetricKeys.LOSS}" is not allowed, because Estimator already defines a '
            "default metric with the same name."
        )
    metrics[MetricKeys.LOSS] = mean(spec.loss)
    values = {name: value for name, (value, _) in metrics.items()}
    if GraphKeys.GLOBAL_STEP in values:
        raise ValueError(
            "Metric with name `global_step` is not allowed: it is what an evaluation tells"
        )
    values[GraphKeys.GLOBAL_STEP] = step
    return values, group(*[update for _, update in metrics.values()])


def _chosen(predictions, keys):
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {list(predictions)}, provided {list(keys)}."
        )
    return chosen


def _length(values):
    lengths = {key: np.shape(value)[0] for key, value in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Batch length of predictions should be same. Lengths: {lengths}")
    return next(iter(lengths.values()))


def _new_folder(base):
    number = int(time.time())
    while any(os.path.exists(os.path.join(base, name)) for name in (str(number), f"temp-{number}")):
        number += 1
    return os.path.join(base, str(number))
