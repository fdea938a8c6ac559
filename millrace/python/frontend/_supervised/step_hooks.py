"""Hooks that look at the global step: stop at one, count them, wait for one."""

import logging
import time

from millrace._summaries.file_writer import FileWriterCache
from millrace._supervised import events
from millrace._supervised.hook import SessionRunArgs, SessionRunHook
from millrace._supervised.timers import SecondOrStepTimer
from millrace._train.global_steps import get_global_step, get_or_create_global_step_read

_log = logging.getLogger("millrace")


def needed_global_step(hook):
    """The Tensor that reads the global step. RuntimeError if the graph has none."""
    tensor = get_or_create_global_step_read()
    if tensor is None:
        raise RuntimeError(f"Global step should be created to use {type(hook).__name__}.")
    return tensor


class StopAtStepHook(SessionRunHook):
    """Asks for the end at a global step.

    Args:
      num_steps: after how many steps, counted from the first session.
      last_step: at which step.

    Raises:
      ValueError: unless exactly one is given.
    """

    def __init__(self, num_steps=None, last_step=None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self):
        self._global_step = needed_global_step(self)

    def after_create_session(self, session, coord):
        # Once: sessions that follow a loss go on to the same step.
        if self._last_step is None:
            self._last_step = session.run(self._global_step) + self._num_steps

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context, run_values):
        # What the step read may be from before its own update, or from before those of other workers.
        if run_values.results + 1 >= self._last_step:
            if run_context.session.run(self._global_step) >= self._last_step:
                run_context.request_stop()


class StepCounterHook(SessionRunHook):
    """Logs how many steps a second are made, and adds it to the summaries.

    Args:
      every_n_steps, every_n_secs: how often; exactly one of them.
      output_dir: a folder for summaries.
      summary_writer: a writer instead.

    Raises:
      ValueError: unless one of the first two is given.
    """

    _MAX_COMPLAINTS = 5

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_steps)
        self._writer = summary_writer
        self._folder = output_dir
        self._last_seen = None
        self._complaints = 0

    def begin(self):
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._global_step = needed_global_step(self)
        self._tag = get_global_step().op.name + "/sec"

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context, run_values):
        seen = run_values.results
        if self._timer.should_trigger_for_step(seen + 1):
            step = run_context.session.run(self._global_step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds:
                    self._tell(steps / seconds, step)
        if seen == self._last_seen and self._complaints < self._MAX_COMPLAINTS:
            self._complaints += 1
            _log.warning(
                "It seems that global step (tf.train.get_global_step) has not been increased. Current "
                "value (could be stable): %s vs previous value: %s. You could increase the global step "
                "by passing tf.train.get_global_step() to Optimizer.apply_gradients or "
                "Optimizer.minimize.",
                seen,
                self._last_seen,
            )
        self._last_seen = seen

    def _tell(self, rate, step):
        if self._writer is not None:
            self._writer.add_summary(events.scalar_value(self._tag, rate), step)
        _log.info("%s: %g", self._tag, rate)


class GlobalStepWaiterHook(SessionRunHook):
    """Lets a worker wait with its first step until others have brought the global step so far.

    Args:
      wait_until_step: the step; 0 to start at once.
      poll_secs: how often to look.
    """

    def __init__(self, wait_until_step, poll_secs=0.5):
        self._until = wait_until_step
        self._poll_secs = poll_secs

    def begin(self):
        self._started = False
        self._global_step = needed_global_step(self)

    def before_run(self, run_context):
        if self._started:
            return
        if self._until > 0:
            _log.info("Waiting for global step %d before starting training.", self._until)
        told = 0
        while self._until > 0:
            step = run_context.session.run(self._global_step)
            if step >= self._until:
                break
            if step - told > 1000:
                _log.info("Still waiting for global step %d: it is %d.", self._until, step)
                told = step
            time.sleep(self._poll_secs)
        self._started = True
