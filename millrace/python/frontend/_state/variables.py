"""Variables: values that live on a task and outlast the steps that change them.

A reference variable (the default, as in TensorFlow 1) is a node whose output refers to its value; a
resource variable (use_resource=True) is a handle that ops read and write. Both are found by device and
name, so programs that build the same variable on the same device share one.
"""

import contextlib

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.collection_protos import register_proto_function
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import init_scope, name_scope
from millrace._graph.default_session import session_or_default
from millrace._graph.graph import get_default_graph
from millrace._ops.operators import delegate
from millrace._ops.slicing import strided_slice_of
from millrace._state.slice_changes import SliceChanges
from millrace._state.variable_creators import MadeByCreators
from millrace._state.variable_defs import VariableDef, VariableMessages
from millrace._state.variable_sharing import is_trained
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Variable(SliceChanges, VariableMessages, metaclass=MadeByCreators):
    """A value that steps read and change.

    Args:
      initial_value: what the initializer sets: anything that converts to a Tensor, or a function
        without arguments that returns it.
      trainable: True (or None, but for one that is ON_READ) to add it to the collection of what optimizers
        change.
      collections: the collections it joins; GLOBAL_VARIABLES if None.
      validate_shape: False to allow values of any shape.
      caching_device: a device that keeps a copy for reading within a step.
      name: its name; "Variable" if None.
      dtype: its type; that of the initial value if None.
      expected_shape: accepted; the shape is that of the initial value.
      constraint: a function of the value that optimizers apply after a change.
      use_resource: True for a resource variable, False for a reference variable. In a function of
        tf.py_function all are resource variables.
      synchronization, aggregation: of tf.VariableSynchronization and tf.VariableAggregation.
      durable: True if its task is to keep it on its disk, so that it outlives the task's process: a
        server that was started with --state DIR. On another one steps that use it fail.
      variable_def, import_scope: a VariableDef whose nodes are in the graph, instead of all of these.

    Raises:
      ValueError: if there is no initial value, or its shape is not known and must be.
    """

    asks_creators = True
    replica_of = None  # (the ReplicatedVariable, the number) that it is a copy of

    def __new__(cls, *args, use_resource=None, variable_def=None, **kwargs):
        if cls is Variable:
            if variable_def is not None:
                use_resource = variable_def.is_resource
            elif get_default_graph().has_values:
                # A reference is read whenever the one who reads it runs: not in the order of the program.
                use_resource = True
            elif use_resource is None:
                use_resource = _Defaults.use_resource
            cls = ResourceVariable if use_resource else RefVariable
        return object.__new__(cls)

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
        use_resource=None,
        synchronization=None,
        aggregation=None,
        shape=None,
        durable=False,
    ):
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self.take(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(f"collections must be a list, got {collections!r}")
        trainable = is_trained(trainable, synchronization)
        self._trainable = bool(trainable)
        self.constraint = constraint
        self._caching_device = caching_device
        self._durable = bool(durable)
        self.graph = get_default_graph()
        self._build(
            initial_value, name, dtype and dtypes.as_dtype(dtype).base_dtype, validate_shape
        )
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        self.graph.add_to_collections(collections, self)

    def _build(self, initial_value, name, dtype, validate_shape):
        compute = initial_value if callable(initial_value) else None
        with init_scope(), name_scope(
            name, "Variable", [] if compute else [initial_value]
        ) as scope:
            own_name = scope[:-1]
            if compute is None:
                value = convert(initial_value, dtype, "initial_value")
                self._make(own_name, value, value.shape, validate_shape, groups=None)
            else:
                # The variable is known by name before it exists: its value is computed beside it.
                groups = [b"loc:@" + own_name.encode()]
                graph = self.graph
                with name_scope("Initializer"), graph.device(None), graph.colocated_with_names(
                    groups
                ):
                    value = convert(compute(), dtype, "initial_value")
                self._make(own_name, value, value.shape, validate_shape, groups)
        self._initial_value = value

    # ---- What it is ------------------------------------------------------------------------------

    @property
    def name(self):
        """Its name with ":0" at the end."""
        return self._handle.name

    @property
    def op(self):
        """The Operation that it is."""
        return self._handle.op

    @property
    def device(self):
        return self._handle.device

    @property
    def trainable(self):
        return self._trainable

    @property
    def durable(self):
        """Whether it asks its task to keep it on its disk."""
        held = self.graph.core.attr(self.op.node_id, "_durable")
        return held is not None and held[1]

    @property
    def shape(self):
        return self._shape

    def get_shape(self):
        return self._shape

    @property
    def initial_value(self):
        """The Tensor that the initializer sets."""
        return self._initial_value

    @property
    def initializer(self):
        """The Operation that sets the initial value."""
        return self._initializer

    def set_initial_value(self, value):
        """Makes a Tensor the initial value: what initializes the variable from now on sets that."""
        self._initializer = self.assign(value, read_value=False)
        self._initial_value = value

    def initialized_value(self):
        """The value, or the initial one if it has none yet: for initializing others from it."""
        with init_scope():
            return cond(is_variable_initialized(self), self.read_value, lambda: self._initial_value)

    # ---- Its value -------------------------------------------------------------------------------

    def value(self):
        """The Tensor that reading it gives."""
        return self._snapshot

    def eval(self, session=None):
        """The value, from `session` or the default one."""
        return self._snapshot.eval(session=session)

    def load(self, value, session=None):
        """Sets the value from the program, without a node in the graph."""
        session = session_or_default(session, self.graph, "Variable.load()")
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def gather_nd(self, indices, name=None):
        """The slices of the value whose places the rows of `indices` are; see tf.gather_nd."""
        return gen_ops.gather_nd(self.value(), indices, name=name)

    def set_shape(self, shape):
        """Adds what the program knows of the shape. ValueError if it contradicts what is known."""
        self._shape = self._shape.merge_with(shape)
        self._snapshot.set_shape(self._shape)

    def _as_tensor(self, dtype=None, name=None, as_ref=False):
        made = self._ref() if as_ref else self.value()
        return made._as_tensor(dtype)

    def __getitem__(self, key):
        return strided_slice_of(self._as_tensor(), key, variable=self)

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    __array_priority__ = 100

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    # ---- As a message ----------------------------------------------------------------------------

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        """The variable whose nodes are in the default graph, by their names in a VariableDef."""
        cls = ResourceVariable if variable_def.is_resource else RefVariable
        made = object.__new__(cls)
        made.take(variable_def, import_scope)
        return made

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


class RefVariable(Variable):
    """A variable whose node gives out a reference to its value."""

    def _make(self, name, value, shape, validate_shape, groups):
        if validate_shape and not shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value!r}")
        self._shape = shape if validate_shape else TensorShape(None)
        with self.graph.colocated_with_names(groups):
            self._handle = gen_ops.variable_v2(
                shape=self._shape, dtype=value.dtype.base_dtype, name=name + "/"
            )
        if self._durable:
            self.graph.ask_to_last(self._handle.op)
        with self.graph.colocate_with(self._handle.op):
            self._initializer = gen_ops.assign(
                self._handle, value, validate_shape=validate_shape, name="Assign"
            ).op
        with _reading(self._caching_device, self._handle.op):
            self._snapshot = gen_ops.identity(self._handle, name="read")

    @property
    def dtype(self):
        return self._handle.dtype

    def _ref(self):
        return self._handle

    def _as_graph_element(self):
        return self._handle

    def is_initialized(self, name=None):
        return is_variable_initialized(self)

    def read_value(self):
        """A Tensor that reads the variable where control dependencies put it."""
        return gen_ops.identity(self._handle, name="read")

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """A node that sets the value; a reference to the variable afterwards."""
        made = gen_ops.assign(self._handle, value, use_locking=use_locking, name=name)
        return made if read_value else made.op

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """A node that adds to the value."""
        made = gen_ops.assign_add(self._handle, delta, use_locking=use_locking, name=name)
        return made if read_value else made.op

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """A node that subtracts from the value."""
        made = gen_ops.assign_sub(self._handle, delta, use_locking=use_locking, name=name)
        return made if read_value else made.op

    def count_up_to(self, limit):
        """A node that adds 1 and gives the value before; OutOfRangeError at `limit`."""
        return gen_ops.count_up_to(self._handle, limit=limit)

    def change_slices(self, kind, indices, updates, use_locking, name):
        scatter = getattr(gen_ops, f"scatter_{kind}")
        return scatter(self._handle, indices, updates, use_locking=use_locking, name=name)

    def sparse_read(self, indices, name=None):
        """The slices of the value at these indices."""
        return gen_ops.gather_v2(self._handle, indices, 0, name=name)


