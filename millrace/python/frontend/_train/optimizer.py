"""tf.train.Optimizer: gradients of a loss by variables, and nodes that change the variables by them."""

from millrace._flow.control_flow import group, tuple
from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import (
    add_to_collection,
    colocate_with,
    get_collection,
    init_scope,
    name_scope,
)
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._ops.gradients import IndexedSlices, gradients
from millrace._state.replica_contexts import (
    ReduceOp,
    current_replica,
    current_strategy,
    loss_reduction,
)
from millrace._state.replicated_variables import ReplicatedVariable, whole_of
from millrace._state.variable_groups import trainable_variables
from millrace._state.variables import ResourceVariable, Variable
from millrace._train.slices import summed_by_index
from millrace._train.slots import create_slot, create_slot_with_initializer, create_zeros_slot
from millrace._values import dtypes, structure


class Optimizer:
    """What all optimizers share; a program uses a class derived from it, or derives its own.

        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    A class of one's own says what becomes of a variable in `_apply_dense` and `_apply_sparse` (for
    resource variables `_resource_apply_dense` and `_resource_apply_sparse`), makes slots in
    `_create_slots` and Tensors of its parameters in `_prepare`, and may end with more in `_finish`.

    Args:
      use_locking: True to keep other writers out of a variable while it changes.
      name: the name scope of the nodes, and the name of the slots.

    Raises:
      ValueError: if there is no name.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots = {}  # slot name -> variable's key -> Variable
        self._non_slot_dict = {}  # (name, graph) -> Variable

    def get_name(self):
        return self._name

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """An Operation that changes variables so that `loss` falls: compute_gradients and apply_gradients.

        Args:
          loss: a Tensor, or a function without arguments that gives one.
          global_step: a Variable that is incremented after the variables have changed.
          var_list: the variables; all trainable ones if None.
          gate_gradients: GATE_NONE, GATE_OP (an op's gradients are used when all are there) or
            GATE_GRAPH (when those of all variables are).
          aggregation_method, colocate_gradients_with_ops: as in tf.gradients.
          name: a name for the Operation.
          grad_loss: what arrives at the loss; ones if None.

        Raises:
          ValueError: if no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """A list of (gradient, variable); a gradient is a Tensor, an IndexedSlices, or None.

        Args:
          as `minimize`.

        Raises:
          ValueError: if there are no variables, or types or gate_gradients do not fit;
          NotImplementedError: if `var_list` holds what is no Variable.
        """
        loss = convert(loss() if callable(loss) else loss)
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        loss = _share_of_loss(loss)
        if grad_loss is not None:
            grad_loss = convert(grad_loss, loss.dtype.base_dtype)
        if var_list is None:
            var_list = trainable_variables() + get_collection("trainable_resource_variables")
        else:
            var_list = structure.flatten(var_list)
        if not var_list:
            raise ValueError("No variables to optimize.")
        for variable in var_list:
            if not isinstance(variable, (Variable, Tensor)):
                raise NotImplementedError("Trying to optimize unsupported type ", variable)
        found = gradients(
            loss,
            var_list,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH and any(each is not None for each in found):
            found = tuple(found)
        pairs = list(zip(found, var_list))
        self._assert_valid_dtypes(
            [variable for gradient, variable in pairs if gradient is not None]
        )
        return pairs

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation that changes variables by these gradients.

        Args:
          grads_and_vars: what compute_gradients gave; pairs without a gradient are left out.
          global_step: a Variable that is incremented afterwards.
          name: a name for the Operation.

        Raises:
          ValueError: if there are no variables, or none has a gradient;
          TypeError: if a gradient is no Tensor and cannot become one;
          RuntimeError: in the scope of a strategy, but in none of its replicas.
        """
        pairs = [(_as_gradient(gradient), variable) for gradient, variable in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        wanted = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if not wanted:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        for _, variable in wanted:
            if not isinstance(variable, Variable):
                raise NotImplementedError("Trying to update a Tensor ", variable)
        if current_strategy() is None:
            return self._applied(wanted, global_step, name)
        replica = current_replica()
        if replica is None:
            raise RuntimeError(
                "apply_gradients belongs into a replica: call it in the function that the strategy's "
                "experimental_run_v2 runs, where there are gradients of one replica"
            )
        return replica.merge_call(self._applied_together, args=(wanted, global_step, name))

    def _applied_together(self, strategy, grads_and_vars, global_step, name):
        sums = strategy.extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
        pairs = [(gradient, variable) for gradient, (_, variable) in zip(sums, grads_and_vars)]
        return self.apply_sums(strategy, pairs, global_step, name)

    def apply_sums(self, strategy, grads_and_vars, global_step=None, name=None):
        """apply_gradients above all replicas of a strategy.

        Args:
          strategy: the strategy, in whose scope the program is.
          grads_and_vars: pairs of a gradient that all replicas have together, and a variable.
          global_step, name: as apply_gradients.
        """

        def update(variable, gradient):
            return strategy.extended.update(
                variable, lambda copy, own: self._update_of(own, copy), (gradient,), group=False
            )

        return self._applied(grads_and_vars, global_step, name, update)

    def _update_of(self, gradient, variable):
        with name_scope("update_" + variable.op.name), colocate_with(variable):
            return self._updated(gradient, variable)

    def _applied(self, wanted, global_step, name, update=None):
        """The Operation of apply_gradients; `update(variable, gradient)` gives what changes a variable."""
        update = update or (lambda variable, gradient: [self._update_of(gradient, variable)])
        with init_scope():
            self._create_slots([variable for _, variable in wanted])
        updates = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for gradient, variable in wanted:
                updates += update(variable, gradient)
            if global_step is None:
                train = self._finish(updates, scope)
            else:
                with get_default_graph().control_dependencies([self._finish(updates, "update")]):
                    train = _incremented(global_step, scope)
        train = train.op if isinstance(train, Tensor) else train
        if train not in get_collection(GraphKeys.TRAIN_OP):
            add_to_collection(GraphKeys.TRAIN_OP, train)
        return train

    def _updated(self, gradient, variable):
        is_resource = isinstance(variable, ResourceVariable)
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if is_resource:
                return self._resource_apply_sparse_duplicate_indices(
                    gradient.values, variable, gradient.indices
                )
            return self._apply_sparse_duplicate_indices(gradient, variable)
        apply = self._resource_apply_dense if is_resource else self._apply_dense
        update = apply(gradient, variable)
        if variable.constraint is None:
            return update
        with get_default_graph().control_dependencies([update]):
            # Read here: what was read before the update would undo it.
            return variable.assign(variable.constraint(variable.read_value()))

    # ---- Slots -----------------------------------------------------------------------------------

    def get_slot(self, var, name):
        """The Variable of a slot of `var`, or None if there is none; a replica's copy has its own."""
        slot = self._slots.get(name, {}).get(_key(var))
        if not isinstance(slot, ReplicatedVariable) or var.replica_of is None:
            return slot
        return slot.copy_of(var.replica_of[1])

    def get_slot_names(self):
        """The names of the slots, sorted."""
        return sorted(self._slots)

    def variables(self):
        """The Variables of this optimizer in the default graph, by name: slots and others."""
        graph = get_default_graph()
        own = [*self._non_slot_dict.values()]
        for by_variable in self._slots.values():
            own.extend(by_variable.values())
        return sorted((v for v in own if v.graph is graph), key=lambda v: v.name)

    def non_slot_variables(self, graph):
        """{name: Variable} of those in a graph that belong to no variable alone."""
        return {name: v for (name, owner), v in self._non_slot_dict.items() if owner is graph}

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _slot(self, var, slot_name, make):
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = make()
        return named[_key(var)]

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        return self._slot(var, slot_name, lambda: create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var, initializer, shape, dtype, slot_name, op_name
    ):
        return self._slot(
            var,
            slot_name,
            lambda: create_slot_with_initializer(var, initializer, shape, dtype, op_name),
        )

    def _zeros_slot(self, var, slot_name, op_name):
        return self._slot(var, slot_name, lambda: create_zeros_slot(var, op_name))

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        """A Variable that belongs to the optimizer and to no variable, made once per graph."""
        graph = colocate_with.graph
        if (name, graph) not in self._non_slot_dict:
            with graph.colocate_with(colocate_with):
                self._non_slot_dict[name, graph] = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=isinstance(colocate_with, ResourceVariable),
                )
        return self._non_slot_dict[name, graph]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self):
        return self._non_slot_dict.values()

    # ---- What derived classes say ----------------------------------------------------------------

    def _valid_dtypes(self):
        """The types that losses and variables may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors):
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: "
                    f"{sorted(valid, key=lambda dtype: dtype.name)}."
                )

    def _create_slots(self, var_list):
        """Makes what slots these variables need."""

    def _prepare(self):
        """Makes Tensors of parameters, in the scope of the nodes that use them."""

    def _apply_dense(self, grad, var):
        raise NotImplementedError(f"{type(self).__name__} does not change reference variables")

    def _resource_apply_dense(self, grad, handle):
        raise NotImplementedError(f"{type(self).__name__} does not change resource variables")

    def _apply_sparse(self, grad, var):
        raise NotImplementedError(f"{type(self).__name__} takes no IndexedSlices")

    def _resource_apply_sparse(self, grad, handle, indices):
        raise NotImplementedError(f"{type(self).__name__} takes no IndexedSlices")

    def _apply_sparse_duplicate_indices(self, grad, var):
        values, indices = summed_by_index(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        values, indices = summed_by_index(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _finish(self, update_ops, name_scope):
        """The Operation that stands for all updates."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param):
        return param() if callable(param) else param


def _share_of_loss(loss):
    """The loss of a replica as it adds to the loss of all, where a strategy says that it is a mean."""
    if loss_reduction() == ReduceOp.SUM:
        return loss
    return loss * (1.0 / current_strategy().num_replicas_in_sync)


def _key(variable):
    variable = whole_of(variable)
    return variable.graph, variable.name


def _as_gradient(gradient):
    if gradient is None or isinstance(gradient, IndexedSlices):
        return gradient
    try:
        return convert(gradient)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}"
        ) from None


def _incremented(global_step, name):
    with colocate_with(global_step):
        if isinstance(global_step, Variable):
            return global_step.assign_add(
                convert(1, global_step.dtype.base_dtype), name=name, read_value=False
            )
        return gen_ops.assign_add(global_step, 1, name=name)
