"""Coordinator: ends the threads of a program together, and keeps the first error."""

import contextlib
import sys
import threading
import time

from millrace._values import errors


class Coordinator:
    """Threads ask `should_stop`; whoever is finished or fails calls `request_stop`.

    Args:
      clean_stop_exception_types: exceptions that are a normal end; OutOfRangeError if None.

    Attributes:
      queues_outlive: a tuple of errors after which the queues that its threads fill stay open: another
        session goes on with them.
    """

    def __init__(self, clean_stop_exception_types=None):
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error = None
        self._joined = False
        self._registered = set()
        self.queues_outlive = ()

    def should_stop(self):
        """True once somebody asked for the end."""
        return self._stop.is_set()

    def request_stop(self, ex=None):
        """Asks all threads to end.

        Args:
          ex: the exception, or the tuple of sys.exc_info(), that is the reason. The first one that is
            no normal end is raised again by `join`.
        """
        with self._lock:
            error = ex[1] if isinstance(ex, tuple) else ex
            if self._joined:
                if error is not None and not isinstance(error, self._clean):
                    raise error
                return
            if error is not None and self._error is None and not self._stop.is_set():
                if not isinstance(error, self._clean):
                    self._error = error
            self._stop.set()

    def clear_stop(self):
        """Begins anew after a stop."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def wait_for_stop(self, timeout=None):
        """Waits until somebody asks for the end. False if `timeout` seconds passed before."""
        return self._stop.wait(timeout)

    def register_thread(self, thread):
        """Adds a thread that `join` waits for."""
        with self._lock:
            self._registered.add(thread)

    @property
    def registered_threads(self):
        """The threads that `join` waits for."""
        with self._lock:
            return list(self._registered)

    @contextlib.contextmanager
    def stop_on_exception(self):
        """An exception inside the block asks for the end, and goes no further."""
        try:
            yield
        except Exception:
            self.request_stop(sys.exc_info())

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits until the threads have ended, and raises the error that was the reason, if any.

        Args:
          threads: threads to wait for, beside the registered ones.
          stop_grace_period_secs: how long they may take once the end was asked for.
          ignore_live_threads: True to leave those that take longer alone.

        Raises:
          RuntimeError: if threads are still running after the grace period.
        """
        with self._lock:
            threads = self._registered | set(threads or ())
        # Before the end is asked for they may take any time.
        while any(thread.is_alive() for thread in threads) and not self.wait_for_stop(0.1):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for thread in threads:
            thread.join(max(0, until - time.monotonic()))
        late = [thread.name for thread in threads if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered = set()
            if self._error is not None:
                raise self._error
        if late and not ignore_live_threads:
            raise RuntimeError(
                "Coordinator stopped with threads still running: " + " ".join(sorted(late))
            )

    @property
    def joined(self):
        return self._joined

    def leaves_queues_open(self):
        """True if the error that was the reason for the end is one of `queues_outlive`."""
        with self._lock:
            return isinstance(self._error, self.queues_outlive)

    def raise_requested_exception(self):
        """Raises the error that was the reason for the end, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its Coordinator stops.

    Args:
      coord: the Coordinator.
      timer_interval_secs: seconds from one call to the next; None for at once.
      target, args, kwargs: the function; `run_loop` of a subclass if None.
    """

    def __init__(self, coord, timer_interval_secs=None, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        self._coordinator = coord
        self._interval = timer_interval_secs
        self._function = target or self.run_loop
        self._arguments = (tuple(args or ()), dict(kwargs or {}))
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        """Starts such a thread and returns it."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self):
        args, kwargs = self._arguments
        with self._coordinator.stop_on_exception():
            self.start_loop()
            while not self._coordinator.should_stop():
                self._function(*args, **kwargs)
                if self._interval is not None and self._coordinator.wait_for_stop(self._interval):
                    break
            self.stop_loop()

    def start_loop(self):
        """Called once before the first call."""

    def stop_loop(self):
        """Called once after the last one."""

    def run_loop(self):
        """Called again and again."""
