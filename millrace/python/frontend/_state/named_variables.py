"""tf.get_variable and tf.variable_scope: variables by name, made once and shared on request."""

import contextlib
import enum
import functools
import inspect

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert, own_dtype
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._state.initializers import GlorotUniform, Zeros
from millrace._state.partitioned_variables import (
    PartitionedVariable,
    PartitionInfo,
    partitions_of,
    slices_of,
)
from millrace._state.regularized import regularized
from millrace._state.variable_defs import SaveSliceInfo
from millrace._state.variable_sharing import is_trained
from millrace._state.variables import Variable
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class _Reuse(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE

_INHERITED = (
    "initializer",
    "regularizer",
    "caching_device",
    "dtype",
    "constraint",
    "use_resource",
    "partitioner",
    "custom_getter",
)


class VariableScope:
    """Where get_variable looks: a name, whether variables are reused, and defaults for new ones.

    Attributes:
      name: the prefix of the variables' names.
      reuse: None or False to make new variables, True to use existing ones, AUTO_REUSE for either.
      initializer, regularizer, caching_device, dtype, constraint, use_resource: defaults.
      partitioner: what divides new variables into parts, or None.
      custom_getter: what makes variables in place of get_variable, or None.
      original_name_scope: the name scope that was opened with it.
    """

    def __init__(self, name="", reuse=None, original_name_scope="", **defaults):
        self.name = name
        self.reuse = reuse
        self.original_name_scope = original_name_scope
        for key in _INHERITED:
            setattr(self, key, defaults.get(key))
        if self.dtype is None:
            self.dtype = dtypes.float32

    def reuse_variables(self):
        self.reuse = True

    def set_initializer(self, initializer):
        self.initializer = initializer

    def set_regularizer(self, regularizer):
        self.regularizer = regularizer

    def set_partitioner(self, partitioner):
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self.custom_getter = custom_getter

    def set_dtype(self, dtype):
        self.dtype = dtype

    def set_use_resource(self, use_resource):
        self.use_resource = use_resource

    def set_caching_device(self, caching_device):
        self.caching_device = caching_device

    def get_collection(self, name):
        return get_default_graph().get_collection(name, self.name + "/" if self.name else None)

    def trainable_variables(self):
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, name, **kwargs):
        return get_variable(name, _scope=self, **kwargs)


class _Store:
    """The named variables of one graph, and its current scope."""

    def __init__(self):
        self.variables = {}
        self.partitioned = {}
        self.scope = VariableScope()
        # The scopes that were opened in each scope that is open now, the innermost last. What was
        # opened in one is forgotten when it is left: who enters it again finds the same default names.
        self.opened = [_Opened()]
        self._forgotten = []  # per scope that was entered again and is open

    def forget_below(self, name):
        """Forgets also what was opened under the name of a scope that is left, but not in it: slots of its
        variables, which an optimizer of a second model finds again thereby."""
        gone = [(level, each) for level in self.opened for each in level.forget_below(name)]
        if gone:
            for level in self.opened:
                level.tried.clear()
            if self._forgotten:
                self._forgotten[-1].extend(gone)

    @contextlib.contextmanager
    def entered_again(self):
        """While a scope is open that was entered as such: when it is left, all is known that was before."""
        forgotten = _Forgotten()
        self._forgotten.append(forgotten)
        try:
            yield
        finally:
            self._forgotten = [each for each in self._forgotten if each is not forgotten]
            for level, name in forgotten:
                level.add(name)

    def is_open_name(self, name):
        return any(name in level.names for level in self.opened)

    def unused(self, name):
        """`name`, or with the first of _1, _2 ... that no scope was opened under."""
        if not self.is_open_name(name):
            return name
        tried = self.opened[-1].tried
        index = tried.get(name, 1)
        while self.is_open_name(f"{name}_{index}"):
            index += 1
        tried[name] = index
        return f"{name}_{index}"


