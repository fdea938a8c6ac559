"""Who makes the sessions of a MonitoredSession: a chief prepares the model, workers wait for it."""

import logging

from millrace._supervised.scaffold import Scaffold
from millrace._supervised.session_manager import SessionManager

_log = logging.getLogger("millrace")


class SessionCreator:
    """Makes a session: now, and again whenever it was lost.

    Attributes:
      max_wait_secs: how long a loss may last before it ends the program.
    """

    max_wait_secs = 7200

    def create_session(self):
        """A new tf.Session."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


def _manager(scaffold):
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        local_init_feed_dict=scaffold.local_init_feed_dict,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
    )


class ChiefSessionCreator(SessionCreator):
    """Restores the model from its newest checkpoint, or initializes it.

    Args:
      scaffold: a Scaffold; a new one if None.
      master: the target.
      config: a tf.ConfigProto.
      checkpoint_dir: the folder of checkpoints.
      checkpoint_filename_with_path: one checkpoint, instead.
    """

    def __init__(
        self,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
    ):
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._folder = checkpoint_dir
        self._file = checkpoint_filename_with_path
        self._manager = None

    def create_session(self):
        scaffold = self._scaffold.finalize()
        first = self._manager is None
        if first:
            self._manager = _manager(scaffold)
        else:
            # A loss that left the parameters where they are costs no step.
            kept = self._manager.kept_session(self._master, self._config)
            if kept is not None:
                _log.warning("the model has all its values: training goes on with them")
                return kept
        return self._manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._folder,
            checkpoint_filename_with_path=self._file,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Waits until the chief has prepared the model.

    Args:
      scaffold, master, config: as for ChiefSessionCreator.
      max_wait_secs: how long.
    """

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self.max_wait_secs = max_wait_secs
        self._manager = None

    def create_session(self):
        scaffold = self._scaffold.finalize()
        if self._manager is None:
            self._manager = _manager(scaffold)
        return self._manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self.max_wait_secs
        )
