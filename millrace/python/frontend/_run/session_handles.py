"""Tensors that a session keeps where they are from one run to the next, and the handles by which it knows them."""

import contextlib

from millrace import _gen as gen_ops
from millrace._graph.default_graph import colocate_with, device
from millrace._graph.operation import Tensor
from millrace._ops.arrays import placeholder
from millrace._values import dtypes
from millrace._values.errors import OpError


def get_session_handle(data, name=None):
    """A Tensor whose fetch gives a TensorHandle: `data` stays on its device, and is not copied to the program.

    Args:
      data: a Tensor.
      name: a name for the node.

    Raises:
      TypeError: if `data` is no Tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        return gen_ops.get_session_handle(data, name=name)


def get_session_tensor(handle, dtype, name=None):
    """(placeholder, Tensor): the kept value of whatever handle is fed to the placeholder.

    Args:
      handle: a TensorHandle or its `handle`, which tells the device.
      dtype: of the value.
      name: a name for the node.
    """
    with device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        return holder, gen_ops.get_session_tensor(holder, dtype, name=name)


def delete_session_tensor(handle, name=None):
    """(placeholder, Operation): the Operation forgets the value of the handle that is fed.

    Args:
      handle: a TensorHandle or its `handle`, which tells the device.
      name: a name for the node.
    """
    with device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        return holder, gen_ops.delete_session_tensor(holder, name=name)


def is_handle(tensor):
    """Whether fetching a Tensor gives a TensorHandle."""
    return tensor.op.type in ("GetSessionHandle", "GetSessionHandleV2")


def _text(handle):
    return handle.decode() if isinstance(handle, bytes) else str(handle)


def _device_of(handle):
    return _text(handle).rpartition(";")[2]


class TensorHandle:
    """A tensor that stays on a device as long as its session is open and this object lives.

    Fed for a Tensor, it is the value; `handle` is what placeholders of get_session_tensor take.

    Attributes:
      handle: a string, "node;number;device".
      dtype: of the value.
    """

    def __init__(self, handle, dtype, kept):
        self.handle = handle
        self.dtype = dtype
        self._kept = kept
        self._owns = True

    def __del__(self):
        if self._owns:
            self._kept.abandon(self.handle)

    def __str__(self):
        return self.handle

    def _check(self):
        if not self._owns:
            raise TypeError(f"Persistent tensor {self.handle} may have already been deleted.")

    def eval(self):
        """The value, as a NumPy array or scalar."""
        self._check()
        return self._kept.get(self.handle, self.dtype)

    def delete(self):
        """Forgets the value; the object is of no use after that."""
        self._check()
        self._owns = False
        self._kept.delete(self.handle)

    def get_raw_handle(self):
        """The string alone; from now on the value stays until the session closes, or deletes it."""
        self._owns = False
        return self.handle


class KeptTensors:
    """The tensors that a session keeps: what its handles ask it for.

    Args:
      graph: the session's Graph.
      run: its run().
      lease: what makes a Lease of what fetching a LeasedDequeue gave: (the LeasedDequeue, its parts).
    """

    _MOST_ABANDONED = 10

    def __init__(self, graph, run, lease):
        self.lease = lease
        self._graph = graph
        self._run = run
        self._readers = {}
        self._deleters = {}
        self._abandoned = []

    def handle(self, value, tensor):
        """The TensorHandle for what fetching a Tensor gave."""
        self._delete_abandoned()
        return TensorHandle(_text(value), tensor.op.inputs[0].dtype, self)

    def get(self, handle, dtype):
        """The value of a handle."""
        key = (_device_of(handle), dtype)
        if key not in self._readers:
            with self._graph.as_default():
                self._readers[key] = get_session_tensor(handle, dtype)
        holder, tensor = self._readers[key]
        return self._run(tensor, {holder: handle})

    def delete(self, handle):
        """Forgets the value of a handle."""
        key = _device_of(handle)
        if key not in self._deleters:
            with self._graph.as_default():
                self._deleters[key] = delete_session_tensor(handle)
        holder, deleter = self._deleters[key]
        self._run(deleter, {holder: handle})

    def abandon(self, handle):
        """Notes that nobody has this handle any more. Called at any moment, so it runs nothing."""
        self._abandoned.append(handle)

    def _delete_abandoned(self):
        if len(self._abandoned) < self._MOST_ABANDONED:
            return
        abandoned, self._abandoned = self._abandoned, []
        for handle in abandoned:
            # What can't be deleted (it is gone already, its task is, the graph is finalized) stays until the
            # session closes: the run that brought us here is not about it.
            with contextlib.suppress(OpError, RuntimeError):
                self.delete(handle)
