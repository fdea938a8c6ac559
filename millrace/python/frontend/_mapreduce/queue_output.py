"""Results that go into a queue: what an element is, and how elements are put in, each once."""

import contextlib
import itertools
import os
import pickle
import re

import numpy as np

from millrace import _millrace
from millrace._graph.default_graph import control_dependencies, device, get_default_graph
from millrace._mapreduce.attempt import MapReduceError
from millrace._ops.arrays import placeholder
from millrace._run.leases import entered_lease
from millrace._run.ready_step import convert_feed
from millrace._state.queues import FIFOQueue, shapes_of, types_of
from millrace._summaries.record_files import tf_record_iterator
from millrace._values import dtypes as kinds
from millrace._values import errors

_AT_ONCE = 64  # elements that one step puts in
_STEP_BYTES = 4 << 20
_TASK = re.compile(r"/job:(\w+)(?:/task:(\d+))?")
_TEXTS = (str, bytes, list, tuple, np.ndarray)


class Queue:
    """Elements of a tf.FIFOQueue, one per pair that the reducers give, each put in once.

    All results are made before the first one is put in: a job that fails before puts in none. Those of one
    partition come in the order of keys. When all are in, the queue is closed, and then the folder appears, with
    the counters and the bad records. The queue is closed too when the job fails, whatever failed: what was in
    by then stays.

    On a cluster the queue is on a task that stays until it is read, such as the one that reads:

        results = mapreduce.Queue("made/words", "counts", task="/job:read/task:0")
        ...
        taken = results.queue().dequeue()  # in that task, until OutOfRangeError

    Args:
      folder: a path that all tasks see, in which the job does its work beside. It must not exist, or be empty.
      shared_name: of the queue. A queue of that name must be empty and open when the job begins.
      task: the task that has it, as tf.device takes it; not one of `files`, `map`, `reduce` and `worker`,
        which end with the job. Its process serves it (tf.train.Server).
      target: without a cluster: that of a server which has it, in place of `task`.
      capacity: how many elements it holds; whoever puts more into it waits for who reads. -1 for any number.
      dtypes, shapes: of the components of an element; by default two scalar strings. Without shapes, scalars.
      element: a function of a key and a value that gives the components, one value or a tuple; by default the
        key and the value. What goes into a string and is no text is written as str() has it.

    Raises:
      ValueError: for a task that is none.
    """

    suffix = ".elements"

    def __init__(
        self,
        folder,
        shared_name,
        task=None,
        target=None,
        capacity=1000,
        dtypes=(kinds.string, kinds.string),
        shapes=None,
        element=None,
    ):
        self.folder = os.path.abspath(os.fspath(folder))
        self.shared_name = str(shared_name)
        if not self.shared_name:
            raise ValueError("a queue of results needs a shared_name, by which others find it")
        if task is not None and not _TASK.fullmatch(task):
            raise ValueError(f"task is {task!r}; give one as tf.device does: /job:read/task:0")
        if (task is None) == (target is None):
            raise ValueError(
                f"the queue '{self.shared_name}' needs one of `task` (a task of the cluster, such as "
                "/job:read/task:0) and `target` (of a server, without a cluster)"
            )
        self.task, self.target = task, target
        self._capacity = capacity
        self._dtypes = types_of(dtypes)
        self._shapes = shapes_of(
            [()] * len(self._dtypes) if shapes is None else shapes, self._dtypes
        )
        if len(self._shapes) != len(self._dtypes):
            raise ValueError(f"{len(self._shapes)} shapes for {len(self._dtypes)} dtypes")
        self._element = element or _pair

    def __str__(self):
        return f"the queue '{self.shared_name}' of {self.task or self.target}"

    @property
    def place(self):
        """(the job of its task, the task's index); (None, 0) for a target."""
        job, index = _TASK.fullmatch(self.task).groups() if self.task else (None, None)
        return job, int(index or 0)

    def queue(self):
        """The tf.FIFOQueue, in the default graph: for those who read."""
        with device(self.task):
            return FIFOQueue(
                self._capacity, self._dtypes, self._shapes, shared_name=self.shared_name
            )

    def placeholders(self):
        """What the components of one element are fed to."""
        return [placeholder(dtype, shape) for dtype, shape in zip(self._dtypes, self._shapes)]

    def record(self, key, value):
        """The bytes of a pair in a reducer's file: a record with the components, as pickle has them."""
        element = self._element(key, value)
        if not isinstance(element, (tuple, list)) or len(self._dtypes) == 1 != len(element):
            element = [element]
        if len(element) != len(self._dtypes):
            raise ValueError(
                f"an element of {self} has {len(self._dtypes)} components, and `element` gives {len(element)}"
            )
        components = map(_component, element, self._dtypes, self._shapes)
        return _millrace.record(pickle.dumps(list(components), protocol=5))


