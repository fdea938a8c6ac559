"""Schedules of rates in waves."""

from millrace._keras.schedules import LearningRateSchedule
from millrace._train import cosine_decays


class CosineDecayRestarts(LearningRateSchedule):
    """Half cosines in periods, each of which begins at the top again; see tf.train.cosine_decay_restarts."""

    def __init__(
        self, initial_learning_rate, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None
    ):
        self.initial_learning_rate, self.first_decay_steps = (
            initial_learning_rate,
            first_decay_steps,
        )
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def __call__(self, step):
        return cosine_decays.cosine_decay_restarts(
            self.initial_learning_rate,
            step,
            self.first_decay_steps,
            self.t_mul,
            self.m_mul,
            self.alpha,
            self.name,
        )


class LinearCosineDecay(LearningRateSchedule):
    """A line times a wave, both of which fall to 0 in decay_steps; see tf.train.linear_cosine_decay."""

    def __init__(
        self, initial_learning_rate, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.num_periods, self.alpha, self.beta, self.name = num_periods, alpha, beta, name

    def __call__(self, step):
        return cosine_decays.linear_cosine_decay(
            self.initial_learning_rate,
            step,
            self.decay_steps,
            self.num_periods,
            self.alpha,
            self.beta,
            self.name,
        )


class NoisyLinearCosineDecay(LinearCosineDecay):
    """LinearCosineDecay whose line is moved by chance; see tf.train.noisy_linear_cosine_decay."""

    def __init__(
        self,
        initial_learning_rate,
        decay_steps,
        initial_variance=1.0,
        variance_decay=0.55,
        num_periods=0.5,
        alpha=0.0,
        beta=0.001,
        name=None,
    ):
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self.initial_variance, self.variance_decay = initial_variance, variance_decay

    def __call__(self, step):
        return cosine_decays.noisy_linear_cosine_decay(
            self.initial_learning_rate,
            step,
            self.decay_steps,
            self.initial_variance,
            self.variance_decay,
            self.num_periods,
            self.alpha,
            self.beta,
            self.name,
        )
