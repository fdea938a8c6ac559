"""Optimizers with a rate for each element, from sums of its squared gradients."""

import contextlib

from millrace import _gen as gen_ops
from millrace._graph.default_graph import colocate_with
from millrace._train.rule_optimizer import RuleOptimizer


def _check_positive(name, value):
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")


class AdagradOptimizer(RuleOptimizer):
    """accumulator += gradient^2; var -= learning_rate * gradient / sqrt(accumulator).

    Args:
      learning_rate: a number, a Tensor, or a function without arguments that gives one.
      initial_accumulator_value: what the accumulator begins with; positive.
      use_locking, name: as in Optimizer.

    Raises:
      ValueError: if initial_accumulator_value is not positive.
    """

    def __init__(
        self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"
    ):
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor = None

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self):
        self._learning_rate_tensor = self._parameter(self._learning_rate, "learning_rate")

    def _update(self, var, gradient):
        return self._by_adagrad(var, gradient)

    def _by_adagrad(self, var, gradient, **flags):
        inputs = [*self._typed([self._learning_rate_tensor], var), *gradient]
        return self._apply_rule("Adagrad", var, ["accumulator"], gradient, inputs, **flags)


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad with updates that may leave the accumulator as it is: those of a loss that only regularizes.

        update = optimizer.minimize(loss)
        with optimizer.avoid_updating_slots():
            both = tf.group(update, optimizer.minimize(regularization))

    Args: as for AdagradOptimizer.
    """

    def __init__(
        self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="RegAdagrad"
    ):
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._updates_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self):
        """A `with` block; what is made in it changes variables by the accumulators, but not these."""
        before, self._updates_slots = self._updates_slots, False
        try:
            yield
        finally:
            self._updates_slots = before

    def _update(self, var, gradient):
        return self._by_adagrad(var, gradient, update_slots=self._updates_slots)


class ProximalAdagradOptimizer(RuleOptimizer):
    """Adagrad that then brings the variable nearer to 0, by l1 and l2.

    Args:
      learning_rate: a number, a Tensor, or a function without arguments that gives one.
      initial_accumulator_value: what the accumulator begins with; positive.
      l1_regularization_strength, l2_regularization_strength: not negative.
      use_locking, name: as in Optimizer.

    Raises:
      ValueError: if initial_accumulator_value is not positive.
    """

    def __init__(
        self,
        learning_rate,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="ProximalAdagrad",
    ):
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self):
        self._parameters = [
            self._parameter(self._learning_rate, "learning_rate"),
            self._parameter(self._l1_regularization_strength, "l1_regularization_strength"),
            self._parameter(self._l2_regularization_strength, "l2_regularization_strength"),
        ]

    def _update(self, var, gradient):
        inputs = [*self._typed(self._parameters, var), *gradient]
        return self._apply_rule("ProximalAdagrad", var, ["accumulator"], gradient, inputs)


class AdagradDAOptimizer(RuleOptimizer):
    """Adagrad by dual averaging: variables are worked out anew from sums of all gradients, which
    leaves many at exactly 0 if l1 is positive.

    Args:
      learning_rate: a number or a Tensor.
      global_step: the Variable that counts steps; minimize must be given the same one.
      initial_gradient_squared_accumulator_value: what the sum of squares begins with; positive.
      l1_regularization_strength, l2_regularization_strength: not negative.
      use_locking, name: as in Optimizer.

    Raises:
      ValueError: if the initial value is not positive.
    """

    def __init__(
        self,
        learning_rate,
        global_step,
        initial_gradient_squared_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="AdagradDA",
    ):
        _check_positive(
            "initial_gradient_squared_accumulator_value", initial_gradient_squared_accumulator_value
        )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_gradient_squared_accumulator_value = (
            initial_gradient_squared_accumulator_value
        )
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "gradient_accumulator", self._name)
            self._filled_slot(
                variable,
                self._initial_gradient_squared_accumulator_value,
                "gradient_squared_accumulator",
                self._name,
            )

    def _prepare(self):
        rate = self._parameter(self._learning_rate, "learning_rate")
        self._parameters = [
            rate,
            self._parameter(self._l1_regularization_strength, "l1_regularization_strength"),
            self._parameter(self._l2_regularization_strength, "l2_regularization_strength"),
        ]
        with colocate_with(rate):
            # Steps are counted from 1 here.
            step = gen_ops.identity(self._global_step) + 1
            self._step = gen_ops.cast(step, DstT="int64")

    def _update(self, var, gradient):
        inputs = [*gradient, *self._typed(self._parameters, var), self._step]
        slots = ["gradient_accumulator", "gradient_squared_accumulator"]
        return self._apply_rule("AdagradDA", var, slots, gradient, inputs)


class FtrlOptimizer(RuleOptimizer):
    """Follow the regularized leader: variables are worked out anew from sums, and many are exactly
    0 if l1 is positive.

    Args:
      learning_rate: a number, a Tensor, or a function without arguments that gives one.
      learning_rate_power: how the rate falls with the sum of squares; not positive, 0 for not at all.
      initial_accumulator_value: what the sum of squares begins with; not negative.
      l1_regularization_strength, l2_regularization_strength: not negative.
      use_locking, name: as in Optimizer.
      accum_name, linear_name: names of the slots' variables; `name` if None.
      l2_shrinkage_regularization_strength: l2 on the gradient instead of the sum; not negative.

    Raises:
      ValueError: if a number is out of these bounds.
    """

    def __init__(
        self,
        learning_rate,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="Ftrl",
        accum_name=None,
        linear_name=None,
        l2_shrinkage_regularization_strength=0.0,
    ):
        super().__init__(use_locking, name)
        for argument, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{argument} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(
                variable,
                self._initial_accumulator_value,
                "accum",
                self._accum_name or self._name,
            )
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _prepare(self):
        self._parameters = [
            self._parameter(getattr(self, "_" + name), name)
            for name in (
                "learning_rate",
                "l1_regularization_strength",
                "l2_regularization_strength",
                "l2_shrinkage_regularization_strength",
                "learning_rate_power",
            )
        ]

    def _update(self, var, gradient):
        rate, l1, l2, shrinkage, power = self._typed(self._parameters, var)
        rule, middle = "Ftrl", []
        if self._l2_shrinkage_regularization_strength > 0.0:
            rule, middle = "FtrlV2", [shrinkage]
        inputs = [*gradient, rate, l1, l2, *middle, power]
        return self._apply_rule(rule, var, ["accum", "linear"], gradient, inputs)