class _Opened:
    """The full names of the scopes that were opened in one scope."""

    def __init__(self):
        self.names = set()
        self.tried = {}  # by default name: the numbers below are taken
        self._below = {}  # by a name: those that begin with it and a slash

    def add(self, name):
        if name not in self.names:
            self.names.add(name)
            for above in _names_above(name):
                self._below.setdefault(above, set()).add(name)

    def forget_below(self, name):
        """Forgets the names below one; gives them."""
        gone = self._below.pop(name, ())
        for each in gone:
            self.names.discard(each)
            for above in _names_above(each):
                self._below.get(above, set()).discard(each)
        return gone

    def copied(self):
        return self.joined(_Opened())

    def joined(self, other):
        """One that knows what both do."""
        made = _Opened()
        for name in self.names | other.names:
            made.add(name)
        made.tried = {
            name: max(self.tried.get(name, 0), other.tried.get(name, 0))
            for name in {**self.tried, **other.tried}
        }
        return made


class _Forgotten(list):
    """The (level, name) pairs that were forgotten while a scope was open."""


def _names_above(name):
    """ "a" and "a/b" of "a/b/c"."""
    end = name.find("/")
    while end >= 0:
        yield name[:end]
        end = name.find("/", end + 1)


def _store():
    return get_default_graph().own(_Store)


def scopes_of_variables(graph):
    """The variable scopes that a graph is in, for put_scopes_of_variables."""
    store = graph.own(_Store)
    return store.scope, [level.copied() for level in store.opened]


def put_scopes_of_variables(graph, scopes):
    """Has a graph be in the variable scopes that scopes_of_variables gave."""
    store = graph.own(_Store)
    store.scope, opened = scopes
    store.opened[:] = [level.copied() for level in opened]


def has_variable(name):
    """Whether get_variable has made a variable of this full name."""
    return name in _store().variables


def get_variable_scope():
    """The current VariableScope."""
    return _store().scope


