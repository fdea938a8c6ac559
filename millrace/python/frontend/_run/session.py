"""Session: runs the nodes of a graph on a cluster, or in this process."""

import threading

from millrace import _millrace
from millrace._graph import default_session
from millrace._graph.graph import Graph, get_default_graph
from millrace._run.config import RunMetadata, checked_retries, fill_metadata, session_options
from millrace._run.error_context import with_operation
from millrace._run.fetches import Fetches, cache_key, parted
from millrace._run.leases import (
    ENTERED,
    Heartbeats,
    Lease,
    StepSignatures,
    entered_lease,
    under_no_lease,
)
from millrace._run.process_options import options as options_of_process
from millrace._run.ready_step import ReadyStep, convert_feed, feed_specs
from millrace._run.session_handles import KeptTensors
from millrace._run.targets import add_session, dialled
from millrace._values import errors

_MAX_PREPARED = 1024  # steps that a session keeps ready


class BaseSession:
    """What Session and InteractiveSession have in common."""

    def __init__(self, target="", graph=None, config=None):
        if graph is None:
            graph = get_default_graph()
        elif not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph).__name__}")
        if config is None:
            config = options_of_process.as_config()
        self._graph = graph
        self._config = config
        self._closed = False
        self._steps = {}
        self._heartbeats = Heartbeats()
        self._signatures = StepSignatures(graph)
        self._kept = KeptTensors(graph, self._run, self._lease)
        self._lock = threading.Lock()
        self._target, master = dialled(target)
        self._core = _millrace.ClientSession(master, session_options(config), graph.core)
        add_session(self)

    @property
    def graph(self):
        """The Graph that it runs."""
        return self._graph

    @property
    def graph_def(self):
        return self._graph.as_graph_def()

    @property
    def sess_str(self):
        return self._target

    # ---- Running ---------------------------------------------------------------------------------

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs what the fetches need, once, and returns their values.

        Args:
          fetches: a Tensor, Operation, Variable, the name of one, or a nested list, tuple, namedtuple
            or dictionary of these. Operations are run and give None.
          feed_dict: {Tensor, Variable or name: value} that replace what these would compute.
          options: a tf.RunOptions: a time limit, tracing, retries.
          run_metadata: a tf.RunMetadata that gets what was traced.

        Returns:
          the structure of the fetches with NumPy arrays and scalars (bytes for strings) in it. The
          arrays are the caller's own.

        Raises:
          RuntimeError: if the session is closed.
          TypeError, ValueError: if fetches or feeds make no sense.
          tf.errors.OpError: if running fails; the class says how.
        """
        if ENTERED and (lease := entered_lease(self._graph)) is not None:
            return lease.step(self._run, fetches, feed_dict, options, run_metadata)
        if options is not None or run_metadata is not None:
            return self._run_with_options(fetches, feed_dict, options, run_metadata)
        step, values = None, ()
        try:
            if feed_dict:
                step = self._steps.get((cache_key(fetches), *feed_dict))
                values = list(feed_dict.values())
            else:
                step = self._steps.get(cache_key(fetches))
        except TypeError:
            pass  # something that cannot be a key
        # Not inside of `except`: an error would be shown as one that came of the other.
        if step is None:
            step, values = self._prepared(fetches, feed_dict)
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        try:
            return step.run(values)
        except errors.OpError as error:
            raise self._explained(error) from None

    def _run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """As run(), under no lease."""
        with under_no_lease():
            return self.run(fetches, feed_dict, options, run_metadata)

    def _lease(self, taken, parts):
        lease = Lease(taken, parts, self._run, self._signatures)
        self._heartbeats.keep(lease)
        return lease

    def _prepared(self, fetches, feed_dict):
        """(the ReadyStep for these fetches and feeds, the values in its order)."""
        self._check_usable()
        parsed = Fetches(self._graph, fetches, self._kept)
        tensors, values = self._feeds(feed_dict)
        step = self._make_step(parsed, tensors)
        try:
            key = cache_key(fetches)
            if feed_dict:
                key = (key, *feed_dict)
            # Only what is fed as it is: another time a structure is to be taken apart again.
            is_flat = not any(isinstance(each, tuple) for each in feed_dict or ())
            if is_flat and len(values) == len(feed_dict or ()):
                if len(self._steps) >= _MAX_PREPARED:
                    self._steps.clear()
                self._steps[key] = step
        except TypeError:
            pass  # something that cannot be a key: prepared again next time
        return step, values

    def _make_step(self, parsed, tensors):
        positions = {tensor: index for index, tensor in enumerate(tensors)}
        fed = {
            index: positions[tensor]
            for index, tensor in enumerate(parsed.tensors)
            if tensor in positions
        }
        fetched = [tensor.name for i, tensor in enumerate(parsed.tensors) if i not in fed]
        targets = [operation.name for operation in parsed.operations]
        if not fetched and not targets:
            return ReadyStep(None, parsed, fed, tensors)
        self._send_graph()
        try:
            prepared = self._core.prepare(feed_specs(tensors), fetched, targets, convert_feed)
        except errors.OpError as error:
            raise self._explained(error) from None
        return ReadyStep(prepared, parsed, fed, tensors)

    def _feeds(self, feed_dict):
        """(Tensors, values) of a feed_dict."""
        tensors, values = [], []
        for key, value in parted(feed_dict or {}):
            tensor = self._feedable(key)
            if tensor in tensors:
                raise ValueError(f"'{tensor.name}' is fed twice")
            tensors.append(tensor)
            values.append(value)
        return tensors, values

    def _feedable(self, key):
        try:
            tensor = self._graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error}") from None
        if tensor.op.is_in_loop:
            raise ValueError(f"Tensor {tensor.name} may not be fed: it is inside a loop.")
        return tensor

    def _send_graph(self):
        with self._lock:
            self._core.send_new_nodes()
            self._graph.mark_sent(self._core.num_sent)

    def _check_usable(self):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._graph.version == 0:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )

    def _run_with_options(self, fetches, feed_dict, options, run_metadata):
        self._check_usable()
        if run_metadata is not None and not isinstance(run_metadata, RunMetadata):
            raise TypeError("run_metadata must be a tf.RunMetadata")
        parsed = Fetches(self._graph, fetches, self._kept)
        tensors, values = self._feeds(feed_dict)
        self._send_graph()
        try:
            fetched, traces, graphs = self._core.run(
                feed_specs(tensors),
                values,
                [tensor.name for tensor in parsed.tensors],
                [operation.name for operation in parsed.operations],
                convert_feed,
                options.timeout_in_ms if options is not None else 0,
                options.trace_level if options is not None else 0,
                bool(options is not None and options.output_partition_graphs),
                checked_retries(options.retries) if options is not None else None,
            )
        except errors.OpError as error:
            raise self._explained(error) from None
        if run_metadata is not None:
            fill_metadata(run_metadata, traces, graphs)
        return parsed.result(fetched)

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function that runs these fetches: quicker than `run`, which looks them up each time.

        Args:
          fetches: as in `run`.
          feed_list: Tensors whose values the function takes, in this order.
          accept_options: True to let the function take options= and run_metadata=.
        """
        self._check_usable()
        parsed = Fetches(self._graph, fetches, self._kept)
        tensors = [self._feedable(key) for key in feed_list or []]
        step = self._make_step(parsed, tensors)
        count = len(tensors)

        def call(*values, options=None, run_metadata=None):
            if len(values) != count:
                raise TypeError(f"this callable takes {count} values, {len(values)} were given")
            if options is not None or run_metadata is not None:
                if not accept_options:
                    raise TypeError("make_callable was not asked to accept_options")
                return self._run_with_options(
                    fetches, dict(zip(tensors, values)), options, run_metadata
                )
            if ENTERED and entered_lease(self._graph) is not None:
                return self.run(fetches, dict(zip(tensors, values)))
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            try:
                return step.run(values)
            except errors.OpError as error:
                raise self._explained(error) from None

        return call

    def _explained(self, error):
        """The error as the program is to see it."""
        # Closed by another thread meanwhile; how far the call came decides what it was told.
        if self._closed and isinstance(
            error, (errors.FailedPreconditionError, errors.AbortedError)
        ):
            return RuntimeError("Attempted to use a closed Session.")
        return with_operation(error, self._graph, not self._target)

    # ---- In several legs -------------------------------------------------------------------------

    def partial_run_setup(self, fetches, feeds=None):
        """Announces a step that `partial_run` then feeds and fetches bit by bit.

        Args:
          fetches: everything that will be fetched.
          feeds: a list of everything that will be fed.

        Returns:
          a handle for partial_run.
        """
        self._check_usable()
        parsed = Fetches(self._graph, fetches, self._kept)
        tensors = [self._feedable(key) for key in feeds or []]
        if not tensors:
            raise errors.InvalidArgumentError(
                None, None, "partial_run_setup needs at least one feed; use run() without any"
            )
        self._send_graph()
        try:
            return self._core.partial_run_setup(
                [tensor.name for tensor in tensors],
                [tensor.name for tensor in parsed.tensors],
                [operation.name for operation in parsed.operations],
            )
        except errors.OpError as error:
            raise self._explained(error) from None

    def partial_run(self, handle, fetches, feed_dict=None):
        """One leg of a step that was announced by `partial_run_setup`."""
        self._check_usable()
        parsed = Fetches(self._graph, fetches, self._kept)
        if parsed.operations:
            raise ValueError(
                "partial_run fetches Tensors; announce Operations in partial_run_setup"
            )
        tensors, values = self._feeds(feed_dict)
        try:
            fetched = self._core.partial_run(
                handle,
                feed_specs(tensors),
                values,
                [tensor.name for tensor in parsed.tensors],
                convert_feed,
            )
        except errors.OpError as error:
            raise self._explained(error) from None
        return parsed.result(fetched)

    # ---- The rest --------------------------------------------------------------------------------

    def list_devices(self):
        """The devices that nodes may run on."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        return [_DeviceAttributes(*device) for device in self._core.list_devices()]

    def close(self):
        """Ends all runs and frees what the session holds. Variables and queues stay."""
        if not self._closed:
            self._closed = True
            self._steps = {}
            self._heartbeats.end()
            self._core.close()

    def as_default(self):
        """Makes this the default session inside a `with` block; does not close it."""
        return default_session.Scope(self)


class _DeviceAttributes:
    """A device: name, device_type, memory_limit_bytes, incarnation."""

    def __init__(self, name, device_type, memory_limit_bytes, incarnation):
        self.name = name
        self.device_type = device_type
        self.memory_limit_bytes = memory_limit_bytes
        self.incarnation = incarnation

    def __repr__(self):
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes})"


class Session(BaseSession):
    """Runs the nodes of a graph.

    Args:
      target: "" for this process alone, a server's target ("grpc://host:port") for its cluster.
      graph: the Graph; the default one if None.
      config: a tf.ConfigProto.

    As a context manager it and its graph are the default inside, and it is closed at the end.
    """

    def __enter__(self):
        self._contexts = (self._graph.as_default(), self.as_default())
        for context in self._contexts:
            context.__enter__()
        return self

    def __exit__(self, *error):
        for context in reversed(self._contexts):
            context.__exit__(*error)
        self.close()

    @staticmethod
    def reset(target, containers=None, config=None):
        """Drops the variables and queues in `containers` (all if None) on the target's cluster."""
        _millrace.reset(dialled(target)[1], list(containers or []))


class InteractiveSession(BaseSession):
    """A Session that makes itself the default one at once, until it is closed."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._default_graph = graph.as_default() if graph is not None else None
        if self._default_graph is not None:
            self._default_graph.__enter__()
        default_session.push(self)

    def close(self):
        super().close()
        if default_session.pop(self) and self._default_graph is not None:
            self._default_graph.__exit__(None, None, None)
