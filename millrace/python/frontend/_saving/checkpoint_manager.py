"""CheckpointManager: saves a tf.train.Checkpoint again and again, and keeps the last ones."""

import numbers
import os
import time

from millrace._files import paths
from millrace._saving import checkpoint_state
from millrace._saving.object_checkpoints import session_or_default

_SECONDS_PER_HOUR = 3600.0


class CheckpointManager:
    """The checkpoints of a folder.

    Args:
      checkpoint: a tf.train.Checkpoint.
      directory: the folder.
      max_to_keep: how many of the last ones stay; None for all.
      keep_checkpoint_every_n_hours: of those that go, one in so many hours stays.
      checkpoint_name: what names of checkpoints begin with.
      step_counter: a Variable that counts steps, for
      checkpoint_interval: the least number of steps from one save to the next.
      init_fn: called by restore_or_initialize if there is no checkpoint.

    Attributes:
      directory, checkpoint, checkpoint_interval: as given.
      checkpoints: the paths of those that are kept, oldest first.
      latest_checkpoint: the path of the newest one, or None.

    Raises:
      ValueError: for a max_to_keep below 1, or an interval without a counter.
    """

    def __init__(
        self,
        checkpoint,
        directory,
        max_to_keep,
        keep_checkpoint_every_n_hours=None,
        checkpoint_name="ckpt",
        step_counter=None,
        checkpoint_interval=None,
        init_fn=None,
    ):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self.checkpoint = checkpoint
        self.directory = os.fspath(directory)
        self.checkpoint_interval = checkpoint_interval
        self._max = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self.directory, checkpoint_name)
        self._step_counter = step_counter
        self._last_step = None
        self._init_fn = init_fn
        self._kept = {}  # path -> when it was saved, oldest first
        self.latest_checkpoint = None
        self._last_preserved = time.time() - 1.0
        self._recover()

    def _recover(self):
        """Takes over what an earlier one of this folder left."""
        state = checkpoint_state.get_checkpoint_state(self.directory)
        if state is None:
            return
        now = time.time()
        self.latest_checkpoint = state.model_checkpoint_path
        # A clock that went back preserves nothing for ever.
        self._last_preserved = min(state.last_preserved_timestamp, now)
        kept = state.all_model_checkpoint_paths
        times = state.all_model_checkpoint_timestamps or [now] * len(kept)
        for path, saved_at in zip(kept, times):
            if min(saved_at, now) > self._last_preserved:
                self._kept[path] = min(saved_at, now)

    @property
    def checkpoints(self):
        return list(self._kept)

    def save(self, checkpoint_number=None, check_interval=True, session=None):
        """Saves, and removes what is too old.

        Args:
          checkpoint_number: the number of the checkpoint, or a Variable that has it; that of the save if
            None.
          check_interval: False to save although the last one is nearer than checkpoint_interval.
          session: the tf.Session; the default one if None.

        Returns:
          its path; None if it is not time yet.
        """
        session = session_or_default(session)
        if not self._is_time(session, check_interval):
            return None
        paths.makedirs(self.directory)
        number = self.checkpoint.count(session)
        if checkpoint_number is not None:
            is_number = isinstance(checkpoint_number, numbers.Integral)
            number = int(checkpoint_number if is_number else session.run(checkpoint_number))
        path = self.checkpoint.write(f"{self._prefix}-{number}", session)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self.latest_checkpoint = path
        # First the file that no longer names them, then the checkpoints: a crash between leaves some more.
        doomed = self._sweep()
        checkpoint_state.update_checkpoint_state(
            self.directory,
            path,
            list(self._kept),
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved,
            save_relative_paths=True,
        )
        for old in doomed:
            checkpoint_state.remove_checkpoint(old)
        return path

    def _is_time(self, session, check_interval):
        if self.checkpoint_interval is None:
            return True
        step = int(session.run(self._step_counter))
        if self._last_step is not None:
            least = self.checkpoint_interval if check_interval else 1
            if step == self._last_step or step < self._last_step + least:
                return False
        self._last_step = step
        return True

    def _sweep(self):
        """The paths of those that are no longer kept, and are to be removed."""
        doomed = []
        while self._max and len(self._kept) > self._max:
            path = next(iter(self._kept))
            saved_at = self._kept.pop(path)
            if self._hours and saved_at - self._hours * _SECONDS_PER_HOUR >= self._last_preserved:
                self._last_preserved = saved_at
            else:
                doomed.append(path)
        return doomed

    def restore_or_initialize(self, session=None):
        """Restores the newest checkpoint, or else calls init_fn and initializes.

        Returns:
          its path; None if there was none.
        """
        session = session_or_default(session)
        path = checkpoint_state.latest_checkpoint(self.directory)
        if path is not None:
            self.checkpoint.restore(path).initialize_or_restore(session)
        elif self._init_fn is not None:
            self._init_fn()
        else:
            self.checkpoint.restore(None).initialize_or_restore(session)
        return path