def get_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=None,
    aggregation=None,
    durable=False,
    _scope=None,
    **unused,
):
    """The variable of this name in the current scope: an existing one, or a new one.

    Args:
      name: its name within the scope.
      shape: the shape; may be left out if `initializer` is a value.
      dtype: the type; if None, that of `initializer` if it is a value, else the scope's.
      initializer: a function of (shape, dtype), a value, or None for the scope's, else Glorot's
        uniform one for floating types and zeros for others.
      regularizer: a function of the variable whose result joins the regularization losses.
      trainable: True to add it to the collection of what optimizers change; None for True, but for a
        variable that is ON_READ.
      collections, caching_device, validate_shape, use_resource, constraint, durable: as in tf.Variable.
      partitioner: a function of (shape=, dtype=) that gives how many parts each axis is divided into; the
        scope's if None. A scalar is never divided.
      custom_getter: a function (getter, name, **arguments) that is called in place of this one, with the
        variable's full name, and mostly calls getter; the scope's if None.
      synchronization, aggregation: of tf.VariableSynchronization and tf.VariableAggregation.

    Raises:
      ValueError: if it exists and the scope does not reuse, if it does not exist and the scope
        reuses, or if type or shape differ from those of the existing one.
    """
    store = _store()
    scope = _scope or store.scope
    trainable = is_trained(trainable, synchronization)
    partitioner = partitioner or scope.partitioner
    initializer = scope.initializer if initializer is None else initializer
    full_name = f"{scope.name}/{name}" if scope.name else name
    getter = custom_getter or scope.custom_getter
    # Not every getter of the program takes what TensorFlow's have not.
    wish = {"durable": True} if durable else {}
    wish |= {"synchronization": synchronization} if synchronization is not None else {}
    wish |= {"aggregation": aggregation} if aggregation is not None else {}
    if getter is not None:
        return getter(
            functools.partial(_made_by_getter, scope),
            full_name,
            shape=shape,
            dtype=_element_type(dtype, initializer, scope),
            initializer=initializer,
            regularizer=regularizer or scope.regularizer,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device or scope.caching_device,
            partitioner=partitioner,
            validate_shape=validate_shape,
            use_resource=scope.use_resource if use_resource is None else use_resource,
            constraint=constraint or scope.constraint,
            reuse=scope.reuse,
            **wish,
        )
    is_scalar = isinstance(shape, (list, tuple)) and not shape
    if full_name in store.partitioned or partitioner is not None and not is_scalar:
        return _partitioned(
            store,
            scope,
            full_name,
            shape,
            dtype,
            initializer,
            partitioner,
            regularizer=regularizer or scope.regularizer,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device or scope.caching_device,
            validate_shape=validate_shape,
            use_resource=scope.use_resource if use_resource is None else use_resource,
            constraint=constraint or scope.constraint,
            **wish,
        )
    existing = store.variables.get(full_name)
    if existing is not None:
        return _reused(existing, full_name, scope.reuse, shape, dtype)
    if scope.reuse is True:
        raise ValueError(
            f"Variable {full_name} does not exist, or was not created with tf.get_variable(). Did "
            "you mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    dtype = _element_type(dtype, initializer, scope)
    with name_scope(None):  # the name is full already
        made = Variable(
            _initial_value(full_name, shape, dtype, initializer),
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            caching_device=caching_device or scope.caching_device,
            name=full_name,
            dtype=dtype,
            constraint=constraint or scope.constraint,
            use_resource=scope.use_resource if use_resource is None else use_resource,
            **wish,
        )
    store.variables[full_name] = made
    regularizer = regularizer or scope.regularizer
    if regularizer is not None:
        loss = regularized(made, full_name, regularizer)
        if loss is not None:
            made.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _partitioned(store, scope, name, shape, dtype, initializer, partitioner, **arguments):
    """get_variable for one that is in parts."""
    if partitioner is not None and not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    if name in store.variables:
        raise ValueError(
            "A partitioner was provided, but an unpartitioned version of the variable was found: "
            f"{name}. Perhaps a variable of the same name was already created without partitioning?"
        )
    element_type = _element_type(dtype, initializer, scope)
    if _is_value(initializer):
        initializer = convert(initializer, element_type)
        shape = initializer.shape.merge_with(shape)
    shape = TensorShape(shape)
    existing = store.partitioned.get(name)
    if existing is not None:
        _reused(existing, name, scope.reuse, shape, dtype)
        wanted = partitioner and partitions_of(partitioner, existing.shape, existing.dtype)
        if wanted and wanted != existing.partitions:
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified partitions {wanted} and "
                f"found partitions {existing.partitions}."
            )
        return existing
    if scope.reuse is True:
        raise ValueError(
            f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). "
            "Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
        )
    partitions = partitions_of(partitioner, shape, element_type)
    plain = VariableScope("", scope.reuse)
    plain.use_resource = scope.use_resource
    parts = []
    for number, (offset, size) in enumerate(slices_of(shape, partitions)):
        begin, own_shape = initializer, size
        if isinstance(initializer, Tensor):
            with name_scope(f"{name}/part_{number}/PartitionedInitializer/"):
                begin, own_shape = gen_ops.slice(initializer, offset, size), None
        else:
            begin = _for_part(initializer, element_type, PartitionInfo(shape.as_list(), offset))
        part = get_variable(
            f"{name}/part_{number}",
            shape=own_shape,
            dtype=element_type,
            initializer=begin,
            _scope=plain,
            **arguments,
        )
        part.save_slice_info = SaveSliceInfo(name, shape.as_list(), offset, size)
        parts.append(part)
    store.partitioned[name] = PartitionedVariable(name, shape, element_type, parts, partitions)
    return store.partitioned[name]


def _for_part(initializer, dtype, partition_info):
    """The initializer of a part, which is told of what it is one."""
    if initializer is None:
        initializer = GlorotUniform() if dtype.is_floating else Zeros()
    if isinstance(initializer, type):
        initializer = initializer()
    try:
        takes = inspect.signature(initializer).parameters
    except (TypeError, ValueError):  # what is written in C does not always tell
        takes = ()
    if "partition_info" in takes:
        return functools.partial(initializer, partition_info=partition_info)
    return initializer


def _made_by_getter(scope, name, reuse=None, partitioner=None, **arguments):
    """What a custom getter is given to call: get_variable by a full name, as if there were no getter."""
    arguments.pop("custom_getter", None)
    plain = VariableScope("", scope.reuse if reuse is None else reuse, scope.original_name_scope)
    plain.use_resource = scope.use_resource
    return get_variable(name, partitioner=partitioner, _scope=plain, **arguments)


def _nested_getter(outer, inner):
    """A custom getter of two scopes: the inner one calls the outer one."""
    if inner is None or outer is None:
        return inner or outer

    def both(getter, *args, **kwargs):
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return both


