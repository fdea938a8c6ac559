"""Optimizers that make weights smaller at each step, whatever their gradients (arXiv 1711.05101)."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import no_op
from millrace._graph.default_graph import control_dependencies
from millrace._ops.arrays import gather
from millrace._ops.gradients import IndexedSlices
from millrace._ops.rearranging import unique
from millrace._state.assignments import scatter_sub
from millrace._state.replicated_variables import whole_of
from millrace._train.averaging import AdamOptimizer
from millrace._train.descents import MomentumOptimizer
from millrace._train.optimizer import Optimizer


class DecoupledWeightDecayExtension:
    """The first base of an optimizer that takes weight_decay times a variable from it before each update.

    Of a variable whose gradient is slices, their rows alone become smaller.

    Args:
      weight_decay: a number, a Tensor, or a function without arguments that gives one.
      **kwargs: what the optimizer takes.
    """

    def __init__(self, weight_decay, **kwargs):
        super().__init__(**kwargs)
        self._weight_decay = weight_decay
        self._decayed = None  # all variables

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
        decay_var_list=None,
    ):
        """As Optimizer's; only variables of decay_var_list become smaller, all if it is None."""
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        return self.apply_gradients(pairs, global_step, name, decay_var_list)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        """As Optimizer's; only variables of decay_var_list become smaller, all if it is None."""
        self._decayed = list(decay_var_list) if decay_var_list else None
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _updated(self, gradient, variable):
        with control_dependencies([self._decay(gradient, variable)]):
            return super()._updated(gradient, variable)

    def _decay(self, gradient, variable):
        whole = whole_of(variable)
        if self._decayed is not None and not any(whole is whole_of(each) for each in self._decayed):
            return no_op()
        factor = self._call_if_callable(self._weight_decay)
        if isinstance(gradient, IndexedSlices):
            rows, _ = unique(gradient.indices)
            return scatter_sub(variable, rows, factor * gather(variable, rows)).op
        return gen_ops.identity(
            variable.assign_sub(factor * variable, use_locking=self._use_locking)
        ).op


def extend_with_decoupled_weight_decay(base_optimizer):
    """A class of optimizers: `base_optimizer` with weight_decay as its first argument.

    Args:
      base_optimizer: a class that derives from tf.train.Optimizer, whose arguments go by keyword.
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        def __init__(self, weight_decay, **kwargs):
            super().__init__(weight_decay, **kwargs)

    OptimizerWithDecoupledWeightDecay.__doc__ = base_optimizer.__doc__
    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """MomentumOptimizer with weight decay.

    Args:
      weight_decay: as for DecoupledWeightDecayExtension. Others: as for MomentumOptimizer.
    """

    def __init__(
        self,
        weight_decay,
        learning_rate,
        momentum,
        use_locking=False,
        name="MomentumW",
        use_nesterov=False,
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """AdamOptimizer with weight decay.

    Args:
      weight_decay: as for DecoupledWeightDecayExtension. Others: as for AdamOptimizer.
    """

    def __init__(
        self,
        weight_decay,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="AdamW",
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
