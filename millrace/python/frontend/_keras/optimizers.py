"""Optimizers with Keras's names and defaults, over those of tf.train."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.graph import get_default_graph
from millrace._keras import configs, sessions
from millrace._keras.schedules import LearningRateSchedule
from millrace._ops.arithmetic import cast
from millrace._ops.clipping import clip_by_norm, clip_by_value
from millrace._ops.gradients import gradients
from millrace._state.variables import Variable
from millrace._train import averaging, descents
from millrace._train.rule_optimizer import RuleOptimizer
from millrace._values import dtypes


class Optimizer:
    """The base of Keras's optimizers. Classes that derive from it define `rule(rate)`.

    Args:
      learning_rate: the rate, which programs may change later: by set_value of `lr`; or a
        LearningRateSchedule, which gives it by the number of steps.
      name: its name.
      lr: the older name of learning_rate.
      decay: the rate is divided by 1 + decay * steps.
      clipnorm: gradients longer than this are shortened to it.
      clipvalue: numbers in gradients beyond this are cut.

    Attributes:
      lr, learning_rate: the variable of the rate, in the graph where it is first used.
      iterations: the variable that counts steps.

    Raises:
      TypeError: for other arguments.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith(__package__):
            cls.__init__ = configs.recorded(cls.__init__)

    def __init__(self, learning_rate, name, **kwargs):
        self.name = name
        self._rate = kwargs.pop("lr", learning_rate)
        self._decay = kwargs.pop("decay", 0.0)
        self._clipnorm, self._clipvalue = kwargs.pop("clipnorm", None), kwargs.pop(
            "clipvalue", None
        )
        if kwargs:
            raise TypeError(f"Unexpected keyword argument passed to optimizer: {sorted(kwargs)[0]}")
        self._made = self._steps = self._counter = None
        self._changed = []  # the variables that it changes, in their order

    def count_in(self, steps):
        """Has it count its steps in a variable that is there, before it makes one of its own."""
        self._counter = steps

    def next_step(self, dtype):
        """The number of the step that is being made, from 1 on, as a Tensor; for `rule`s."""
        return cast(self._steps.read_value() + 1, dtype)

    def rule(self, rate):
        """The tf.train.Optimizer with this rate, a float32 scalar."""
        raise NotImplementedError

    def _parts(self):
        """(rate, steps, rule) in the default graph."""
        graph = get_default_graph()
        if self._made is None or self._made[0] is not graph:
            is_schedule = isinstance(self._rate, LearningRateSchedule)
            with sessions.Tracking():
                if not is_schedule:
                    lr = Variable(
                        float(self._rate),
                        trainable=False,
                        name=f"{self.name}/learning_rate",
                        use_resource=True,
                    )
                steps = self._counter
                if steps is None:
                    steps = Variable(
                        0,
                        trainable=False,
                        dtype=dtypes.int64,
                        name=f"{self.name}/iter",
                        use_resource=True,
                    )
            if is_schedule:
                lr = self._rate
            rate = lr(cast(steps, dtypes.float32)) if is_schedule else convert(lr)
            if self._decay:
                rate = rate / (1.0 + self._decay * cast(steps, dtypes.float32))
            self._steps, self._changed = steps, []
            self._made = (graph, lr, steps, self.rule(rate))
        return self._made[1:]

    @property
    def lr(self):
        return self._parts()[0]

    learning_rate = lr

    @property
    def iterations(self):
        return self._parts()[1]

    def minimize(self, loss, var_list, grad_loss=None, name=None):
        """An Operation that changes the variables so that `loss` falls, a Tensor or a function."""
        loss = loss() if callable(loss) else loss
        var_list = var_list() if callable(var_list) else var_list
        found = gradients(loss, var_list, grad_ys=grad_loss)
        return self.apply_gradients(zip(found, var_list), name=name)

    def apply_gradients(self, grads_and_vars, name=None):
        """An Operation that changes variables by these gradients; it counts a step.

        Raises:
          ValueError: if there is no gradient.
        """
        pairs = [(self._clipped(grad), var) for grad, var in grads_and_vars if grad is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        _, steps, rule = self._parts()
        known = self._changed
        self._changed = known + [v for _, v in pairs if not any(v is each for each in known)]
        with sessions.Tracking():
            return rule.apply_gradients(pairs, global_step=steps, name=name or self.name)

    def _clipped(self, gradient):
        if gradient is None or self._clipnorm is None and self._clipvalue is None:
            return gradient
        gradient = convert(gradient)
        if self._clipnorm is not None:
            gradient = clip_by_norm(gradient, self._clipnorm)
        if self._clipvalue is not None:
            gradient = clip_by_value(gradient, -self._clipvalue, self._clipvalue)
        return gradient

    @property
    def weights(self):
        """Its variables in the default graph, in the order of Keras's files: that of the steps, others that
        belong to no variable alone, then those of each slot."""
        _, steps, rule = self._parts()
        # Not by their names: a model that is loaded beside another has others.
        slots = [
            slot
            for name in rule.get_slot_names()
            for slot in (rule.get_slot(variable, name) for variable in self._changed)
            if slot is not None
        ]
        alone = [v for v in rule.variables() if not any(v is each for each in slots)]
        return [steps, *alone, *slots]

    def get_weights(self):
        """The values of `weights`, a list of arrays."""
        return sessions.batch_get_value(self.weights)

    def set_weights(self, weights):
        """Gives `weights` values. ValueError for another number of them, or other shapes."""
        held = self.weights
        if len(held) != len(weights):
            raise ValueError(
                f"Optimizer {self.name} has {len(held)} weights and was given {len(weights)}; it makes them "
                "with the first step of training"
            )
        for variable, value in zip(held, weights):
            if variable.shape.as_list() != list(value.shape):
                raise ValueError(
                    f"Optimizer weight {variable.name} of shape {variable.shape} was given an array of shape "
                    f"{value.shape}"
                )
        sessions.batch_set_value(zip(held, weights))

    def get_config(self):
        """{name: value} of its settings, the rate as it is now: what from_config makes one like it of."""
        given = {name: value for name, value in getattr(self, "given_settings", {}).items()}
        rate = self._rate
        if self._made is not None and not isinstance(rate, LearningRateSchedule):
            rate = float(sessions.get_value(self.lr))
        given.pop("lr", None)
        made = {**given, "name": self.name, "learning_rate": rate, "decay": self._decay}
        return {name: configs.plain_value("", value) for name, value in made.items()}

    @classmethod
    def from_config(cls, config):
        """An optimizer of what get_config gave."""
        return cls(**config)


class SGD(Optimizer):
    """var -= learning_rate * gradient, with momentum if there is one, and Nesterov's if so."""

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, name="SGD", **kwargs):
        super().__init__(learning_rate, name, **kwargs)
        if not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._momentum, self._nesterov = momentum, nesterov

    def rule(self, rate):
        if not self._momentum:
            return descents.GradientDescentOptimizer(rate)
        return _Momentum(rate, self._momentum, self._nesterov)


