"""Hooks that end a training when its evaluations tell that enough is learned, in all workers at once."""

import contextlib
import logging
import operator

from millrace._estimators.estimator import Estimator
from millrace._files import paths
from millrace._state.assignments import assign
from millrace._state.initializers import constant_initializer
from millrace._state.named_variables import AUTO_REUSE, get_variable, variable_scope
from millrace._state.variables import is_variable_initialized
from millrace._summaries.file_writer import summary_iterator
from millrace._supervised.hook import SessionRunArgs, SessionRunHook
from millrace._supervised.timers import SecondOrStepTimer
from millrace._train.global_steps import get_global_step
from millrace._values import dtypes, errors

_log = logging.getLogger("millrace")


def make_early_stopping_hook(estimator, should_stop_fn, run_every_secs=60, run_every_steps=None):
    """A hook that ends the training of an Estimator, in all tasks, once a function says so.

    Args:
      estimator: the Estimator, to whose `train` the hook is given in each task.
      should_stop_fn: a function without arguments, which the chief calls; True to end.
      run_every_secs: how often it is called; None if run_every_steps is given.
      run_every_steps: after how many steps it is called.

    Raises:
      TypeError: for another estimator; ValueError: for both or none of the times.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}"
        )
    if (run_every_secs is None) == (run_every_steps is None):
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _Deciding(should_stop_fn, run_every_secs, run_every_steps)
    return _Following()


def _threshold_hook(name, compare, word):
    def hook(
        estimator,
        metric_name,
        threshold,
        eval_dir=None,
        min_steps=0,
        run_every_secs=60,
        run_every_steps=None,
    ):
        folder = eval_dir or estimator.eval_dir()

        def should_stop():
            for step, value in _measured(folder, metric_name, min_steps):
                if compare(value, threshold):
                    _log.info(
                        "The metric '%s' at step %s is %s, %s than %s: training ends.",
                        metric_name,
                        step,
                        value,
                        word,
                        threshold,
                    )
                    return True
            return False

        return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)

    hook.__name__ = hook.__qualname__ = name
    hook.__doc__ = f"""A hook that ends the training of an Estimator once a metric is {word} than a threshold.

    Args:
      estimator: the Estimator.
      metric_name: of the metric, as evaluations call it.
      threshold: a number.
      eval_dir: the folder of the evaluations' summaries; the Estimator's own if None.
      min_steps: evaluations of earlier steps don't count.
      run_every_secs, run_every_steps: as for make_early_stopping_hook.
    """
    return hook


stop_if_higher_hook = _threshold_hook("stop_if_higher_hook", operator.gt, "higher")
stop_if_lower_hook = _threshold_hook("stop_if_lower_hook", operator.lt, "lower")


def _without_better(is_better, word, estimator, metric_name, patience, folder, min_steps, *times):
    """The hook that ends the training so many steps after the metric was best."""
    folder = folder or estimator.eval_dir()

    def should_stop():
        best, best_step = None, None
        for step, value in _measured(folder, metric_name, min_steps):
            if best is None or is_better(value, best):
                best, best_step = value, step
            if step - best_step >= patience:
                _log.info(
                    "No %s of metric '%s' for %s steps since step %s: training ends.",
                    word,
                    metric_name,
                    step - best_step,
                    best_step,
                )
                return True
        return False

    return make_early_stopping_hook(estimator, should_stop, *times)


def stop_if_no_increase_hook(
    estimator,
    metric_name,
    max_steps_without_increase,
    eval_dir=None,
    min_steps=0,
    run_every_secs=60,
    run_every_steps=None,
):
    """A hook that ends the training of an Estimator when a metric has not grown for so many steps.

    Args:
      estimator: the Estimator.
      metric_name: of the metric, as evaluations call it.
      max_steps_without_increase: that many steps.
      eval_dir, min_steps, run_every_secs, run_every_steps: as for stop_if_higher_hook.
    """
    return _without_better(
        operator.gt,
        "increase",
        estimator,
        metric_name,
        max_steps_without_increase,
        eval_dir,
        min_steps,
        run_every_secs,
        run_every_steps,
    )


def stop_if_no_decrease_hook(
    estimator,
    metric_name,
    max_steps_without_decrease,
    eval_dir=None,
    min_steps=0,
    run_every_secs=60,
    run_every_steps=None,
):
    """A hook that ends the training of an Estimator when a metric has not fallen for so many steps.

    Args:
      estimator: the Estimator.
      metric_name: of the metric, as evaluations call it.
      max_steps_without_decrease: that many steps.
      eval_dir, min_steps, run_every_secs, run_every_steps: as for stop_if_higher_hook.
    """
    return _without_better(
        operator.lt,
        "decrease",
        estimator,
        metric_name,
        max_steps_without_decrease,
        eval_dir,
        min_steps,
        run_every_secs,
        run_every_steps,
    )


def read_eval_metrics(folder):
    """{step: {name: number}} of all evaluations whose summaries are in a folder, by step."""
    found = {}
    for path in paths.matching(paths.join(paths.literal(folder), "*tfevents*")):
        with contextlib.suppress(errors.DataLossError):  # the last event is being written, say
            for event in summary_iterator(path):
                for value in event.summary.value:
                    if value.HasField("simple_value"):
                        found.setdefault(event.step, {})[value.tag] = value.simple_value
    return dict(sorted(found.items()))


def _measured(folder, name, min_steps):
    """(step, number) of a metric's evaluations."""
    for step, metrics in read_eval_metrics(folder).items():
        if step >= min_steps and name in metrics:
            yield step, metrics[name]


class _Signal(SessionRunHook):
    """What the chief sets for all to see: a variable beside the model's.

    It is no variable of the model: a checkpoint from before the hook was used has none, and one of a training
    that was stopped must not stop the next.
    """

    def begin(self):
        with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
            self._signal = get_variable(
                "STOP",
                shape=[],
                dtype=dtypes.bool,
                initializer=constant_initializer(False),
                collections=["signal_early_stopping"],
                trainable=False,
            )
        self._is_there = is_variable_initialized(self._signal)

    def after_create_session(self, session, coord):
        if not session.run(self._is_there):
            session.run(self._signal.initializer)


class _Deciding(_Signal):
    """The chief's: asks the function, and tells the others."""

    def __init__(self, should_stop_fn, every_secs, every_steps):
        self._should_stop = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs, every_steps)

    def begin(self):
        super().begin()
        self._step = get_global_step()
        self._stop = assign(self._signal, True)

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop():
            _log.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop)
            run_context.request_stop()


class _Following(_Signal):
    """A worker's: ends when the chief has said so."""

    def before_run(self, run_context):
        return SessionRunArgs(self._signal)

    def after_run(self, run_context, run_values):
        if run_values.results:
            _log.info("Early stopping requested, suspending run.")
            run_context.request_stop()
