"""Adamax, Nadam and Ftrl with Keras's names and defaults."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.default_graph import init_scope
from millrace._graph.graph import get_default_graph
from millrace._keras.optimizers import Optimizer, whole
from millrace._ops.arithmetic import cast
from millrace._train import accumulating
from millrace._train.rule_optimizer import RuleOptimizer


class Adamax(Optimizer):
    """Adam by the largest gradient instead of the mean square (arXiv 1412.6980, section 7)."""

    def __init__(
        self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, name="Adamax", **kwargs
    ):
        super().__init__(learning_rate, name, **kwargs)
        self._settings = (beta_1, beta_2, 1e-7 if epsilon is None else epsilon)

    def rule(self, rate):
        return _Adamax(rate, self.next_step, *self._settings)


class _Adamax(RuleOptimizer):
    def __init__(self, rate, next_step, beta_1, beta_2, epsilon):
        super().__init__(False, "Adamax")
        self._settings = (rate, next_step, beta_1, beta_2, epsilon)

    def _create_slots(self, var_list):
        for variable in var_list:
            for name in ("m", "v"):
                self._zeros_slot(variable, name, f"{self._name}/{name}")

    def _update(self, var, gradient):
        gradient = whole(var, gradient)
        rate, next_step, beta_1, beta_2, epsilon = self._settings
        dtype = var.dtype.base_dtype
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m = m.assign(beta_1 * m.read_value() + (1 - beta_1) * gradient)
        v = v.assign(gen_ops.maximum(beta_2 * v.read_value(), gen_ops.abs(gradient)))
        share = cast(rate, dtype) / (1 - gen_ops.pow(cast(beta_1, dtype), next_step(dtype)))
        return group(var.assign_sub(share * m / (v + epsilon), read_value=False), m, v)


class Nadam(Optimizer):
    """Adam with Nesterov's momentum, which becomes stronger with the steps (Dozat, 2015)."""

    def __init__(
        self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, name="Nadam", **kwargs
    ):
        kwargs.pop("schedule_decay", None)  # older versions had it, always of this value
        super().__init__(learning_rate, name, **kwargs)
        self._settings = (beta_1, beta_2, 1e-7 if epsilon is None else epsilon)

    def rule(self, rate):
        return _Nadam(rate, self.next_step, *self._settings)


class _Nadam(RuleOptimizer):
    """Its slots are those of Adam; `momentum_cache` is the product of the momenta of all steps."""

    CACHE = "momentum_cache"

    def __init__(self, rate, next_step, beta_1, beta_2, epsilon):
        super().__init__(False, "Nadam")
        self._settings = (rate, next_step, beta_1, beta_2, epsilon)

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda variable: variable.name)
        self._create_non_slot_variable(1.0, self.CACHE, first)
        for variable in var_list:
            for name in ("m", "v"):
                self._zeros_slot(variable, name, f"{self._name}/{name}")

    def _cache(self):
        with init_scope():
            return self._get_non_slot_variable(self.CACHE, get_default_graph())

    def _momenta(self, dtype):
        """(of this step, of the next one)."""
        beta_1, step = self._settings[2], self._settings[1](dtype)
        return [
            beta_1 * (1.0 - 0.5 * gen_ops.pow(cast(0.96, dtype), 0.004 * each))
            for each in (step, step + 1.0)
        ]

    def _update(self, var, gradient):
        gradient = whole(var, gradient)
        rate, next_step, beta_1, beta_2, epsilon = self._settings
        dtype = var.dtype.base_dtype
        now, later = self._momenta(dtype)
        product = cast(self._cache(), dtype) * now
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m = m.assign(beta_1 * m.read_value() + (1 - beta_1) * gradient)
        v = v.assign(beta_2 * v.read_value() + (1 - beta_2) * gradient * gradient)
        step = (1 - now) * gradient / (1 - product) + later * m / (1 - product * later)
        mean_square = v / (1 - gen_ops.pow(cast(beta_2, dtype), next_step(dtype)))
        change = cast(rate, dtype) * step / (gen_ops.sqrt(mean_square) + epsilon)
        return group(var.assign_sub(change, read_value=False), m, v)

    def _finish(self, update_ops, name_scope):
        cache = self._cache()
        now, _ = self._momenta(cache.dtype.base_dtype)
        with get_default_graph().control_dependencies([*update_ops, now]):
            grown = cache.assign(cache * now, use_locking=self._use_locking)
        return group(*update_ops, grown, name=name_scope)


class Ftrl(Optimizer):
    """Follow the regularized leader; see tf.train.FtrlOptimizer."""

    def __init__(
        self,
        learning_rate=0.001,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        name="Ftrl",
        l2_shrinkage_regularization_strength=0.0,
        **kwargs,
    ):
        super().__init__(learning_rate, name, **kwargs)
        self._settings = {
            "learning_rate_power": learning_rate_power,
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }

    def rule(self, rate):
        return accumulating.FtrlOptimizer(rate, **self._settings)
