"""QueueRunner: the threads that fill a queue, and close it at the end."""

import logging
import threading
import time
import weakref

from millrace._graph.collection_protos import register_proto_function
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection, get_collection
from millrace._graph.default_session import get_default_session
from millrace._graph.graph import get_default_graph
from millrace._run.session import BaseSession
from millrace._values import errors
from millrace._values.messages import Message, many

_log = logging.getLogger("millrace")


class QueueRunnerDef(Message):
    """A QueueRunner by the names of its nodes, as MetaGraphs hold it."""

    _fields = {
        "queue_name": (1, str),
        "enqueue_op_name": (2, many(str)),
        "close_op_name": (3, str),
        "cancel_op_name": (4, str),
        "queue_closed_exception_types": (5, many(int)),
    }


class QueueRunnerThread(threading.Thread):
    """A thread of a QueueRunner: once its queue is closed it has nothing more to do."""


class QueueRunner:
    """Operations that fill a queue, each run again and again in a thread of its own.

    When the input of all of them is exhausted the queue is closed; when the program stops, or one of
    them fails, it is closed and enqueues that wait are cancelled.

    Args:
      queue: a queue.
      enqueue_ops: a list of Operations; one thread runs each.
      close_op: closes the queue and leaves waiting enqueues alone; made if None.
      cancel_op: closes the queue and cancels them; made if None.
      queue_closed_exception_types: a tuple of tf.errors classes that mean the end of the input;
        (OutOfRangeError,) if None.
      queue_runner_def: a QueueRunnerDef to make it from instead.
      import_scope: the name scope under which the nodes of `queue_runner_def` are.

    Attributes:
      queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types: as given or made.
      name: the queue's name.
      exceptions_raised: errors of threads that had no Coordinator to tell.

    Raises:
      ValueError: if queue or enqueue_ops is missing, or both they and a definition are given.
      TypeError: if queue_closed_exception_types is no tuple of errors.
    """

    def __init__(
        self,
        queue=None,
        enqueue_ops=None,
        close_op=None,
        cancel_op=None,
        queue_closed_exception_types=None,
        queue_runner_def=None,
        import_scope=None,
    ):
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._take(queue_runner_def, import_scope)
        else:
            self._make(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        self._lock = threading.Lock()
        self._running = weakref.WeakKeyDictionary()  # session -> how many of its threads run
        self.exceptions_raised = []

    def _make(self, queue, enqueue_ops, close_op, cancel_op, closed_types):
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        if closed_types is not None and not _are_errors(closed_types):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
                f"saw: {closed_types}"
            )
        self.queue = queue
        self.enqueue_ops = enqueue_ops
        self.close_op = queue.close() if close_op is None else close_op
        if cancel_op is None:
            cancel_op = queue.close(cancel_pending_enqueues=True)
        self.cancel_op = cancel_op
        self.queue_closed_exception_types = closed_types or (errors.OutOfRangeError,)

    def _take(self, definition, import_scope):
        prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""

        def element(name):
            return get_default_graph().as_graph_element(prefix + name)

        self.queue = element(definition.queue_name)
        self.enqueue_ops = [element(name) for name in definition.enqueue_op_name]
        self.close_op = element(definition.close_op_name)
        self.cancel_op = element(definition.cancel_op_name)
        # Definitions of old programs have none.
        codes = definition.queue_closed_exception_types or [errors.OUT_OF_RANGE]
        self.queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code) for code in codes
        )

    @property
    def name(self):
        return self.queue.name

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """The threads that fill the queue: one per Operation, and with `coord` one that closes it.

        Args:
          sess: the Session that runs them.
          coord: a Coordinator that is told of errors, and when it stops ends the threads.
          daemon: True for threads that do not keep the process alive.
          start: True to start them.

        Returns:
          a list of threads; empty while those of an earlier call for `sess` still run.
        """
        with self._lock:
            if self._running.get(sess):
                return []
            self._running[sess] = len(self.enqueue_ops)
            self.exceptions_raised = []
        threads = [
            QueueRunnerThread(
                target=self._fill,
                args=(sess, operation, coord),
                name=f"QueueRunnerThread-{self.name}-{operation.name}",
            )
            for operation in self.enqueue_ops
        ]
        if coord is not None:
            threads.append(
                QueueRunnerThread(
                    target=self._close_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def _fill(self, sess, operation, coord):
        """Runs one Operation until its input ends, it fails, or the Coordinator stops."""
        try:
            if self._fill_until_closed(sess, operation, coord) and self._is_last(sess):
                self._run_quietly(sess, self.close_op)
        except Exception as error:
            self._is_last(sess)
            if coord is not None:
                coord.request_stop(error)
                return
            _log.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self.exceptions_raised.append(error)
            raise

    def _fill_until_closed(self, sess, operation, coord):
        """True if the input ended, False if the Coordinator stopped."""
        run = sess.make_callable(operation)
        while coord is None or not coord.should_stop():
            try:
                run()
            except self.queue_closed_exception_types:
                return True
        self._is_last(sess)
        return False

    def _is_last(self, sess):
        """Counts the end of one thread. True if no other runs for this session."""
        with self._lock:
            self._running[sess] -= 1
            return self._running[sess] == 0

    def _close_on_stop(self, sess, coord):
        coord.wait_for_stop()
        if coord.leaves_queues_open():
            return
        self._run_quietly(sess, self.cancel_op)

    def _run_quietly(self, sess, operation):
        try:
            sess.run(operation)
        except Exception as error:  # the session may be gone, and with it the queue
            _log.debug("%s did not run at the end of its queue: %s", operation.name, error)

    def to_proto(self, export_scope=None):
        """A QueueRunnerDef; None if the queue is not in the name scope `export_scope`."""
        if export_scope and not self.name.startswith(export_scope):
            return None
        prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
        return QueueRunnerDef(
            queue_name=self.name.removeprefix(prefix),
            enqueue_op_name=[op.name.removeprefix(prefix) for op in self.enqueue_ops],
            close_op_name=self.close_op.name.removeprefix(prefix),
            cancel_op_name=self.cancel_op.name.removeprefix(prefix),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(kind)
                for kind in self.queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def, import_scope=None):
        """The QueueRunner of a QueueRunnerDef, whose nodes are in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


_CLOSING = 1.0  # seconds that threads get to see that their queue is closed


def end_filling(coord, sess, grace_secs):
    """Asks all threads of a Coordinator to end, and closes the session if those that fill queues don't.

    What such a thread waits for may be something else than its queue, gradients for instance; the end of
    the session ends that too. Other threads get `grace_secs` before.
    """
    coord.request_stop()
    until = time.monotonic() + grace_secs
    threads = coord.registered_threads
    fillers = [thread for thread in threads if isinstance(thread, QueueRunnerThread)]
    for thread in threads:
        if thread not in fillers and thread is not threading.current_thread() and thread.ident:
            thread.join(max(0, until - time.monotonic()))
    until = min(until, time.monotonic() + _CLOSING)
    for thread in fillers:
        if thread.ident:
            thread.join(max(0, until - time.monotonic()))
    if any(thread.is_alive() for thread in fillers):
        try:
            sess.close()
        except errors.OpError as error:
            _log.debug("closing a session whose threads still waited: %s", error)


def _are_errors(types):
    return (
        isinstance(types, tuple)
        and bool(types)
        and all(isinstance(kind, type) and issubclass(kind, errors.OpError) for kind in types)
    )


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    """Adds a QueueRunner to those that start_queue_runners starts."""
    add_to_collection(collection, qr)


def start_queue_runners(
    sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS
):
    """Starts the threads of all QueueRunners of the default graph.

    Args:
      sess: the Session that runs them; the default one if None.
      coord: a Coordinator for all of them.
      daemon: True for threads that do not keep the process alive.
      start: False to make them and not start them.
      collection: where the QueueRunners are.

    Returns:
      the threads; none for a MonitoredSession, which starts them itself.

    Raises:
      ValueError: if there is no session; TypeError: if `sess` is none.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if getattr(sess, "starts_queue_runners", False):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = get_collection(collection)
    if not runners:
        _log.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can "
            "safely remove the call to this deprecated function."
        )
    with sess.graph.as_default():
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]


register_proto_function(GraphKeys.QUEUE_RUNNERS, QueueRunnerDef, QueueRunner.from_proto)
