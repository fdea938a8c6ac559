"""Optimizers akin to Adam: by slices alone, with Nesterov's momentum, by the largest gradient, by the global step."""

import functools

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import gather
from millrace._state.assignments import scatter_add, scatter_sub, scatter_update
from millrace._train.averaging import AdamOptimizer
from millrace._values import dtypes


class LazyAdamOptimizer(AdamOptimizer):
    """Adam in which slices change m, v and the variable in their own rows alone.

    Args: as for AdamOptimizer.
    """

    def _update_by_slices(self, var, values, indices):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._inputs(var)
        rate = rate * gen_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        m = self._averaged_rows("m", var, beta1, values, indices)
        v = self._averaged_rows("v", var, beta2, gen_ops.square(values), indices)
        change = rate * m / (gen_ops.sqrt(v) + epsilon)
        return group(scatter_sub(var, indices, change, use_locking=self._use_locking), m, v)

    def _averaged_rows(self, name, var, beta, values, indices):
        """The rows of a slot after these values have joined them."""
        slot = self.get_slot(var, name)
        rows = beta * gather(slot, indices) + (1 - beta) * values
        with control_dependencies(
            [scatter_update(slot, indices, rows, use_locking=self._use_locking)]
        ):
            return gen_ops.identity(rows)


class AdamGSOptimizer(AdamOptimizer):
    """Adam whose t is the global step: no powers of beta1 and beta2 are kept beside the slots.

    Args:
      global_step: the Variable that counts steps, or a number; the t of an update is one more.
      learning_rate, beta1, beta2, epsilon, use_locking, name: as for AdamOptimizer.
    """

    def __init__(
        self,
        global_step=0,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _prepare(self):
        super()._prepare()
        # Read once a step, however many variables there are.
        self._step = cast(gen_ops.identity(convert(self._global_step)), dtypes.float32) + 1.0

    def _get_beta_accumulators(self):
        return gen_ops.pow(self._beta1_t, self._step), gen_ops.pow(self._beta2_t, self._step)

    def _finish(self, update_ops, name_scope):
        return group(*update_ops, name=name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, LazyAdamOptimizer):
    """AdamGSOptimizer in which slices change m, v and the variable in their own rows alone.

    Args: as for AdamGSOptimizer.
    """


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum: the gradient counts as if it was taken a step ahead.

    Args: as for AdamOptimizer.
    """

    def _update(self, var, gradient):
        if len(gradient) == 1:
            inputs = [*self._inputs(var), *gradient]
            return self._apply_rule("Adam", var, ["m", "v"], gradient, inputs, use_nesterov=True)
        return self._update_by_slices(var, *gradient)

    def _update_by_slices(self, var, values, indices):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._inputs(var)
        rate = rate * gen_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        rows = [
            self._faded(name, var, beta, added, indices)
            for name, beta, added in (
                ("m", beta1, values * (1 - beta1)),
                ("v", beta2, gen_ops.square(values) * (1 - beta2)),
            )
        ]
        ahead = values * (1 - beta1) + beta1 * rows[0]
        change = -rate * ahead / (gen_ops.sqrt(rows[1]) + epsilon)
        return group(scatter_add(var, indices, change, use_locking=self._use_locking), *rows)

    def _faded(self, name, var, beta, added, indices):
        """The rows of a slot, all of which fade, after these have been added to them."""
        slot = self.get_slot(var, name)
        with control_dependencies([slot.assign(slot * beta, use_locking=self._use_locking)]):
            done = scatter_add(slot, indices, added, use_locking=self._use_locking)
        with control_dependencies([done]):
            return gather(slot.read_value(), indices)


class AdaMaxOptimizer(AdamOptimizer):
    """m = beta1 * m + (1 - beta1) * gradient; v = max(beta2 * v, |gradient|); var -= learning_rate /
    (1 - beta1^t) * m / (v + epsilon).

    Slices change their own rows alone.

    Args: as for AdamOptimizer.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="AdaMax",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _update(self, var, gradient):
        beta1_power, _, rate, beta1, beta2, epsilon = self._inputs(var)
        if len(gradient) == 1:
            inputs = [beta1_power, rate, beta1, beta2, epsilon, *gradient]
            return self._apply_rule("AdaMax", var, ["m", "v"], gradient, inputs)
        values, indices = gradient
        change = functools.partial(scatter_update, use_locking=self._use_locking)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = beta1 * gather(m, indices) + (1 - beta1) * values
        new_v = gen_ops.maximum(beta2 * gather(v, indices), gen_ops.abs(values))
        step = rate / (1 - beta1_power) * new_m / (new_v + epsilon)
        return group(
            change(m, indices, new_m),
            change(v, indices, new_v),
            scatter_sub(var, indices, step, use_locking=self._use_locking),
        )
