"""Batches that threads make ready before they are asked for."""

import collections
import concurrent.futures
import random
import threading


class SequenceEnqueuer:
    """The base: what a Sequence or generator gives, made ready by threads.

        enqueuer.start(workers=2)
        for batch in itertools.islice(enqueuer.get(), steps): ...
        enqueuer.stop()

    Args:
      sequence: the data.
      use_multiprocessing: accepted: threads make the batches, as the graph of a program cannot be in two
        processes.
    """

    def __init__(self, sequence, use_multiprocessing=False):
        self.sequence = sequence
        self._pool = self._stopped = None
        self._most = 0

    def is_running(self):
        return self._stopped is not None and not self._stopped.is_set()

    def start(self, workers=1, max_queue_size=10):
        """Begins to make batches ready.

        Args:
          workers: how many threads do; max_queue_size: how many batches may wait.

        Raises:
          RuntimeError: if it runs already; ValueError: for fewer than one of either.
        """
        if self.is_running():
            raise RuntimeError("The enqueuer runs already: stop it first.")
        if workers < 1 or max_queue_size < 1:
            raise ValueError(
                "There must be one worker and one place for a batch at least; there are "
                f"{workers} and {max_queue_size}"
            )
        self._most, self._stopped = max_queue_size, threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(workers, "batches")

    def stop(self, timeout=None):
        """Ends it: batches under way are waited for, those that wait are dropped.

        Args:
          timeout: accepted.
        """
        if self._pool is not None:
            self._stopped.set()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _tasks(self):
        """Functions without arguments, each of which gives one batch; _DONE where the next one is asked for only
        when all before it were taken."""
        raise NotImplementedError

    def get(self):
        """An iterator over the batches, in their order. What making one raises, it raises.

        Raises:
          RuntimeError: if it was not started.
        """
        if not self.is_running():
            raise RuntimeError("The enqueuer does not run: start it first.")
        tasks, waiting, pool = self._tasks(), collections.deque(), self._pool
        ahead = next(tasks, None)
        try:
            while self.is_running():
                while ahead is not None and len(waiting) < self._most:
                    if ahead is not _DONE:
                        waiting.append(pool.submit(ahead))
                    elif waiting:
                        break
                    ahead = next(tasks, None)
                if not waiting:
                    return
                try:
                    made = waiting.popleft().result()
                except (_End, concurrent.futures.CancelledError):
                    return
                yield made
        except RuntimeError:
            # Another thread may have stopped it since: then the pool takes no more.
            if self.is_running():
                raise
        finally:
            self.stop()


_DONE = object()


class _End(Exception):
    """A generator has no more."""


class OrderedEnqueuer(SequenceEnqueuer):
    """What a Sequence gives, again and again, in its order or another one in each epoch.

    Args:
      sequence: a tf.keras.utils.Sequence; use_multiprocessing: as for SequenceEnqueuer.
      shuffle: whether each epoch has another order.
    """

    def __init__(self, sequence, use_multiprocessing=False, shuffle=False):
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _tasks(self):
        while True:
            order = list(range(len(self.sequence)))
            if not order:
                return
            if self.shuffle:
                random.shuffle(order)
            for index in order:
                yield lambda index=index: self.sequence[index]
            # A Sequence may put its samples in another order now.
            yield _DONE
            self.sequence.on_epoch_end()


class GeneratorEnqueuer(SequenceEnqueuer):
    """What a generator gives, in its order; threads ask it one after the other.

    Args:
      sequence: the generator; use_multiprocessing: as for SequenceEnqueuer.
      random_seed: accepted: there is one generator, in one process.
    """

    def __init__(self, sequence, use_multiprocessing=False, random_seed=None):
        super().__init__(sequence, use_multiprocessing)
        self._lock = threading.Lock()

    def start(self, workers=1, max_queue_size=10):
        """SequenceEnqueuer.start with one thread: a generator gives one batch at a time."""
        super().start(1, max_queue_size)

    def _next(self):
        with self._lock:
            try:
                return next(self.sequence)
            except StopIteration:
                raise _End from None

    def _tasks(self):
        while True:
            yield self._next
