"""Rates that change with the number of steps, as objects that optimizers take."""

from millrace._train import decays


class LearningRateSchedule:
    """The base of schedules: called with a number of steps they give the rate, a Tensor."""

    def __call__(self, step):
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self):
        """{name: value} of its settings."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config):
        """The schedule of these settings."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """A rate that a function of decay_rate and step / decay_steps makes smaller."""

    _decayed = None  # one of `decays`

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name=None):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def __call__(self, step):
        return type(self)._decayed(
            self.initial_learning_rate,
            step,
            self.decay_steps,
            self.decay_rate,
            self.staircase,
            self.name,
        )


class ExponentialDecay(_Decay):
    """initial_learning_rate * decay_rate ^ (step / decay_steps); whole powers alone if `staircase`."""

    _decayed = staticmethod(decays.exponential_decay)


class InverseTimeDecay(_Decay):
    """initial_learning_rate / (1 + decay_rate * step / decay_steps); whole parts alone if `staircase`."""

    _decayed = staticmethod(decays.inverse_time_decay)


class PolynomialDecay(LearningRateSchedule):
    """From initial_learning_rate to end_learning_rate in decay_steps, by a power; again and again if `cycle`."""

    def __init__(
        self,
        initial_learning_rate,
        decay_steps,
        end_learning_rate=0.0001,
        power=1.0,
        cycle=False,
        name=None,
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power = end_learning_rate, power
        self.cycle, self.name = cycle, name

    def __call__(self, step):
        return decays.polynomial_decay(
            self.initial_learning_rate,
            step,
            self.decay_steps,
            self.end_learning_rate,
            self.power,
            self.cycle,
            self.name,
        )


class PiecewiseConstantDecay(LearningRateSchedule):
    """values[i] up to the step boundaries[i], the last value behind them. ValueError for other lengths."""

    def __init__(self, boundaries, values, name=None):
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values: they are "
                f"{len(boundaries)} and {len(values)}"
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step):
        boundaries = [float(each) for each in self.boundaries]
        return decays.piecewise_constant(step, boundaries, self.values, self.name)


class CosineDecay(LearningRateSchedule):
    """Half a cosine from initial_learning_rate to `alpha` of it in decay_steps."""

    def __init__(self, initial_learning_rate, decay_steps, alpha=0.0, name=None):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name

    def __call__(self, step):
        return decays.cosine_decay(
            self.initial_learning_rate, step, self.decay_steps, self.alpha, self.name
        )