def _pair(key, value):
    return key, value


def _component(value, dtype, shape):
    if dtype == kinds.string and not isinstance(value, _TEXTS):
        value = str(value)
    array = np.asarray(convert_feed(value, dtype.as_datatype_enum))
    # A feed may be rounded or wrapped around; a result is put in as it is.
    if dtype.is_integer and not np.array_equal(array, np.asarray(value)):
        raise ValueError(f"{value!r:.100} is no {dtype.name}")
    if not shape.is_compatible_with(array.shape):
        raise ValueError(f"a component has the shape {array.shape}, where the queue has {shape}")
    return array


def _elements(path):
    """The elements of a reducer's file, in lists for one step each: the same ones whoever asks.

    Raises:
      MapReduceError: if the file is gone or damaged.
    """
    records = tf_record_iterator(path)
    while True:
        some, size = [], 0
        try:
            for record in itertools.islice(records, _AT_ONCE):
                some.append(pickle.loads(record))
                size += len(record)
                if size >= _STEP_BYTES:
                    break
        except errors.OpError as error:
            raise MapReduceError(f"what was reduced can't be read: {error.message}") from error
        if not some:
            return
        yield some


class Filling:
    """What is done with the queue of a job's results, as nodes of the default graph.

    Attributes:
      fed: per element of a step, the placeholders of its components.
      puts: what puts in the first of them, the first two, and so on.
      state: (whether it is closed, how many elements it has).
      close, cancel: close it; the second also ends who waits for room in it.
    """

    def __init__(self, output):
        self.output = output
        self.graph = get_default_graph()
        with device(output.task):
            made = output.queue()
            self.fed = [output.placeholders() for _ in range(_AT_ONCE)]
            self.puts = []
            for components in self.fed:  # one after the other, in order
                with control_dependencies(self.puts[-1:]):
                    self.puts.append(made.enqueue(components))
            self.state = (made.is_closed(), made.size())
            self.close = made.close()
            self.cancel = made.close(cancel_pending_enqueues=True)


class Results:
    """The queue of a job's results at work. Used in a `with` block, after which who reads waits for nothing.

    Args:
      filling: a Filling.
      session: gives a Session that reaches the queue. It is asked for when there is something to do: of a job
        that has failed the queue may be gone.
    """

    def __init__(self, filling, session):
        self._filling = filling
        self._make = session
        self._session = None
        self._is_own = False

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self._session is None:
            return
        # Who has the queue may be gone: why the job has ended says more.
        with contextlib.suppress(errors.OpError), self._session:
            if self._is_own:
                self._session.run(self._filling.cancel)

    @property
    def session(self):
        """The Session; opened when it is first asked for."""
        if self._session is None:
            self._session = self._make()
        return self._session

    def begin(self, workshop):
        """Has the queue for this job, until close().

        Raises:
          MapReduceError: unless it is open and empty, and a workshop before has put nothing into it.
        """
        workshop.check_nothing_was_put()
        is_closed, size = self._run("can't be had", self._filling.state)
        if is_closed or size:
            what = "is closed" if is_closed else f"has {size} elements"
            raise MapReduceError(
                f"{self._filling.output} {what} already: name another, or make it anew"
            )
        self._is_own = True

    def put_file(self, path):
        """Puts in all that a reducer has written.

        Under a lease each element is put in once, however often and by however many this is done.

        Raises:
          tf.errors.FailedPreconditionError: if the lease is lost.
          MapReduceError: if they can't be put in.
        """
        for some in _elements(path):
            feeds = {}
            for holders, components in zip(self._filling.fed, some):
                feeds.update(zip(holders, components))
            self._run("takes no more", self._filling.puts[len(some) - 1], feeds)

    def close(self):
        """No more elements come. MapReduceError if that can't be said."""
        self._run("can't be closed", self._filling.close)
        self._is_own = False

    def _run(self, what, fetches, feeds=None):
        try:
            return self.session.run(fetches, feeds)
        except errors.CancelledError as error:
            raise MapReduceError(f"{self._filling.output} was closed by somebody else") from error
        except errors.OpError as error:
            is_lost = isinstance(error, errors.FailedPreconditionError)
            if is_lost and entered_lease(self._filling.graph):
                raise
            raise MapReduceError(f"{self._filling.output} {what}: {error.message}") from error
