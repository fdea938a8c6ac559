"""tf.contrib.learn.Experiment: a training with its evaluations, and learn_runner, which does a task's part of it."""

import time

from millrace._canned.learn_estimator import BaseEstimator
from millrace._canned.validation_monitors import ValidationMonitor
from millrace._estimators.estimator import Estimator
from millrace._estimators.run_config import TaskType
from millrace._run.server import Server
from millrace._values.hparams import HParams

_SECONDS_APART = 5
_MOST_SECONDS = 60


class Experiment:
    """An Estimator, its inputs, and how long it trains and is evaluated.

    Args:
      estimator: of tf.contrib.learn or of tf.estimator.
      train_input_fn, eval_input_fn: functions that give (features, labels).
      eval_metrics: as `metrics` of tf.contrib.learn's Estimator.evaluate; None for one of tf.estimator.
      train_steps: up to which global step it trains; the end of the input if None.
      eval_steps: how many batches an evaluation takes; all of the input if None.
      train_monitors, eval_hooks: hooks of both.
      eval_delay_secs: how long `evaluate` waits first.
      min_eval_frequency: train_and_evaluate looks for a new checkpoint every so many steps, and evaluates it; 0
        to evaluate only at the end. 1 if None.
      local_eval_frequency: the same for `local_run`; 0 if None.
      delay_workers_by_global_step, export_strategies, train_steps_per_iteration, checkpoint_and_export,
        saving_listeners: must not be given.
      continuous_eval_throttle_secs, check_interval_secs: accepted; steps alone decide when to look.

    Raises:
      ValueError: if the estimator is none, or metrics do not go with it. NotImplementedError: for what must not be
      given.
    """

    def __init__(
        self,
        estimator,
        train_input_fn,
        eval_input_fn,
        eval_metrics=None,
        train_steps=None,
        eval_steps=100,
        train_monitors=None,
        eval_hooks=None,
        local_eval_frequency=None,
        eval_delay_secs=120,
        continuous_eval_throttle_secs=60,
        min_eval_frequency=None,
        delay_workers_by_global_step=False,
        export_strategies=None,
        train_steps_per_iteration=None,
        checkpoint_and_export=False,
        saving_listeners=None,
        check_interval_secs=5,
    ):
        if not isinstance(estimator, (BaseEstimator, Estimator)):
            raise ValueError(
                "`estimator` must be of tf.contrib.learn or of tf.estimator, not " + repr(estimator)
            )
        if isinstance(estimator, Estimator):
            if eval_metrics is not None:
                raise ValueError(
                    "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use `eval_metric_ops` in "
                    "`tf.estimator.EstimatorSpec` instead."
                )
            estimator = BaseEstimator(estimator)
        for name, value in (
            ("delay_workers_by_global_step", delay_workers_by_global_step),
            ("export_strategies", export_strategies),
            ("train_steps_per_iteration", train_steps_per_iteration),
            ("checkpoint_and_export", checkpoint_and_export),
            ("saving_listeners", saving_listeners),
        ):
            if value:
                raise NotImplementedError(
                    f"Experiment: {name}= must not be given; tf.estimator.train_and_evaluate has exporters and "
                    "tells workers apart"
                )
        self._estimator = estimator
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._monitors, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._eval_delay_secs = eval_delay_secs
        self._frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._local_frequency = local_eval_frequency or 0

    @property
    def estimator(self):
        return self._estimator

    @property
    def train_steps(self):
        return self._train_steps

    @property
    def eval_steps(self):
        return self._eval_steps

    @property
    def eval_metrics(self):
        return self._eval_metrics

    def extend_train_hooks(self, additional_hooks):
        """Adds hooks to those of training."""
        self._monitors.extend(additional_hooks)

    def train(self, delay_secs=None):
        """Trains; gives the Estimator.

        Args:
          delay_secs: how long to wait first; by default 5 seconds for each task before this one, 60 at most.
        """
        config = self._estimator.config
        if delay_secs is None:
            delay_secs = min(_MOST_SECONDS, _SECONDS_APART * (config.task_id or 0))
        server = self._server() if config.cluster_spec and config.master else None
        try:
            if delay_secs:
                time.sleep(delay_secs)
            return self._train(self._monitors)
        finally:
            if server is not None:
                server.stop()

    def _train(self, monitors):
        return self._estimator.fit(
            input_fn=self._train_input_fn, max_steps=self._train_steps, monitors=monitors
        )

    def evaluate(self, delay_secs=None, name=None):
        """{name of a metric: its value} of the newest checkpoint.

        Args:
          delay_secs: how long to wait first; eval_delay_secs if None.
          name: of the evaluation; "one_pass" if None.
        """
        delay_secs = self._eval_delay_secs if delay_secs is None else delay_secs
        if delay_secs:
            time.sleep(delay_secs)
        return self._evaluate(name or "one_pass")

    def _evaluate(self, name):
        return self._estimator.evaluate(
            input_fn=self._eval_input_fn,
            steps=self._eval_steps,
            metrics=self._eval_metrics,
            name=name,
            hooks=self._eval_hooks,
        )

    def train_and_evaluate(self):
        """Trains, evaluates new checkpoints meanwhile and the last one at the end.

        Returns:
          (what the last evaluation found, []).
        """
        return self._train_with(self._frequency)

    def local_run(self):
        """train_and_evaluate with local_eval_frequency."""
        return self._train_with(self._local_frequency)

    def _train_with(self, frequency):
        monitors = list(self._monitors)
        if frequency:
            monitors.append(
                ValidationMonitor(
                    input_fn=self._eval_input_fn,
                    eval_steps=self._eval_steps,
                    every_n_steps=frequency,
                    metrics=self._eval_metrics,
                    hooks=self._eval_hooks,
                )
            )
        self._train(monitors)
        return self._evaluate(None), []

    def test(self):
        """One step of training and one of evaluation: (what the latter finds, [])."""
        self._estimator.fit(input_fn=self._train_input_fn, steps=1, monitors=self._monitors)
        found = self._estimator.evaluate(
            input_fn=self._eval_input_fn, steps=1, metrics=self._eval_metrics, name="one_pass"
        )
        return found, []

    def run_std_server(self):
        """Serves this task to the others until the process ends: what a ps does."""
        self._server().join()

    def _server(self):
        config = self._estimator.config
        if not config.cluster_spec or not config.task_type:
            raise ValueError(
                "Could not start server: TF_CONFIG has to name the cluster and which task of it this is"
            )
        return Server(
            config.cluster_spec, config.task_type, config.task_id, config=config.session_config
        )


