"""Hooks that write files: checkpoints, summaries, timelines."""

import contextlib
import logging
import os

from millrace._files import paths
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._graph.graph import get_default_graph
from millrace._run.config import RunOptions
from millrace._run.timeline import Timeline
from millrace._saving.background_save import wait_for_save
from millrace._saving.graph_files import write_graph
from millrace._saving.meta_graph import graph_and_saver
from millrace._summaries.file_writer import FileWriterCache
from millrace._supervised import events
from millrace._supervised.hook import SessionRunArgs, SessionRunHook
from millrace._supervised.step_hooks import needed_global_step
from millrace._supervised.timers import SecondOrStepTimer
from millrace._values import errors

_log = logging.getLogger("millrace")


class CheckpointSaverListener:
    """Told around each save of a CheckpointSaverHook; the base class does nothing."""

    def begin(self):
        """Called before the session is made: may add nodes."""

    def before_save(self, session, global_step_value):
        """Called before a checkpoint is saved."""

    def after_save(self, session, global_step_value):
        """Called after it. Returns True to ask for the end of training."""

    def end(self, session, global_step_value):
        """Called at the end, after the last checkpoint."""


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints: at the start, every so often, and at the end.

    With an asynchronous Saver steps go on while one is written; a save that comes before that is done waits for it.
    Its error ends the step after it, and listeners hear of it after that step.

    Args:
      checkpoint_dir: the folder.
      save_secs, save_steps: how often; exactly one of them.
      saver: a tf.train.Saver; else that of `scaffold`, or the only one in tf.GraphKeys.SAVERS.
      checkpoint_basename: what names of checkpoints begin with.
      scaffold: a Scaffold.
      listeners: CheckpointSaverListeners.
      save_graph_def: True to write the graph beside the checkpoints.

    Raises:
      ValueError: for a saver and a scaffold at once.
    """

    def __init__(
        self,
        checkpoint_dir,
        save_secs=None,
        save_steps=None,
        saver=None,
        checkpoint_basename="model.ckpt",
        scaffold=None,
        listeners=None,
        save_graph_def=True,
    ):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._folder = checkpoint_dir
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._saver = saver
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or [])
        self._save_graph_def = save_graph_def
        self._unfinished = None  # the step of a save that has begun

    def add_listeners(self, listeners):
        """Lets others be told too: before `begin`."""
        self._listeners += listeners

    def begin(self):
        self._writer = FileWriterCache.get(self._folder)
        self._global_step = needed_global_step(self)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = session.run(self._global_step)
        paths.makedirs(self._folder)
        if self._save_graph_def:
            write_graph(get_default_graph(), self._folder, "graph.pbtxt")
        graph = get_default_graph()
        self._writer.add_graph(graph)
        saver_def = getattr(self._get_saver(), "saver_def", None)
        self._writer.add_meta_graph(graph_and_saver(graph, saver_def))
        self._give_up_unfinished()
        # A first checkpoint, before anything was trained: also tells at once if saving can't work.
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context, run_values):
        if not self._is_saving() and self._finish(run_context.session):
            run_context.request_stop()
        # What the step read may be old: other workers go on meanwhile.
        if self._timer.should_trigger_for_step(run_values.results + 1):
            step = run_context.session.run(self._global_step)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session):
        step = session.run(self._global_step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        self._finish(session)
        for listener in self._listeners:
            listener.end(session, step)
        self._writer.flush()

    def _save(self, session, step):
        """True if a listener asked for the end."""
        wishes_end = self._finish(session)
        for listener in self._listeners:
            listener.before_save(session, step)
        _log.info("Saving checkpoints for %d into %s.", step, self._path)
        self._get_saver().save(
            session, self._path, global_step=step, write_meta_graph=self._save_graph_def
        )
        self._unfinished = step
        if self._is_saving():
            return wishes_end
        return self._finish(session) or wishes_end

    def _finish(self, session):
        """What follows a save, once that is done; True if a listener asked for the end."""
        step, self._unfinished = self._unfinished, None
        if step is None:
            return False
        wait_for_save(self._get_saver())
        self._writer.add_session_log(events.session_log("CHECKPOINT", self._path), step)
        wishes = [listener.after_save(session, step) for listener in self._listeners]
        for listener, wishes_end in zip(self._listeners, wishes):
            if wishes_end:
                _log.info(
                    "A CheckpointSaverListener requested that training be stopped. listener: %s",
                    listener,
                )
        return any(wishes)

    def _is_saving(self):
        return getattr(
            self._get_saver(), "is_saving", False
        )  # a program's own class may not have it

    def _give_up_unfinished(self):
        """Of a session that was lost."""
        if self._unfinished is None:
            return
        self._unfinished = None
        with contextlib.suppress(errors.OpError):  # logged where it happened
            wait_for_save(self._get_saver())

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = get_collection(GraphKeys.SAVERS)
        if len(found) != 1:
            raise RuntimeError(
                f"{'More than one item' if found else 'No items'} in collection {GraphKeys.SAVERS}. "
                "Please pass a saver or a scaffold to the CheckpointSaverHook."
            )
        self._saver = found[0]
        return self._saver


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so often.

    Args:
      save_steps, save_secs: how often; exactly one of them.
      output_dir: the folder.
      summary_writer: a writer instead.
      scaffold: a Scaffold whose summary_op is written; or else
      summary_op: a Tensor with summaries, or a list of them.

    Raises:
      ValueError: unless exactly one of the last two is given.
    """

    def __init__(
        self,
        save_steps=None,
        save_secs=None,
        output_dir=None,
        summary_writer=None,
        scaffold=None,
        summary_op=None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._writer = summary_writer
        self._folder = output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._next_step = None
        self._global_step = needed_global_step(self)

    def before_run(self, run_context):
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        wanted = {"global_step": self._global_step}
        if self._due and self._summaries():
            wanted["summary"] = self._summaries()
        return SessionRunArgs(wanted)

    def after_run(self, run_context, run_values):
        if self._writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._due:
            step = run_context.session.run(self._global_step)
        if self._next_step is None:
            self._writer.add_session_log(events.session_log("START"), step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", []):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session=None):
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self):
        """The list of what to fetch."""
        op = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if op is None:
            return []
        return op if isinstance(op, list) else [op]


class ProfilerHook(SessionRunHook):
    """Traces a step every so often, and writes it as timeline-STEP.json for chrome://tracing.

    Args:
      save_steps, save_secs: how often; exactly one of them.
      output_dir: the folder.
      show_dataflow, show_memory: accepted.
    """

    def __init__(
        self, save_steps=None, save_secs=None, output_dir="", show_dataflow=True, show_memory=False
    ):
        self._folder = output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        self._next_step = None
        self._global_step = needed_global_step(self)

    def before_run(self, run_context):
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._due else None
        return SessionRunArgs({"global_step": self._global_step}, options=options)

    def after_run(self, run_context, run_values):
        seen = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(seen)
        step = seen + 1
        if self._due:
            step = run_context.session.run(self._global_step)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata.step_stats)
        self._next_step = step + 1

    def _save(self, step, step_stats):
        path = os.path.join(self._folder, f"timeline-{step}.json")
        _log.info("Saving timeline for %d into '%s'.", step, path)
        paths.makedirs(self._folder or ".")
        with paths.open_file(path, "w", encoding="utf-8") as file:
            file.write(Timeline(step_stats).generate_chrome_trace_format())
