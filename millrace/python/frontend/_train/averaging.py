"""Optimizers with a rate for each element, from running means of its gradients and their squares."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.default_graph import colocate_with, init_scope
from millrace._graph.graph import get_default_graph
from millrace._state.assignments import scatter_add
from millrace._train.rule_optimizer import RuleOptimizer


class AdadeltaOptimizer(RuleOptimizer):
    """var -= learning_rate * update, where the update is the gradient times the ratio of the running
    means of past updates and of past gradients.

    Args:
      learning_rate, rho, epsilon: numbers, Tensors, or functions without arguments that give them;
        rho is the share of the past.
      use_locking, name: as in Optimizer.
    """

    def __init__(
        self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "accum", self._name)
            self._zeros_slot(variable, "accum_update", self._name)

    def _prepare(self):
        self._parameters = [
            self._parameter(self._lr, "lr"),
            self._parameter(self._rho, "rho"),
            self._parameter(self._epsilon, "epsilon"),
        ]

    def _update(self, var, gradient):
        inputs = [*self._typed(self._parameters, var), *gradient]
        return self._apply_rule("Adadelta", var, ["accum", "accum_update"], gradient, inputs)


class RMSPropOptimizer(RuleOptimizer):
    """rms = decay * rms + (1 - decay) * gradient^2; momentum = m * momentum + learning_rate *
    gradient / sqrt(rms + epsilon); var -= momentum.

    Args:
      learning_rate, decay, momentum, epsilon: numbers, Tensors, or functions without arguments that
        give them.
      use_locking, name: as in Optimizer.
      centered: True to divide by the variance of the gradient instead of its mean square.
    """

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        name="RMSProp",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)

    def _prepare(self):
        self._parameters = [
            self._parameter(self._learning_rate, "learning_rate"),
            self._parameter(self._decay, "decay"),
            self._parameter(self._momentum, "momentum"),
            self._parameter(self._epsilon, "epsilon"),
        ]

    def _update(self, var, gradient):
        inputs = [*self._typed(self._parameters, var), *gradient]
        if self._centered:
            slots = ["mg", "rms", "momentum"]
            return self._apply_rule("CenteredRMSProp", var, slots, gradient, inputs)
        return self._apply_rule("RMSProp", var, ["rms", "momentum"], gradient, inputs)


class AdamOptimizer(RuleOptimizer):
    """m = beta1 * m + (1 - beta1) * gradient; v = beta2 * v + (1 - beta2) * gradient^2; var -=
    learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon).

    Slices change m, v and the variable in all rows, as if the others had a gradient of 0.

    Args:
      learning_rate, beta1, beta2, epsilon: numbers, Tensors, or functions without arguments that
        give them.
      use_locking, name: as in Optimizer.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t = self._beta1_t = self._beta2_t = self._epsilon_t = None

    def _get_beta_accumulators(self):
        with init_scope():
            graph = get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph),
                self._get_non_slot_variable("beta2_power", graph),
            )

    def _create_slots(self, var_list):
        # The same place whichever order the variables come in: tasks that build one graph share it.
        first = min(var_list, key=lambda variable: variable.name)
        for name, beta in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(self._call_if_callable(beta), name, first)
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _prepare(self):
        self._lr_t = self._parameter(self._lr, "learning_rate")
        self._beta1_t = self._parameter(self._beta1, "beta1")
        self._beta2_t = self._parameter(self._beta2, "beta2")
        self._epsilon_t = self._parameter(self._epsilon, "epsilon")

    def _inputs(self, var):
        return self._typed(
            [
                *self._get_beta_accumulators(),
                self._lr_t,
                self._beta1_t,
                self._beta2_t,
                self._epsilon_t,
            ],
            var,
        )

    def _update(self, var, gradient):
        if len(gradient) == 1:
            return self._apply_rule(
                "Adam", var, ["m", "v"], gradient, [*self._inputs(var), *gradient]
            )
        return self._update_by_slices(var, *gradient)

    def _update_by_slices(self, var, values, indices):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._inputs(var)
        rate = rate * gen_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        m = self._averaged(self.get_slot(var, "m"), beta1, values, indices)
        v = self._averaged(self.get_slot(var, "v"), beta2, values * values, indices)
        update = var.assign_sub(
            rate * m / (gen_ops.sqrt(v) + epsilon), use_locking=self._use_locking
        )
        return group(update, m, v)

    def _averaged(self, mean, beta, values, indices):
        """The value of a running mean after these rows have joined it."""
        faded = mean.assign(mean * beta, use_locking=self._use_locking)
        with get_default_graph().control_dependencies([faded]):
            added = values * (1 - beta)
            return scatter_add(mean, indices, added, use_locking=self._use_locking)

    def _finish(self, update_ops, name_scope):
        powers = []
        with get_default_graph().control_dependencies(update_ops):
            accumulators = self._get_beta_accumulators()
            with colocate_with(accumulators[0]):
                for power, beta in zip(accumulators, (self._beta1_t, self._beta2_t)):
                    powers.append(power.assign(power * beta, use_locking=self._use_locking))
        return group(*update_ops, *powers, name=name_scope)
