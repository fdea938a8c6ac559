"""TrainSpec and EvalSpec: what train_and_evaluate does, and how often."""

import collections

from millrace._estimators.exporters import Exporter
from millrace._supervised.hook import SessionRunHook


def _checked_hooks(hooks):
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return hooks


def _check_input_fn(input_fn):
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


class TrainSpec(collections.namedtuple("TrainSpec", "input_fn max_steps hooks saving_listeners")):
    """Training.

    Args:
      input_fn: gives features and labels.
      max_steps: the global step at which it ends; None for the end of the input.
      hooks: SessionRunHooks; saving_listeners: CheckpointSaverListeners.

    Raises:
      ValueError: for a max_steps below 1; TypeError: for what is none of these.
    """

    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        listeners = tuple(saving_listeners or ())
        return super().__new__(cls, input_fn, max_steps, _checked_hooks(hooks), listeners)


class EvalSpec(
    collections.namedtuple(
        "EvalSpec", "input_fn steps name hooks exporters start_delay_secs throttle_secs"
    )
):
    """Evaluation.

    Args:
      input_fn: gives features and labels.
      steps: how many batches; None for all of the input.
      name: of the evaluation, if there are several.
      hooks: SessionRunHooks.
      exporters: an Exporter, or several with different names.
      start_delay_secs: how long an evaluator waits first.
      throttle_secs: the least time from one evaluation to the next.

    Raises:
      ValueError: for numbers that make no sense; TypeError: for what is none of these.
    """

    def __new__(
        cls,
        input_fn,
        steps=100,
        name=None,
        hooks=None,
        exporters=None,
        start_delay_secs=120,
        throttle_secs=600,
    ):
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        for what, seconds in (
            ("start_delay_secs", start_delay_secs),
            ("throttle_secs", throttle_secs),
        ):
            if seconds < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {seconds}")
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            _checked_hooks(hooks),
            _checked_exporters(exporters),
            start_delay_secs,
            throttle_secs,
        )


def _checked_exporters(exporters):
    exporters = [exporters] if isinstance(exporters, Exporter) else list(exporters or ())
    names = set()
    for exporter in exporters:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be an Exporter or a list of Exporters: {exporter}")
        if not isinstance(exporter.name, str) or not exporter.name:
            raise ValueError(f"An Exporter must have a non-empty string name: {exporter.name!r}")
        if exporter.name in names:
            raise ValueError(f"`exporters` must have unique names: {exporter.name} is there twice")
        names.add(exporter.name)
    return tuple(exporters)