def _reused(variable, name, reuse, shape, dtype):
    if not reuse:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? It was made at {_first_node(variable).defined_at}."
        )
    if shape is not None and not TensorShape(shape).is_compatible_with(variable.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and found "
            f"shape {variable.shape}."
        )
    if dtype is not None and dtypes.as_dtype(dtype).base_dtype != variable.dtype.base_dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype "
            f"{dtypes.as_dtype(dtype).name} and found dtype {variable.dtype.base_dtype.name}."
        )
    return variable


def _first_node(variable):
    return variable.parts[0].op if isinstance(variable, PartitionedVariable) else variable.op


def _is_value(initializer):
    return initializer is not None and not callable(initializer)


def _element_type(dtype, initializer, scope):
    """What a new variable holds: the type asked for, else that of a value, else the scope's."""
    if _is_value(initializer) and (dtype is None or isinstance(initializer, Tensor)):
        held = getattr(initializer, "dtype", None)
        dtype = own_dtype(initializer) if held is None else held
    return dtypes.as_dtype(scope.dtype if dtype is None else dtype).base_dtype


def _initial_value(name, shape, dtype, initializer):
    if initializer is None:
        initializer = GlorotUniform() if dtype.is_floating else Zeros()
    if isinstance(initializer, type):
        initializer = initializer()
    if _is_value(initializer):
        if shape is not None and isinstance(initializer, Tensor):
            raise ValueError("If initializer is a constant, do not specify shape.")
        return initializer
    shape = TensorShape(shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({name}) must be fully defined, but instead was {shape}."
        )
    return lambda: initializer(shape.as_list(), dtype=dtype)


class variable_scope:
    """A context in which get_variable prefixes names, and maybe reuses variables.

    Args:
      name_or_scope: a name, a VariableScope to enter again, or None for `default_name`.
      default_name: a name that gets _1, _2 ... if it is taken.
      values: Tensors that decide the graph.
      initializer, regularizer, caching_device, partitioner, dtype, constraint, use_resource: defaults for
        variables made inside.
      reuse: True, None (inherit) or AUTO_REUSE.
      auxiliary_name_scope: False to leave the name scope of ops as it is.

    Entering it gives the VariableScope.
    """

    def __init__(
        self,
        name_or_scope,
        default_name=None,
        values=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        reuse=None,
        dtype=None,
        use_resource=None,
        constraint=None,
        auxiliary_name_scope=True,
    ):
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is None and reuse is True:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values
        self._reuse = reuse
        self._auxiliary = auxiliary_name_scope
        self._defaults = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "dtype": dtype,
            "constraint": constraint,
            "use_resource": use_resource,
            "partitioner": partitioner,
        }
        self._custom_getter = custom_getter
        self._stack = None

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        store = _store()
        outer = store.scope
        given = self._name_or_scope
        if isinstance(given, VariableScope):
            name, inherited = given.name, given
            node_scope = given.name.rpartition("/")[2]
        else:
            node_scope = given if given is not None else self._default_name
            name, inherited = (f"{outer.name}/{node_scope}" if outer.name else node_scope), outer
            if given is None:
                name = store.unused(name)
        original = outer.original_name_scope
        if self._auxiliary and node_scope:
            original = self._stack.enter_context(name_scope(node_scope, values=self._values))
        made = VariableScope(
            name,
            self._reuse if self._reuse is not None else inherited.reuse or outer.reuse,
            given.original_name_scope if isinstance(given, VariableScope) else original,
            **{
                key: value if value is not None else getattr(inherited, key)
                for key, value in self._defaults.items()
            },
            custom_getter=_nested_getter(inherited.custom_getter, self._custom_getter),
        )
        store.scope = made
        store.opened[-1].add(name)
        if isinstance(given, VariableScope):
            self._stack.enter_context(store.entered_again())
        else:
            self._stack.callback(store.forget_below, name)
        store.opened.append(_Opened())
        self._stack.callback(store.opened.pop)
        self._stack.callback(setattr, store, "scope", outer)
        return made

    def __exit__(self, *error):
        return self._stack.__exit__(*error)


def get_local_variable(name, *args, collections=None, **kwargs):
    """get_variable for a variable of this process: not trainable, in LOCAL_VARIABLES."""
    collections = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    kwargs["trainable"] = False
    return get_variable(name, *args, collections=collections, **kwargs)


def no_regularizer(_):
    """A regularizer that adds nothing: keeps a variable from the scope's."""
    return None