class ResourceVariable(Variable):
    """A variable that ops read and write through a handle."""

    _is_resource = True

    def _make(self, name, value, shape, validate_shape, groups):
        if validate_shape and not shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value!r}")
        self._shape = shape if validate_shape else TensorShape(None)
        self._dtype = value.dtype.base_dtype
        with self.graph.colocated_with_names(groups):
            self._handle = gen_ops.var_handle_op(
                dtype=self._dtype, shape=self._shape, shared_name=name, name=name + "/"
            )
        if self._durable:
            self.graph.ask_to_last(self._handle.op)
        with self.graph.colocate_with(self._handle.op):
            with name_scope("IsInitialized"):
                self._is_initialized = gen_ops.var_is_initialized_op(self._handle)
            self._initializer = gen_ops.assign_variable_op(self._handle, value, name="Assign")
        with name_scope("Read"), _reading(self._caching_device, self._handle.op):
            self._snapshot = self._read()

    @property
    def dtype(self):
        return self._dtype

    @property
    def handle(self):
        """The Tensor that refers to the variable."""
        return self._handle

    def _read(self):
        made = gen_ops.read_variable_op(self._handle, dtype=self._dtype)
        made.set_shape(self._shape)
        return made

    def _ref(self):
        raise TypeError(f"{self!r} is a resource variable: it has no reference")

    def _as_graph_element(self):
        return self._snapshot

    def is_initialized(self, name=None):
        return gen_ops.var_is_initialized_op(self._handle, name=name)

    def value(self):
        """A Tensor that reads the variable."""
        if self._caching_device is not None:
            return self._snapshot
        with self.graph.colocate_with(None), self.graph.device(self._handle.device or None):
            return self._read()

    def read_value(self):
        """A Tensor that reads the variable where control dependencies put it."""
        with name_scope("Read"):
            return gen_ops.identity(self._read())

    def _write(self, op, value, name, read_value):
        value = convert(value, self._dtype, "value")
        self._shape.assert_is_compatible_with(value.shape)
        made = getattr(gen_ops, op)(self._handle, value, name=name)
        if not read_value:
            return made
        with self.graph.control_dependencies([made]):
            return self._read()

    def assign(self, value, use_locking=None, name=None, read_value=True):
        """A node that sets the value; the value afterwards."""
        return self._write("assign_variable_op", value, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        """A node that adds to the value."""
        return self._write("assign_add_variable_op", delta, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        """A node that subtracts from the value."""
        return self._write("assign_sub_variable_op", delta, name, read_value)

    def change_slices(self, kind, indices, updates, use_locking, name):
        scatter = getattr(gen_ops, f"resource_scatter_{kind}")
        made = scatter(self._handle, indices, updates, name=name)
        with self.graph.control_dependencies([made]):
            return self._read()

    def count_up_to(self, limit):
        """A node that adds 1 and gives the value before; OutOfRangeError at `limit`."""
        return gen_ops.resource_count_up_to(self._handle, limit=limit, T=self._dtype)

    def sparse_read(self, indices, name=None):
        """The slices of the value at these indices."""
        indices = convert(indices, name="indices")
        made = gen_ops.resource_gather(self._handle, indices, dtype=self._dtype, name=name)
        if self._shape.ndims:
            made.set_shape(indices.shape.concatenate(self._shape[1:]))
        return made


delegate(RefVariable)
delegate(ResourceVariable)
RefVariable.__getitem__ = ResourceVariable.__getitem__ = Variable.__getitem__


class _Defaults:
    """What kind of variable `tf.Variable` makes unless told."""

    use_resource = False


def enable_resource_variables():
    """Makes resource variables the default."""
    _Defaults.use_resource = True


def disable_resource_variables():
    """Makes reference variables the default, as they are at the start."""
    _Defaults.use_resource = False


def resource_variables_enabled():
    return _Defaults.use_resource


@contextlib.contextmanager
def _reading(caching_device, op):
    """Where the node that reads a variable goes: beside it, or to the device that caches."""
    graph = op.graph
    if caching_device is None:
        with graph.colocate_with(op):
            yield
    else:
        device = caching_device(op) if callable(caching_device) else caching_device
        with graph.colocate_with(None, ignore_existing=True), graph.device(device):
            yield


def is_variable_initialized(variable):
    """A bool Tensor: whether a variable has a value."""
    if isinstance(variable, ResourceVariable):
        return variable.is_initialized()
    return gen_ops.is_variable_initialized(variable)


for _collection in (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
):
    register_proto_function(_collection, VariableDef, Variable.from_proto)
