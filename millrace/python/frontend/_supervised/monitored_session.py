"""MonitoredSession: a session with hooks, that is made anew when it is lost.

Lost means that a step failed with AbortedError or UnavailableError: a task of the cluster ended, restarted
or cannot be reached. The cause is logged and the step is run again in a new session, for which the chief
restores the model and workers wait. Pauses between tries grow; when none helped for the creator's
max_wait_secs, the error goes to the program.
"""

import inspect
import logging
import time

from millrace._graph.graph import get_default_graph
from millrace._supervised.patience import Patience
from millrace._supervised.session_creators import ChiefSessionCreator
from millrace._supervised.session_manager import LOST
from millrace._supervised.watched_session import WatchedSession
from millrace._values import errors

_log = logging.getLogger("millrace")


class StepContext:
    """What run_step_fn hands to its function.

    Attributes:
      session: the tf.Session, for steps without hooks.
    """

    def __init__(self, session, run_with_hooks):
        self.session = session
        self.run_with_hooks = run_with_hooks

    def request_stop(self):
        """Ends the loop around: raises StopIteration, which the session's `with` block takes."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class BaseMonitoredSession:
    """What MonitoredSession and SingularMonitoredSession have in common."""

    # For tf.train.start_queue_runners.
    starts_queue_runners = True
    StepContext = StepContext

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs):
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._hooks = list(hooks or [])
        self._grace = stop_grace_period_secs
        self._creator = session_creator or ChiefSessionCreator()
        self._recovers = should_recover
        self._patience = Patience(getattr(self._creator, "max_wait_secs", 7200))
        self._watched = None
        self._is_closed = False
        for hook in self._hooks:
            hook.begin()
        self._trying()

    @property
    def graph(self):
        """The Graph that it runs; None once it is closed."""
        return None if self._is_closed else self._graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """A step with hooks: as tf.Session.run.

        Raises:
          RuntimeError: after should_stop, or if the session is closed.
        """
        return self._trying(lambda: self._watched.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn):
        """Calls a function that makes several steps, some of them perhaps without hooks.

        Args:
          step_fn: a function of `step_context`; or a method, with `self` before it.

        Returns:
          what it returns.

        Raises:
          ValueError: if it takes other arguments.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` "
                f"arguments if it's an instance method. Got {names} instead."
            )
        return self._trying(lambda: step_fn(StepContext(self._watched.session, self._run_once)))

    def _run_once(self, fetches, feed_dict=None, options=None, run_metadata=None):
        return self._watched.run(fetches, feed_dict, options, run_metadata)

    def _trying(self, act=None):
        """What `act` returns, in the session that there is or, if that is lost, in the next one.

        Without `act` there is a session afterwards; only a step that went well ends a row of losses.
        """
        if self._is_closed:
            raise RuntimeError("Attempted to use a closed Session.")
        while True:
            try:
                if self._watched is None:
                    with self._graph.as_default():
                        self._watched = WatchedSession(self._creator, self._hooks, self._grace)
                if act is None:
                    return None
                done = act()
                self._patience.succeeded()
                return done
            except LOST as error:
                if not self._recovers:
                    raise
                self._lose(error)

    def _lose(self, error):
        """Gives up the session that there is, and waits; raises `error` if that took too long."""
        if self._watched is not None:
            self._watched.abandon()
            self._watched = None
        pause = self._patience.failed()
        if pause is None:
            _log.error("no new session for too long, after %d tries", self._patience.failures)
            raise error
        _log.warning(
            "the session was lost: %s: %s. A new one is made%s (try %d)",
            type(error).__name__,
            error,
            f" in {pause:g} seconds" if pause else "",
            self._patience.failures,
        )
        time.sleep(pause)

    def should_stop(self):
        """True once a hook or a thread asked for the end, a thread failed, or the session is closed."""
        if self._is_closed or self._watched is None:
            return True
        try:
            return self._watched.should_stop()
        except LOST as error:
            if not self._recovers:
                return True
            self._lose(error)
            self._trying()
            return False
        except Exception:
            return True  # closing raises it

    def close(self):
        """Ends it: hooks, threads, session. Raises the error of a thread, if one had any.

        Raises:
          RuntimeError: if it is closed already.
        """
        self._close(ended_well=True)

    def _close(self, ended_well):
        if self._is_closed:
            raise RuntimeError("Session is already closed.")
        try:
            if ended_well and self._watched is not None:
                for hook in self._hooks:
                    hook.end(self._watched.session)
        finally:
            self._is_closed = True
            try:
                if self._watched is not None:
                    self._watched.close()
            finally:
                self._watched = None
                if not self._was_finalized:
                    self._graph.unfinalize()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, where):
        # The end of the input, and of a loop by request_stop, are no errors.
        ended_well = kind in (None, errors.OutOfRangeError, StopIteration)
        self._close(ended_well)
        return ended_well

    @property
    def _raw(self):
        return self._watched.session if self._watched is not None else None


class MonitoredSession(BaseMonitoredSession):
    """A session with hooks that survives the loss of tasks.

    Args:
      session_creator: makes its sessions; a ChiefSessionCreator if None.
      hooks: a list of SessionRunHooks.
      stop_grace_period_secs: how long threads may take to end.

    It starts the queue runners of the graph and makes the graph read-only until it is closed. As a context
    manager it is closed at the end; OutOfRangeError and StopIteration leave the block quietly. It is no
    default session.
    """

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(BaseMonitoredSession):
    """A session with hooks that is not made anew, and may be used as a tf.Session.

    Args:
      hooks: a list of SessionRunHooks.
      scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: as for ChiefSessionCreator.
      stop_grace_period_secs: how long threads may take to end.
    """

    def __init__(
        self,
        hooks=None,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ):
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self):
        """The tf.Session; None once it is closed."""
        return self._raw