class _Momentum(RuleOptimizer):
    """momentum = m * momentum - rate * gradient; var += momentum: the rate counts when it is added."""

    def __init__(self, rate, momentum, nesterov):
        super().__init__(False, "Momentum")
        self._settings = (rate, momentum, nesterov)

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _update(self, var, gradient):
        gradient = whole(var, gradient)
        rate, momentum, nesterov = self._settings
        dtype = var.dtype.base_dtype
        slot = self.get_slot(var, "momentum")
        step = cast(rate, dtype) * gradient
        moved = slot.assign(momentum * slot.read_value() - step, read_value=True)
        change = momentum * moved - step if nesterov else moved
        return group(var.assign_add(change, read_value=False), moved)


def whole(var, gradient):
    """A gradient as one Tensor."""
    if len(gradient) == 1:
        return gradient[0]
    values, indices = gradient
    return gen_ops.unsorted_segment_sum(values, indices, gen_ops.shape(var.read_value())[0])


class Adam(Optimizer):
    """Adam; see tf.train.AdamOptimizer. `amsgrad` must be False."""

    def __init__(
        self,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-7,
        amsgrad=False,
        name="Adam",
        **kwargs,
    ):
        if amsgrad:
            raise NotImplementedError("Adam has no amsgrad here: leave it out")
        super().__init__(learning_rate, name, **kwargs)
        self._settings = (beta_1, beta_2, 1e-7 if epsilon is None else epsilon)

    def rule(self, rate):
        return _Adam(rate, self.next_step, *self._settings)


