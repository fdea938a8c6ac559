"""tf.contrib.learn.monitors.ValidationMonitor: a model is evaluated while it trains, and may stop so."""

import logging

from millrace._saving.checkpoint_state import latest_checkpoint
from millrace._supervised.hook import SessionRunArgs, SessionRunHook
from millrace._train.global_steps import get_global_step

_log = logging.getLogger("millrace")


class ValidationMonitor(SessionRunHook):
    """Evaluates the model when it has saved a new checkpoint, and logs what it finds.

    It belongs to the `monitors` of a fit; how often there is a checkpoint its RunConfig says.

    Args:
      x, y, input_fn, batch_size, eval_steps, metrics, hooks, name: as for Estimator.evaluate.
      every_n_steps: how many steps there are at least from one look for a checkpoint to the next.
      early_stopping_rounds: training stops after so many steps without a better result; None for never.
      early_stopping_metric: what "better" is of; early_stopping_metric_minimize: True if lower is.
      check_interval_secs: accepted; steps alone decide.

    Attributes:
      best_step, best_value, best_metrics: of the best evaluation, None before the first.
      early_stopped: True once it has stopped the training.

    Raises:
      ValueError: without input.
    """

    def __init__(
        self,
        x=None,
        y=None,
        input_fn=None,
        batch_size=None,
        eval_steps=None,
        every_n_steps=100,
        metrics=None,
        hooks=None,
        early_stopping_rounds=None,
        early_stopping_metric="loss",
        early_stopping_metric_minimize=True,
        name=None,
        check_interval_secs=5,
    ):
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._given = dict(x=x, y=y, input_fn=input_fn, batch_size=batch_size)
        self._given.update(steps=eval_steps, metrics=metrics, hooks=hooks, name=name)
        self._every_n_steps = every_n_steps
        self._rounds = early_stopping_rounds
        self._metric, self._minimizes = early_stopping_metric, early_stopping_metric_minimize
        self._estimator = self._seen = self._looked = None
        self.best_step = self.best_value = self.best_metrics = None
        self.early_stopped = False

    def set_estimator(self, estimator):
        """The Estimator whose training it watches; fit tells it."""
        self._estimator = estimator

    def begin(self):
        if self._estimator is None:
            raise ValueError(
                "ValidationMonitor has no estimator: give it to fit(monitors=[...]), or call set_estimator"
            )
        self._step = get_global_step()
        self._looked = None

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        step = int(run_values.results)
        if self._looked is not None and step - self._looked < self._every_n_steps:
            return
        self._looked = step
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._seen:
            return
        self._seen = path
        found = self._estimator.evaluate(checkpoint_path=path, **self._given)
        _log.info("Validation (step %d): %s", step, found)
        if self._rounds is not None and self._is_stuck(step, found):
            self.early_stopped = True
            _log.info(
                "Stopping. Best step: %s with %s = %s.",
                self.best_step,
                self._metric,
                self.best_value,
            )
            run_context.request_stop()

    def _is_stuck(self, step, found):
        if self._metric not in found:
            raise ValueError(
                f"Metric {self._metric} missing from outputs {sorted(found)}; say early_stopping_metric="
            )
        value = found[self._metric]
        is_better = (
            self.best_value is None
            or self._minimizes
            and value < self.best_value
            or not self._minimizes
            and value > self.best_value
        )
        if is_better:
            self.best_step, self.best_value, self.best_metrics = step, value, found
        return step - self.best_step >= self._rounds
