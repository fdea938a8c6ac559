"""What optimizers share whose update of a variable is one op of the runtime."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._ops.arithmetic import cast
from millrace._state.initializers import Constant, Ones
from millrace._state.variables import ResourceVariable
from millrace._train.optimizer import Optimizer
from millrace._train.slots import shape_of


class RuleOptimizer(Optimizer):
    """An optimizer that says in `_update` which op changes a variable, for variables of both kinds
    and for whole gradients and slices alike.

    A gradient is given to `_update` as the inputs that stand for it: (grad,) or (values, indices).
    """

    def _update(self, var, gradient):
        raise NotImplementedError

    def _apply_dense(self, grad, var):
        return self._update(var, (grad,))

    def _resource_apply_dense(self, grad, handle):
        return self._update(handle, (grad,))

    def _apply_sparse(self, grad, var):
        return self._update(var, (grad.values, grad.indices))

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._update(handle, (grad, indices))

    def _filled_slot(self, var, value, slot_name, op_name):
        """A slot that begins with one number everywhere."""
        dtype = var.dtype.base_dtype
        if var.shape.is_fully_defined():
            return self._get_or_make_slot_with_initializer(
                var,
                Ones(dtype) if value == 1.0 else Constant(value, dtype),
                var.shape,
                dtype,
                slot_name,
                op_name,
            )
        filled = gen_ops.fill(shape_of(var), convert(value, dtype))
        return self._get_or_make_slot(var, filled, slot_name, op_name)

    def _parameter(self, value, name):
        """A Tensor of a number, a Tensor, or a function without arguments that gives one."""
        return convert(self._call_if_callable(value), name=name)

    def _typed(self, parameters, var):
        """The parameters in the type of a variable."""
        return [cast(parameter, var.dtype.base_dtype) for parameter in parameters]

    def _apply_rule(self, rule, var, slots, gradient, inputs, **flags):
        """The Operation of an Apply op.

        Args:
          rule: the op's name from "Apply" on.
          var: the variable.
          slots: the names of the slots that the op changes with it.
          gradient: what `_update` was given.
          inputs: the op's other inputs in their order, the gradient among them.
          **flags: the op's attributes.
        """
        is_resource = isinstance(var, ResourceVariable)
        changed = [var, *(self.get_slot(var, slot) for slot in slots)]
        references = [each.handle for each in changed] if is_resource else changed
        op = (
            f"{'Resource' if is_resource else ''}{'Sparse' if len(gradient) > 1 else ''}Apply{rule}"
        )
        made = gen_ops.by_op(op)(*references, *inputs, use_locking=self._use_locking, **flags)
        return made.op if isinstance(made, Tensor) else made