class _Adam(averaging.AdamOptimizer):
    """Adam whose powers of beta come from the number of the step: files have no variables of them."""

    def __init__(self, rate, next_step, beta_1, beta_2, epsilon):
        super().__init__(rate, beta_1, beta_2, epsilon)
        self._next_step = next_step

    def _create_slots(self, var_list):
        for variable in var_list:
            for name in ("m", "v"):
                self._zeros_slot(variable, name, self._name)

    def _inputs(self, var):
        step = self._next_step(var.dtype.base_dtype)
        betas = self._typed([self._beta1_t, self._beta2_t], var)
        powers = [gen_ops.pow(beta, step) for beta in betas]
        return [
            *powers,
            *self._typed([self._lr_t], var),
            *betas,
            *self._typed([self._epsilon_t], var),
        ]

    def _finish(self, update_ops, name_scope):
        return group(*update_ops, name=name_scope)


class RMSprop(Optimizer):
    """var -= rate * gradient / (sqrt(rms) + epsilon), where rms is the running mean of squares.

    With a momentum the change is added to that share of the last one, and epsilon stands in the root.
    """

    def __init__(
        self,
        learning_rate=0.001,
        rho=0.9,
        momentum=0.0,
        epsilon=1e-7,
        centered=False,
        name="RMSprop",
        **kwargs,
    ):
        super().__init__(learning_rate, name, **kwargs)
        self._settings = (rho, momentum, 1e-7 if epsilon is None else epsilon, centered)

    def rule(self, rate):
        return _RMSprop(rate, *self._settings)


class _RMSprop(RuleOptimizer):
    """Keras's RMSprop, whose means begin with 0."""

    def __init__(self, rate, rho, momentum, epsilon, centered):
        super().__init__(False, "RMSprop")
        self._settings = (rate, rho, momentum, epsilon, centered)

    def get_slot_names(self):
        return ["rms", *["momentum"] * bool(self._settings[2]), *["mg"] * bool(self._settings[4])]

    def _create_slots(self, var_list):
        for variable in var_list:
            for name in self.get_slot_names():
                self._zeros_slot(variable, name, f"{self._name}/{name}")

    def _update(self, var, gradient):
        gradient = whole(var, gradient)
        rate, rho, momentum, epsilon, centered = self._settings
        rate = cast(rate, var.dtype.base_dtype)
        rms, past, mean = (self.get_slot(var, name) for name in ("rms", "momentum", "mg"))
        rms = rms.assign(rho * rms.read_value() + (1 - rho) * gradient * gradient)
        changes = [rms]
        denominator = rms
        if centered:
            mean = mean.assign(rho * mean.read_value() + (1 - rho) * gradient)
            changes.append(mean)
            denominator = rms - mean * mean
        if momentum:
            step = past.assign(
                momentum * past.read_value()
                + rate * gradient * gen_ops.rsqrt(denominator + epsilon)
            )
            changes.append(step)
        else:
            step = rate * gradient / (gen_ops.sqrt(denominator) + epsilon)
        return group(var.assign_sub(step, read_value=False), *changes)


class Adagrad(Optimizer):
    """var -= rate * gradient / (sqrt(sum of squares) + epsilon)."""

    def __init__(
        self,
        learning_rate=0.001,
        initial_accumulator_value=0.1,
        epsilon=1e-7,
        name="Adagrad",
        **kwargs,
    ):
        super().__init__(learning_rate, name, **kwargs)
        if initial_accumulator_value < 0:
            raise ValueError(
                f"initial_accumulator_value must be non-negative: {initial_accumulator_value}"
            )
        self._settings = (initial_accumulator_value, epsilon)

    def rule(self, rate):
        return _Adagrad(rate, *self._settings)


class _Adagrad(RuleOptimizer):
    def __init__(self, rate, begin, epsilon):
        super().__init__(False, "Adagrad")
        self._rate, self._begin, self._epsilon = rate, begin, epsilon

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, self._begin, "accumulator", self._name)

    def _update(self, var, gradient):
        inputs = [*self._typed([self._rate, convert(self._epsilon)], var), *gradient]
        return self._apply_rule("AdagradV2", var, ["accumulator"], gradient, inputs)


class Adadelta(Optimizer):
    """Adadelta; see tf.train.AdadeltaOptimizer."""

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, name="Adadelta", **kwargs):
        super().__init__(learning_rate, name, **kwargs)
        self._settings = (rho, epsilon)

    def rule(self, rate):
        return averaging.AdadeltaOptimizer(rate, *self._settings)
