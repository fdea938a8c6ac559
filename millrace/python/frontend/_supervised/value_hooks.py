"""Hooks that look at values: log them, stop at NaN, feed, run something at the end."""

import logging

import numpy as np

from millrace._graph.graph import get_default_graph
from millrace._supervised.hook import SessionRunArgs, SessionRunHook
from millrace._supervised.timers import NeverTriggerTimer, SecondOrStepTimer
from millrace._values import errors

_log = logging.getLogger("millrace")


class LoggingTensorHook(SessionRunHook):
    """Logs values every so often, by tf.logging.info.

    Args:
      tensors: a dictionary from tags to Tensors or their names, or a list of them.
      every_n_iter, every_n_secs: how often; at most one of them.
      at_end: True to log at the end too; alone, only then.
      formatter: a function from {tag: value} to the line.

    Raises:
      ValueError: if nothing says when.
    """

    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        by_tag = isinstance(tensors, dict)
        self._tags = sorted(tensors) if by_tag else list(tensors)
        self._tensors = dict(tensors) if by_tag else {item: item for item in tensors}
        self._formatter = formatter
        self._at_end = at_end
        self._timer = (
            NeverTriggerTimer()
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )

    def begin(self):
        self._timer.reset()
        self._count = 0
        self._wanted = {tag: _tensor(given) for tag, given in self._tensors.items()}

    def before_run(self, run_context):
        self._due = self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._wanted) if self._due else None

    def after_run(self, run_context, run_values):
        if self._due:
            self._tell(run_values.results)
        self._count += 1

    def end(self, session):
        if self._at_end:
            self._tell(session.run(self._wanted))

    def _tell(self, values):
        seconds, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter:
            _log.info("%s", self._formatter(values))
            return
        with np.printoptions(suppress=True):
            line = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
        _log.info("%s%s", line, "" if seconds is None else f" ({seconds:.3f} sec)")


def _tensor(given):
    """The Tensor that a hook's argument means: itself, or one by its name or its node's."""
    graph = get_default_graph()
    if not isinstance(given, str):
        if getattr(given, "graph", None) is not graph:
            raise ValueError(
                f"Passed {given} should have graph attribute that is equal to current graph {graph}."
            )
        return given
    if ":" in given:
        return graph.as_graph_element(given)
    if len(graph.get_operation_by_name(given).outputs) > 1:
        raise ValueError(
            f"Name {given} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return graph.as_graph_element(given + ":0")


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends training when the loss is NaN.

    Args:
      loss_tensor: a scalar.
      fail_on_nan_loss: True to raise NanLossDuringTrainingError, False to ask for the end.
    """

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss = loss_tensor
        self._fail = fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        if not np.isnan(run_values.results):
            return
        if self._fail:
            _log.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        _log.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Runs something at the end.

    Args:
      final_ops: what to fetch; nothing if None.
      final_ops_feed_dict: feeds for it.

    Attributes:
      final_ops_values: what it gave; None before.
    """

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self.final_ops_values = None

    def end(self, session):
        if self._final_ops is None:
            return
        try:
            self.final_ops_values = session.run(self._final_ops, feed_dict=self._feeds)
        except (errors.OutOfRangeError, StopIteration):
            _log.warning(
                "FinalOpsHook: what it runs at the end takes from the input, which is exhausted. Let it "
                "read variables only: of a metric the value, not the update."
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds each step with what a function returns.

    Args:
      feed_fn: a function without arguments that returns a feed_dict.
    """

    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
