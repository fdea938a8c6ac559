"""Waiting for checkpoints that another program saves: what an evaluator beside a training does."""

import logging
import time

from millrace._saving.checkpoint_state import latest_checkpoint

_log = logging.getLogger("millrace")


def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
    """The newest checkpoint of a folder, once it is another one than `last_checkpoint`.

    Args:
      checkpoint_dir: the folder.
      last_checkpoint: the one that is known; None if none is.
      seconds_to_sleep: how often to look.
      timeout: how many seconds to wait; None for ever.

    Returns:
      its path; None if the time has passed.
    """
    _log.info("Waiting for new checkpoint at %s", checkpoint_dir)
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            return path
        if until is not None and time.monotonic() + seconds_to_sleep > until:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Yields the newest checkpoint of a folder again and again, each once; some may be left out.

    Args:
      checkpoint_dir: the folder.
      min_interval_secs: the least time from one to the next.
      timeout: how many seconds to wait for the next one; None for ever.
      timeout_fn: called when that has passed, and after each checkpoint: True to end; without it the end
        of the time is the end.
    """
    path = None
    while True:
        newer = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if newer is not None:
            path = newer
            next_at = time.monotonic() + min_interval_secs
            yield path
            time.sleep(max(0, next_at - time.monotonic()))
        elif timeout_fn is None:
            _log.info("Timed-out waiting for a checkpoint.")
            return
        if timeout_fn is not None and timeout_fn():
            return
