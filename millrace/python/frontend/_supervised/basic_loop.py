"""basic_train_loop: steps until somebody asks for the end, in a new session after a loss."""

import logging
import time

from millrace._supervised.patience import Patience
from millrace._supervised.session_manager import LOST

_log = logging.getLogger("millrace")


def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """Calls train_step_fn(session, *args, **kwargs) until the supervisor should stop.

    Args:
      supervisor: a tf.train.Supervisor.
      train_step_fn: the function; it may call supervisor.request_stop().
      args, kwargs: more arguments for it.
      master: the target.

    When tasks are lost (AbortedError, UnavailableError) the supervisor prepares another session; pauses
    grow, and after two hours without a step the error is raised.
    """
    patience = Patience(limit_secs=7200)
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
                    patience.succeeded()
            return
        except LOST as error:
            pause = patience.failed()
            if pause is None:
                raise
            _log.warning("the session was lost: %s. A new one is made in %g seconds", error, pause)
            time.sleep(pause)
