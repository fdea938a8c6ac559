"""Optimizers with one rate for all elements of a variable."""

from millrace import _gen as gen_ops
from millrace._train.rule_optimizer import RuleOptimizer


class GradientDescentOptimizer(RuleOptimizer):
    """var -= learning_rate * gradient.

    Args:
      learning_rate: a number, a Tensor, or a function without arguments that gives one.
      use_locking, name: as in Optimizer.
    """

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor = None

    def _prepare(self):
        self._learning_rate_tensor = self._parameter(self._learning_rate, "learning_rate")

    def _update(self, var, gradient):
        (rate,) = self._typed([self._learning_rate_tensor], var)
        return self._apply_rule("GradientDescent", var, [], gradient, [rate, *gradient])

    # Repeated indices need not be summed first: differences add up.

    def _apply_sparse_duplicate_indices(self, grad, var):
        (rate,) = self._typed([self._learning_rate_tensor], var)
        return gen_ops.scatter_sub(
            var, grad.indices, grad.values * rate, use_locking=self._use_locking
        ).op

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        (rate,) = self._typed([self._learning_rate_tensor], handle)
        return gen_ops.resource_scatter_add(handle.handle, indices, -grad * rate)


class MomentumOptimizer(RuleOptimizer):
    """accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation.

    Args:
      learning_rate, momentum: numbers, Tensors, or functions without arguments that give them.
      use_locking, name: as in Optimizer.
      use_nesterov: True for Nesterov's: the gradient is used as if it was taken a step ahead.
    """

    def __init__(
        self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _prepare(self):
        self._learning_rate_tensor = self._parameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._parameter(self._momentum, "momentum")

    def _update(self, var, gradient):
        rate, momentum = self._typed([self._learning_rate_tensor, self._momentum_tensor], var)
        return self._apply_rule(
            "Momentum",
            var,
            ["momentum"],
            gradient,
            [rate, *gradient, momentum],
            use_nesterov=self._use_nesterov,
        )


class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent that then brings the variable nearer to 0, by l1 and l2.

    Args:
      learning_rate: a number, a Tensor, or a function without arguments that gives one.
      l1_regularization_strength, l2_regularization_strength: not negative.
      use_locking, name: as in Optimizer.
    """

    def __init__(
        self,
        learning_rate,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _prepare(self):
        self._parameters = [
            self._parameter(self._learning_rate, "learning_rate"),
            self._parameter(self._l1_regularization_strength, "l1_regularization_strength"),
            self._parameter(self._l2_regularization_strength, "l2_regularization_strength"),
        ]

    def _update(self, var, gradient):
        inputs = [*self._typed(self._parameters, var), *gradient]
        return self._apply_rule("ProximalGradientDescent", var, [], gradient, inputs)
