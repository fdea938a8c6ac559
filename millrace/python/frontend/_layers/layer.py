"""Layer: variables that are made when it is first called, and the nodes that use them."""

import contextlib
import re

import numpy as np

from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import get_collection_ref, name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Operation, Tensor
from millrace._layers.input_spec import check_inputs
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import shape as shape_of
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.regularized import LossOfCopies, regularized
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape


class _LayerNames:
    """How many layers of a class were given a name of their own, in one graph."""

    def __init__(self):
        self.counts = {}


def _own_name(base):
    counts = get_default_graph().own(_LayerNames).counts
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


def snake_case(name):
    """The name of a class as layers have it: "DenseNet" as "dense_net"."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    made = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{made}" if made.startswith("_") else made


class Layer:
    """The base of layers. One is made with its settings and then called with inputs; its first call
    makes its variables, later ones share them.

    Classes that derive from it define `call(inputs, ...)`, which gives the outputs, and `build(
    input_shape)`, which makes variables by `add_weight`.

    Args:
      trainable: False to make no variable trainable.
      name: its name; by default that of the class in snake case. Variables are named after the
        variable scope that the first call opens under it ("dense", "dense_1", ...).
      dtype: the type of its variables; that of the first input if None.
      activity_regularizer: a function of an output whose result, divided by the size of the batch,
        joins the losses.

    Attributes:
      built: whether its variables exist.
      trainable: whether its variables are to be trained.
      input_spec: an InputSpec or a list of them, which inputs are checked against; None for no check.
    """

    # Whether it tells losses of variables that were there before it.
    _has_losses_of_its_own = False

    def __init__(self, trainable=True, name=None, dtype=None, activity_regularizer=None, **kwargs):
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(sorted(kwargs))}")
        base = snake_case(type(self).__name__)
        self._name = name or _own_name(base)
        self._base_name = name or base
        self.trainable = trainable
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.built = False
        self.input_spec = None
        self._activity_regularizer = activity_regularizer
        self._trainable_weights = []
        self._non_trainable_weights = []
        self._losses = []
        self._updates = []
        self._scope = None
        self._current_scope = None
        if scope:
            with variable_scope(scope) as self._scope:
                pass

    # ---- What it is ------------------------------------------------------------------------------

    @property
    def name(self):
        return self._name

    @property
    def scope_name(self):
        """The name of the variable scope of its variables. ValueError before the first call."""
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name is determined the first time the layer instance is called. "
                "You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def trainable_weights(self):
        """The variables that optimizers change; none if the layer is not trainable."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self):
        kept = list(self._non_trainable_weights)
        return kept if self.trainable else [*self._trainable_weights, *kept]

    @property
    def weights(self):
        """All variables, trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self):
        return self.weights

    @property
    def trainable_variables(self):
        return self.trainable_weights

    @property
    def non_trainable_variables(self):
        return self.non_trainable_weights

    @property
    def losses(self):
        """Scalar Tensors: of regularizers, and what `add_loss` was given."""
        return list(self._losses)

    @property
    def updates(self):
        """Operations that are to run with each step of training; none if it is not trainable."""
        return list(self._updates) if self.trainable else []

    @property
    def activity_regularizer(self):
        return self._activity_regularizer

    def count_params(self):
        """The number of elements of all its variables. ValueError before they are made."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can "
                f"build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(
            int(np.prod(variable.shape.as_list(), dtype=np.int64)) for variable in self.weights
        )

    # ---- What classes that derive from it define ---------------------------------------------------

    def build(self, input_shape):
        """Makes the variables for inputs of this TensorShape (a list of them for several inputs)."""
        self.built = True

    def call(self, inputs, *args, **kwargs):
        """The outputs for these inputs."""
        return inputs

    def compute_output_shape(self, input_shape):
        """The TensorShape of the output for inputs of this shape, if the class can tell."""
        raise NotImplementedError(f"{type(self).__name__} does not say what shapes it gives.")

    # ---- What they call --------------------------------------------------------------------------

    def add_weight(
        self,
        name,
        shape,
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=True,
        constraint=None,
        use_resource=None,
        partitioner=None,
        synchronization=None,
        aggregation=None,
    ):
        """A new variable of the layer, or the existing one if the layer reuses.

        Args:
          name: its name within the layer's scope.
          shape: its shape.
          dtype: its type; the layer's if None, else float32.
          initializer, constraint, use_resource: as in tf.get_variable.
          regularizer: a function of the variable that gives a scalar, which joins the losses and the
            collection of regularization losses when the variable is new.
          trainable: whether it is one of `trainable_weights`; so only if the layer is trainable.
          partitioner: must be None.
          synchronization, aggregation: as in tf.get_variable.

        Returns:
          the Variable.
        """
        dtype = dtypes.as_dtype(dtype or self.dtype or dtypes.float32)
        trainable = bool(trainable) and self.trainable
        self._open_scope(None)
        known = len(get_collection_ref(GraphKeys.GLOBAL_VARIABLES))
        reuse = self.built or self._reuse
        with variable_scope(self._scope, reuse=reuse or None, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with name_scope(scope.original_name_scope):
                made = get_variable(
                    name,
                    shape=shape,
                    dtype=dtype,
                    initializer=_initializer(initializer, scope, dtype, name),
                    trainable=trainable,
                    constraint=constraint,
                    use_resource=use_resource,
                    partitioner=partitioner,
                    synchronization=synchronization,
                    aggregation=aggregation,
                )
            is_new = len(get_collection_ref(GraphKeys.GLOBAL_VARIABLES)) > known
            if regularizer and (is_new or self._has_losses_of_its_own):
                for part in getattr(made, "parts", [made]):
                    self.add_loss(regularized(part, part.op.name, regularizer))
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        weights.append(made)
        return made

    add_variable = add_weight

    @contextlib.contextmanager
    def undivided_weights(self):
        """A context in which `add_weight` leaves variables whole, whatever divides those of the scope."""
        self._open_scope(None)
        kept = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            yield
        finally:
            self._scope.set_partitioner(kept)

    def add_loss(self, losses, inputs=None):
        """Adds scalar Tensors to the losses and to the collection of regularization losses.

        Args:
          losses: one or a list of them; None among them is left out, and functions are called.
          inputs: accepted; what a loss depends on is in the graph.
        """
        for loss in structure.flatten(losses):
            loss = loss() if callable(loss) else loss
            if loss is not None:
                loss = loss if isinstance(loss, LossOfCopies) else convert(loss)
                self._losses.append(loss)
                _add_new([loss], GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates, inputs=None):
        """Adds what is to run with each step; after the call it is in tf.GraphKeys.UPDATE_OPS.

        Args:
          updates: an Operation, a Tensor whose Operation is meant, a function that gives one, or a
            list of these.
          inputs: accepted; what an update depends on is in the graph.
        """
        for update in structure.flatten(updates):
            update = update() if callable(update) else update
            self._updates.append(update if isinstance(update, Operation) else convert(update).op)

    def collect_updates(self):
        """Puts the updates where programs look for them; called at the end of each call."""
        _add_new(self.updates, GraphKeys.UPDATE_OPS)

    # ---- A call ----------------------------------------------------------------------------------

    def __call__(self, inputs, *args, scope=None, **kwargs):
        """The outputs of `call`, in the layer's scopes of names and variables.

        Args:
          inputs: a Tensor or what converts to one, or a nested list of Tensors.
          *args, **kwargs: more arguments of `call`.
          scope: for the first call: the name or VariableScope for its variables.

        Raises:
          ValueError: if an input is not as `input_spec` has it, or `call` gives None.
        """
        self._open_scope(scope)
        reuse = True if self.built else self._reuse or None
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as inner:
            self._current_scope = inner
            with name_scope(inner.original_name_scope):
                inputs = structure.map_structure(_tensor_of_value, inputs)
                self._build_once(inputs)
                outputs = self.call(inputs, *args, **kwargs)
                if outputs is None:
                    raise ValueError(
                        "A layer's `call` method should return a Tensor or a list of Tensors, not "
                        f"None (layer: {self.name})."
                    )
                self._regularize_activity(outputs)
        self.collect_updates()
        return outputs

    def apply(self, inputs, *args, **kwargs):
        """The same as calling it."""
        return self(inputs, *args, **kwargs)

    def _open_scope(self, scope):
        """Decides where the variables are, the first time."""
        if self._scope is not None:
            return
        given = scope if scope is not None else self._base_name if self._reuse else None
        with variable_scope(given, default_name=self._base_name) as self._scope:
            pass

    def _build_once(self, inputs):
        check_inputs(self.input_spec, inputs, self.name)
        if self.built:
            return
        tensors = structure.flatten(inputs)
        if self.dtype is None and tensors and hasattr(tensors[0], "dtype"):
            self.dtype = tensors[0].dtype.base_dtype.name
        shapes = structure.map_structure(_shape_of_input, inputs)
        self.build(shapes)
        self.built = True
        check_inputs(self.input_spec, inputs, self.name)

    def _regularize_activity(self, outputs):
        if self._activity_regularizer is None:
            return
        with name_scope("ActivityRegularizer"):
            for output in structure.flatten(outputs):
                loss = convert(self._activity_regularizer(output))
                self.add_loss(loss / cast(shape_of(output)[0], loss.dtype.base_dtype))

    def __repr__(self):
        return f"<{type(self).__name__} layer '{self._name}'>"


def _initializer(given, scope, dtype, name):
    """The initializer of a variable, where get_variable's own default would be none of ours."""
    chosen = scope.initializer if given is None else given
    if chosen is None and not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
        raise ValueError(
            f"An initializer for variable {name} of type {dtype.name} is required for layer"
        )
    return chosen


def _tensor_of_value(value):
    is_value = isinstance(value, (np.ndarray, float, int)) or hasattr(value, "_as_tensor")
    return convert(value) if is_value else value


def _shape_of_input(value):
    return value.shape if isinstance(value, Tensor) else TensorShape(None)


def _add_new(elements, collection):
    """Adds those that are not in a collection yet."""
    held = get_collection_ref(collection)
    for element in elements:
        if not any(element is other for other in held):
            held.append(element)
