"""When a hook is due: after so many seconds, after so many steps, or never."""

import time


class SecondOrStepTimer:
    """Due at the first step, then every so many seconds or steps.

    Args:
      every_secs, every_steps: exactly one of them.
      clock: what tells the time, in seconds.

    Raises:
      ValueError: for none or both.
    """

    def __init__(self, every_secs=None, every_steps=None, clock=time.time):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self._clock = clock
        self.reset()

    def reset(self):
        """Due at the next step again."""
        self._step = None
        self._time = None

    def should_trigger_for_step(self, step):
        """True if it is due at this step; never twice at one."""
        if self._step is None:
            return True
        if self._step == step:
            return False
        if self._every_secs is not None:
            return self._clock() >= self._time + self._every_secs
        return step >= self._step + self._every_steps

    def update_last_triggered_step(self, step):
        """Notes that it was triggered. (seconds, steps) since the last time; (None, None) at first."""
        now = self._clock()
        since = (None, None) if self._time is None else (now - self._time, step - self._step)
        self._time, self._step = now, step
        return since

    def last_triggered_step(self):
        return self._step


class NeverTriggerTimer:
    """Never due."""

    def reset(self):
        pass

    def should_trigger_for_step(self, step):
        return False

    def update_last_triggered_step(self, step):
        return None, None

    def last_triggered_step(self):
        return None
