"""Optimizers by whether gradients agree with their running mean (arXiv 1709.07417)."""

import math

from millrace._train.global_steps import get_global_step
from millrace._train.rule_optimizer import RuleOptimizer


class _SignOptimizer(RuleOptimizer):
    """What both have in common.

    Args:
      rule: the op's name from "Apply" on.
      parameters: what the op takes between the slot and the decay of the sign, by name.
      beta: the share of the past in the running mean.
      sign_decay_fn: a function of the global step; None for 1.
      use_locking, name: as in Optimizer.
    """

    def __init__(self, rule, parameters, beta, sign_decay_fn, use_locking, name):
        super().__init__(use_locking, name)
        self._rule, self._given = rule, parameters
        self._beta, self._decay = beta, sign_decay_fn

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As Optimizer's; the sign's decay is of `global_step`, or the graph's if None."""
        self._step = get_global_step() if global_step is None else global_step
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)

    def _prepare(self):
        decay = 1.0 if self._decay is None else self._decay(self._step)
        given = {**self._given, "sign_decay": decay, "beta": self._beta}
        self._parameters = [self._parameter(value, name) for name, value in given.items()]

    def _update(self, var, gradient):
        if len(gradient) > 1:
            raise NotImplementedError(f"{type(self).__name__} takes no IndexedSlices")
        inputs = [*self._typed(self._parameters, var), *gradient]
        return self._apply_rule(self._rule, var, ["m"], gradient, inputs)


class AddSignOptimizer(_SignOptimizer):
    """m = beta * m + (1 - beta) * g; var -= learning_rate * (alpha + decay * sign(g) * sign(m)) * g.

    Args:
      learning_rate, alpha, beta: numbers, Tensors, or functions without arguments that give them.
      sign_decay_fn: a function of the global step that gives the decay; None for 1.
      use_locking, name: as in Optimizer. Gradients that are slices are refused.
    """

    def __init__(
        self,
        learning_rate=0.1,
        alpha=1.0,
        beta=0.9,
        sign_decay_fn=None,
        use_locking=False,
        name="AddSignOptimizer",
    ):
        given = {"learning_rate": learning_rate, "alpha": alpha}
        super().__init__("AddSign", given, beta, sign_decay_fn, use_locking, name)


class PowerSignOptimizer(_SignOptimizer):
    """m = beta * m + (1 - beta) * g; var -= learning_rate * base^(decay * sign(g) * sign(m)) * g.

    Args:
      learning_rate, beta: numbers, Tensors, or functions without arguments that give them.
      base: a number.
      sign_decay_fn, use_locking, name: as for AddSignOptimizer.
    """

    def __init__(
        self,
        learning_rate=0.1,
        base=math.e,
        beta=0.9,
        sign_decay_fn=None,
        use_locking=False,
        name="PowerSignOptimizer",
    ):
        given = {"learning_rate": learning_rate, "logbase": math.log(base)}
        super().__init__("PowerSign", given, beta, sign_decay_fn, use_locking, name)
