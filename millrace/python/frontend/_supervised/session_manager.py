"""SessionManager: makes sessions whose model is ready, by a checkpoint, by initializing, or by waiting.

A chief prepares: it restores the newest checkpoint, or else initializes. Workers wait for the chief. The
model is ready when `ready_op` finds no variable without a value.
"""

import logging
import time

import numpy as np

from millrace._graph.graph import get_default_graph
from millrace._run.session import Session
from millrace._saving.checkpoint_state import get_checkpoint_state
from millrace._values import errors

_log = logging.getLogger("millrace")

_FIRST_PAUSE = 0.1  # seconds; then twice as long each time, up to recovery_wait_secs
_LONG_WAIT = 10.0  # seconds, after which it is told why

# What a session may fail with because a task is not there, or is there anew.
LOST = (errors.AbortedError, errors.UnavailableError)


class SessionManager:
    """Makes sessions for one graph.

    Args:
      local_init_op: run in each session that is made: initializes what each worker has for itself.
      ready_op: gives the names of variables without a value; None for a model that is always ready.
      ready_for_local_init_op: likewise what must have a value before local_init_op.
      graph: the Graph; the default one if None.
      recovery_wait_secs: the longest pause between two looks at what is waited for.
      local_init_run_options: tf.RunOptions for local_init_op.
      local_init_feed_dict: feeds for it.

    Raises:
      ValueError: for a ready_for_local_init_op without local_init_op.
    """

    def __init__(
        self,
        local_init_op=None,
        ready_op=None,
        ready_for_local_init_op=None,
        graph=None,
        recovery_wait_secs=30,
        local_init_run_options=None,
        local_init_feed_dict=None,
    ):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or get_default_graph()
        self._longest_pause = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    def prepare_session(
        self,
        master,
        init_op=None,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
        init_feed_dict=None,
        init_fn=None,
    ):
        """A session of a chief: restored from a checkpoint if there is one, else initialized.

        Args:
          master: the target.
          init_op, init_feed_dict: initialize the model; init_fn(session) may do so too.
          saver: restores it; with checkpoint_dir the newest of that folder, or the one that
            checkpoint_filename_with_path names.
          wait_for_checkpoint: True to wait up to max_wait_secs for the first one.
          config: a tf.ConfigProto.

        Raises:
          RuntimeError: if nothing initializes the model, or it is not ready afterwards.
          ValueError: for a folder and a file of checkpoints at once.
        """
        sess, restored = self._restored_session(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        with _closed_on_error(sess):
            if not restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was given"
                    )
                if init_op is not None:
                    self._tell_of_a_reset(sess, init_op)
                    sess.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(sess)
            how = f"Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}"
            missing = self._try_local_init(sess)
            if missing is not None:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  "
                    f"{how}, error: {missing}"
                )
            missing = what_is_missing(self._ready_op, sess)
            if missing is not None:
                raise RuntimeError(
                    "Init operations did not make model ready.  "
                    f"{how}, local_init_op: {self._local_init_op}, error: {missing}"
                )
        return sess

    def recover_session(
        self,
        master,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
    ):
        """(a session, whether its model was restored from a checkpoint and is ready).

        Arguments as for prepare_session.
        """
        sess, restored = self._restored_session(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        with _closed_on_error(sess):
            missing = self._try_local_init(sess)
            if not restored:
                return sess, False
            what, place = "ready for local init", checkpoint_dir or checkpoint_filename_with_path
            if missing is None:
                what, missing = "ready", what_is_missing(self._ready_op, sess)
        if missing is not None:
            _log.info("Restoring model from %s did not make model %s: %s", place, what, missing)
            return sess, False
        _log.info("Restored model from %s", place)
        return sess, True

    def wait_for_session(self, master, config=None, max_wait_secs=float("inf")):
        """A session of a worker, once the model is ready.

        Args:
          master: the target.
          config: a tf.ConfigProto.
          max_wait_secs: how long to wait; None for ever.

        Raises:
          tf.errors.DeadlineExceededError: if it is not ready by then; it says what is missing.
        """
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        until = time.monotonic() + limit
        pause, told, since, is_warned = _FIRST_PAUSE, None, time.monotonic(), False
        while True:
            sess, missing = self._ready_session(master, config)
            if sess is not None:
                return sess
            left = until - time.monotonic()
            if left <= 0:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {limit} secs. {missing}"
                )
            if missing != told:
                _log.info("Waiting for model to be ready: %s", missing)
                told, is_warned = missing, False
            if not is_warned and time.monotonic() - since > _LONG_WAIT:
                _log.warning(
                    "still waiting for the chief to make the model ready: %s. What names no task stands on the "
                    "task of each session alone: was it meant for a parameter server?",
                    missing,
                )
                is_warned = True
            time.sleep(min(pause, self._longest_pause, left))
            pause *= 2

    def kept_session(self, master, config=None):
        """A session whose model still has all its values; None if it lost some, or nothing can tell.

        For a chief whose session was lost: where parameters live on other tasks, they may have stayed.
        """
        if self._ready_op is None:
            return None
        sess, missing = self._ready_session(master, config)
        if sess is None:
            _log.warning("the model did not outlast the session: %s", missing)
        return sess

    def _ready_session(self, master, config):
        """(a session, None) if the model is ready, (None, what is missing) if not."""
        sess = Session(master, graph=self._graph, config=config)
        with _closed_on_error(sess):
            missing = self._try_local_init(sess)
            if missing is None:
                missing = what_is_missing(self._ready_op, sess)
        if missing is None:
            return sess, None
        _close_quietly(sess)
        return None, missing

    def _restored_session(
        self, master, saver, folder, file, wait_for_checkpoint, max_wait_secs, config
    ):
        """(a new session, whether its variables were restored)."""
        if folder and file:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        sess = Session(master, graph=self._graph, config=config)
        if saver is None or not (folder or file):
            return sess, False
        with _closed_on_error(sess):
            if file:
                saver.restore(sess, file)
                return sess, True
            state = get_checkpoint_state(folder)
            until = time.monotonic() + max_wait_secs
            pause = _FIRST_PAUSE
            while state is None and wait_for_checkpoint and time.monotonic() < until:
                _log.info("Waiting for checkpoint to be available.")
                time.sleep(max(0, min(pause, self._longest_pause, until - time.monotonic())))
                pause *= 2
                state = get_checkpoint_state(folder)
            if state is None:
                return sess, False
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            return sess, True

    def _try_local_init(self, sess):
        """What is missing for local_init_op; None if nothing was and it ran."""
        if self._local_init_op is None:
            return None
        missing = what_is_missing(self._ready_for_local_init_op, sess)
        if missing is None:
            _log.info("Running local_init_op.")
            sess.run(
                self._local_init_op,
                feed_dict=self._local_init_feed_dict,
                options=self._local_init_run_options,
            )
        return missing

    def _tell_of_a_reset(self, sess, init_op):
        """Logs that a model which has values, on tasks that went on without a chief, loses them."""
        # Without local variables, if that can be asked: a new chief has none yet.
        check = self._ready_for_local_init_op
        check = self._ready_op if check is None else check
        if sess.sess_str and check is not None and what_is_missing(check, sess) is None:
            _log.warning(
                "the model on %s has values already, and there is no checkpoint to restore: %s sets "
                "them anew",
                sess.sess_str,
                getattr(init_op, "name", init_op),
            )


def what_is_missing(op, sess):
    """What a ready op finds missing, as text; None if nothing, or there is no such op."""
    if op is None:
        return None
    try:
        names = sess.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return str(error)
    # Ready ops of old programs give a number, or are Operations that fail.
    if names is None or np.asarray(names).dtype == np.int32 or np.size(names) == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in np.ravel(names))


class _closed_on_error:
    """Closes a session that nobody gets to see, because the block failed."""

    def __init__(self, sess):
        self._sess = sess

    def __enter__(self):
        return self._sess

    def __exit__(self, kind, error, where):
        if kind is not None:
            _close_quietly(self._sess)


def _close_quietly(sess):
    try:
        sess.close()
    except errors.OpError as error:  # its tasks may be gone
        _log.debug("closing a session that is not used: %s", error)
