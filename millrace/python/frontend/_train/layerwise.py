"""LARSOptimizer, whose rate of each variable is by its norm; gradients of several losses clipped together."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._ops.arrays import ones_like, where
from millrace._ops.clipping import clip_by_global_norm
from millrace._ops.reductions import reduce_sum
from millrace._train.rule_optimizer import RuleOptimizer


class LARSOptimizer(RuleOptimizer):
    """Momentum with a rate for each variable: learning_rate * eeta * |var| / (|gradient| + weight_decay * |var|).

    It is learning_rate alone where one of the norms is 0, and for gradients that are slices (arXiv
    1708.03888).

    Args:
      learning_rate, momentum: numbers, Tensors, or functions without arguments that give them.
      weight_decay, eeta, epsilon: numbers; the last is added to the divisor.
      name: as in Optimizer.
      skip_list: parts of names of variables whose rate is learning_rate.
      use_nesterov: as for MomentumOptimizer.

    Raises:
      ValueError: if momentum or weight_decay is below 0.
    """

    def __init__(
        self,
        learning_rate,
        momentum=0.9,
        weight_decay=0.0001,
        eeta=0.001,
        epsilon=0.0,
        name="LARSOptimizer",
        skip_list=None,
        use_nesterov=False,
    ):
        if isinstance(momentum, (int, float)) and momentum < 0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(False, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skipped, self._use_nesterov = skip_list or (), use_nesterov

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _prepare(self):
        self._rate_tensor = self._parameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._parameter(self._momentum, "momentum")

    def compute_lr(self, grad, var):
        """The rate of a variable with a gradient that is a Tensor."""
        (rate,) = self._typed([self._rate_tensor], var)
        if any(part in var.name for part in self._skipped):
            return rate
        weights, slope = (gen_ops.sqrt(reduce_sum(gen_ops.square(each))) for each in (var, grad))
        divisor = slope + self._weight_decay * weights + self._epsilon
        is_known = gen_ops.logical_and(gen_ops.greater(weights, 0), gen_ops.greater(slope, 0))
        safe = where(is_known, divisor, ones_like(divisor))
        return rate * where(is_known, self._eeta * weights / safe, ones_like(divisor))

    def _update(self, var, gradient):
        rate, momentum = self._typed([self._rate_tensor, self._momentum_tensor], var)
        if len(gradient) == 1:
            rate = self.compute_lr(gradient[0], var)
        return self._apply_rule(
            "Momentum",
            var,
            ["momentum"],
            gradient,
            [rate, *gradient, momentum],
            use_nesterov=self._use_nesterov,
        )


def clip_gradients_by_global_norm(gradients_variables, clip_norm=20.0):
    """(pairs of gradient and variable, scaled down together so that their norm is at most clip_norm; that norm).

    Args:
      gradients_variables: pairs; a gradient may be None.
      clip_norm: a number or scalar Tensor.

    Returns:
      a list of pairs, and a scalar Tensor: the norm that they had.
    """
    pairs = list(gradients_variables)
    clipped, norm = clip_by_global_norm([gradient for gradient, _ in pairs], convert(clip_norm))
    return [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs)], norm
