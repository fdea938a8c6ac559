"""A session with its hooks, its Coordinator and the threads that fill its queues: until it is lost.

Part of monitored_session.py, which makes another one then.
"""

import logging

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._input.queue_runner import end_filling, start_queue_runners
from millrace._run.config import RunMetadata, RunOptions
from millrace._run.coordinator import Coordinator
from millrace._supervised.hook import SessionRunArgs, SessionRunContext, SessionRunValues
from millrace._supervised.session_manager import LOST

_log = logging.getLogger("millrace")


class WatchedSession:
    """One session from its making to its end or loss.

    Args:
      creator: a SessionCreator.
      hooks: SessionRunHooks.
      stop_grace_period_secs: how long threads may take to end.

    Attributes:
      session: the tf.Session.
    """

    def __init__(self, creator, hooks, stop_grace_period_secs):
        self._hooks = hooks
        self._grace = stop_grace_period_secs
        self._coordinator = Coordinator(clean_stop_exception_types=[])
        self._coordinator.queues_outlive = LOST
        self._stop_requested = False
        self.session = creator.create_session()
        try:
            if get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.session, coord=self._coordinator)
            for hook in hooks:
                hook.after_create_session(self.session, self._coordinator)
        except BaseException:
            self.abandon()
            raise

    def run(self, fetches, feed_dict, options, run_metadata):
        """A step with what the hooks add to it."""
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self.session)
        wanted = {"caller": fetches}
        feeds, options = self._ask_hooks(context, wanted, feed_dict, options)
        # A step that is traced costs more: none is unless somebody wants it.
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()
        try:
            values = self.session.run(wanted, feeds, options, run_metadata)
        except LOST:
            raise
        except Exception:
            # What another thread found lost is the cause, and this error its consequence.
            self._raise_if_lost()
            raise
        told = (options or RunOptions(), run_metadata or RunMetadata())
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(values.get(hook), *told))
        self._stop_requested = self._stop_requested or context.stop_requested
        return values["caller"]

    def _ask_hooks(self, context, wanted, feed_dict, options):
        """(feeds, options) of the step; what hooks want is put into `wanted`."""
        feeds = {}
        for hook in self._hooks:
            asked = hook.before_run(context)
            if asked is None:
                continue
            if asked.fetches is not None:
                wanted[hook] = asked.fetches
            if asked.feed_dict:
                _check_apart(feeds, asked.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(asked.feed_dict)
            if asked.options is not None:
                options = _merged(options, asked.options)
        if feed_dict and feeds:
            _check_apart(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
        return {**feeds, **(feed_dict or {})} or None, options

    def should_stop(self):
        """True once a hook or a thread asked for the end. Raises the error of a thread."""
        self._coordinator.raise_requested_exception()
        return self._stop_requested or self._coordinator.should_stop()

    def _raise_if_lost(self):
        try:
            self._coordinator.raise_requested_exception()
        except LOST:
            raise
        except Exception:
            pass  # the step's own error is what the program gets to see

    def close(self):
        """Ends the threads and the session. Raises the error of a thread, if one had any."""
        try:
            end_filling(self._coordinator, self.session, self._grace)
            self._coordinator.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            self._close_session()

    def abandon(self):
        """Ends what is left of a lost session; whatever fails meanwhile comes of the loss."""
        try:
            # First of all: this ends what waits in it, and the next session finds its queues open.
            self._close_session()
            self.close()
        except Exception as error:
            _log.debug("while a lost session was closed: %s", error)

    def _close_session(self):
        try:
            self.session.close()
        except LOST as error:
            _log.warning("closing the session: %s", error)


def _check_apart(feeds, others, complaint):
    shared = set(feeds) & set(others)
    if shared:
        raise RuntimeError(f"{complaint} Conflict(s): {list(shared)}")


def _merged(options, asked):
    """RunOptions with the larger of each."""
    merged = RunOptions()
    if options is not None:
        merged.CopyFrom(options)
    for name in ("trace_level", "timeout_in_ms", "inter_op_thread_pool"):
        setattr(merged, name, max(getattr(merged, name), getattr(asked, name)))
    for name in ("output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(merged, name, bool(getattr(merged, name) or getattr(asked, name)))
    return merged