def run(experiment_fn, output_dir=None, schedule=None, run_config=None, hparams=None):
    """Makes an Experiment and does this task's part of it.

    Args:
      experiment_fn: a function of output_dir=, or of (run_config, hparams), that gives the Experiment.
      output_dir: the folder; or run_config: a RunConfig with a model_dir, and hparams: an HParams or None.
      schedule: the name of a method of Experiment; by default "train_and_evaluate" of a process alone and of a
        master or chief, "train" of a worker, "run_std_server" of a ps.

    Returns:
      what the method gives.

    Raises:
      ValueError: for both ways to say the folder, or neither, or a schedule that is none; TypeError: if experiment_fn
      gives no Experiment.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError("Either `output_dir` or `run_config` has to be given, and not both")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if hparams is not None and (run_config is None or not isinstance(hparams, HParams)):
        raise ValueError("`hparams` must be an `HParams`, and go with `run_config`")
    if run_config is None:
        experiment = experiment_fn(output_dir=output_dir)
    else:
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        experiment = experiment_fn(run_config, hparams)
    if not isinstance(experiment, Experiment):
        raise TypeError(
            f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead."
        )
    schedule = schedule or _default_schedule(run_config or experiment.estimator.config)
    method = getattr(Experiment, schedule, None)
    if schedule.startswith("_") or not callable(method):
        names = [
            name
            for name, value in vars(Experiment).items()
            if callable(value) and not name.startswith("_")
        ]
        raise ValueError(
            f"Schedule references non-existent task {schedule}; schedules are {sorted(names)}"
        )
    return method(experiment)


def _default_schedule(config):
    jobs = config.cluster_spec.as_dict() if config.cluster_spec else {}
    if sum(len(tasks) for tasks in jobs.values()) < 2:
        return "train_and_evaluate"
    by_job = {
        TaskType.MASTER: "train_and_evaluate",
        TaskType.CHIEF: "train_and_evaluate",
        TaskType.PS: "run_std_server",
        TaskType.WORKER: "train",
    }
    if config.task_type not in by_job:
        raise ValueError(f"No default schedule for task type: {config.task_type}; say schedule=")
    return by_job[config.task_type]
