"""tf.distributions: draws, likelihoods, divergences; beside TensorFlow they are in tests/interop."""

import numpy as np
import pytest

import millrace as tf

chance = tf.distributions


@pytest.mark.parametrize(
    "make, mean, deviation",
    [
        (lambda: chance.Normal([1.0, -2.0], 0.5), [1.0, -2.0], [0.5, 0.5]),
        (lambda: chance.Laplace(1.0, [2.0, 0.5]), [1.0, 1.0], [2.0 * 2**0.5, 0.5 * 2**0.5]),
        (lambda: chance.Uniform([0.0, 2.0], 4.0), [2.0, 3.0], [4 / 12**0.5, 2 / 12**0.5]),
        (lambda: chance.StudentT(8.0, [0.0, 3.0], 2.0), [0.0, 3.0], [(32 / 6) ** 0.5] * 2),
        (lambda: chance.Gamma([2.0, 9.0], 3.0), [2 / 3, 3.0], [2**0.5 / 3, 1.0]),
        (lambda: chance.Exponential([0.5, 4.0]), [2.0, 0.25], [2.0, 0.25]),
        (lambda: chance.Beta([1.0, 2.0], 2.0), [1 / 3, 1 / 2], [(1 / 18) ** 0.5, 0.05**0.5]),
        (lambda: chance.Dirichlet([1.0, 3.0]), [0.25, 0.75], [(3 / 80) ** 0.5] * 2),
        (lambda: chance.Bernoulli(probs=[0.2, 0.9]), [0.2, 0.9], [0.4, 0.3]),
    ],
)
def test_draws_have_the_mean_and_deviation_that_are_told(session, make, mean, deviation):
    tf.set_random_seed(1)
    one = make()
    draws = one.sample(20000, seed=3)
    assert draws.shape.as_list() == [20000, 2] and draws.dtype == one.dtype
    values, told_mean, told_deviation = session.run([draws, one.mean(), one.stddev()])
    np.testing.assert_allclose(told_mean, mean, rtol=1e-5)
    np.testing.assert_allclose(told_deviation, deviation, rtol=1e-5)
    np.testing.assert_allclose(values.mean(0), mean, atol=0.06)
    np.testing.assert_allclose(values.std(0), deviation, rtol=0.06)


def test_classes_are_drawn_as_often_as_is_likely(session):
    tf.set_random_seed(1)
    one = chance.Categorical(logits=tf.log([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]))
    draws = one.sample([100, 200], seed=5)
    assert draws.shape.as_list() == [100, 200, 2] and draws.dtype == tf.int32
    values = session.run(draws).reshape(-1, 2)
    shares = np.stack([np.bincount(column, minlength=3) for column in values.T]) / 20000
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], atol=0.02)
    assert session.run(one.mode()).tolist() == [2, 0]
    assert session.run(one.event_size) == 3 and one.event_shape.as_list() == []


def test_a_policy_learns_by_what_it_drew(session):
    logits = tf.Variable([0.0, 0.0, 0.0])
    policy = chance.Categorical(logits=logits)
    action = tf.placeholder(tf.int32, [None])
    loss = -tf.reduce_mean(policy.log_prob(action))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    session.run(tf.global_variables_initializer())
    for _ in range(20):
        session.run(train, {action: [2, 2, 1]})
    assert session.run(policy.probs).argmax() == 2
    assert session.run(policy.entropy()) < np.log(3)


def test_gradients_go_through_draws_of_a_normal_distribution(session):
    loc, scale = tf.constant(1.0), tf.constant(2.0)
    draw = chance.Normal(loc, scale).sample(seed=4)
    by_loc, by_scale = tf.gradients(draw, [loc, scale])
    value, one, z = session.run([draw, by_loc, by_scale])
    assert one == 1.0 and z == pytest.approx((value - 1.0) / 2.0, rel=1e-5)
    assert chance.Normal(0.0, 1.0).reparameterization_type is chance.FULLY_REPARAMETERIZED
    assert chance.Bernoulli(0.0).reparameterization_type is chance.NOT_REPARAMETERIZED


def test_shapes_that_a_step_tells(session):
    loc = tf.placeholder(tf.float32, [None, 2])
    one = chance.Normal(loc, [1.0, 2.0])
    assert one.batch_shape.as_list() == [None, 2] and one.event_shape.as_list() == []
    count = tf.placeholder(tf.int32, [])
    fed = {loc: np.zeros([3, 2]), count: 5}
    drawn, sizes = session.run([one.sample(count), one.batch_shape_tensor()], fed)
    assert drawn.shape == (5, 3, 2) and sizes.tolist() == [3, 2]
    assert session.run(one.log_prob(np.ones(2, np.float32)), fed).shape == (3, 2)


def test_the_tail_of_a_normal_distribution_is_exact(check):
    one = chance.Normal(0.0, 1.0)
    check(
        one.log_cdf([-30.0, -5.0, 0.0]), np.float32([-454.32124395634, -15.06499839, -0.69314718])
    )
    check(one.log_survival_function(30.0), np.float32(-454.32124395634))
    check(one.quantile(0.975), np.float32(1.959964), rtol=1e-5)


def test_a_statistic_that_is_not_defined_is_nan_or_an_error(session):
    assert np.isnan(session.run(chance.Gamma([0.5, 2.0], 1.0).mode())).tolist() == [True, False]
    strict = chance.StudentT(1.0, 0.0, 1.0, allow_nan_stats=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="mean not defined"):
        session.run(strict.mean())


def test_parameters_are_checked_if_that_is_asked_for(session):
    scale = tf.placeholder(tf.float32, [])
    session.run(chance.Normal(0.0, scale).mean(), {scale: -1.0})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(chance.Normal(0.0, scale, validate_args=True).stddev(), {scale: -1.0})
    with pytest.raises(ValueError, match="but not both"):
        chance.Categorical()
    with pytest.raises(ValueError, match="but not both"):
        chance.Bernoulli(logits=0.0, probs=0.5)
    with pytest.raises(TypeError, match="float type"):
        chance.Normal(np.int32(1), 2)


def test_divergences_are_registered_for_pairs(session):
    class Mine(chance.Normal):
        pass

    near = chance.kl_divergence(Mine(0.0, 1.0), chance.Normal(0.0, 1.0))
    assert session.run(near) == 0.0

    @chance.RegisterKL(Mine, chance.Laplace)
    def between(a, b, name=None):
        return a.loc + 7.0

    assert session.run(Mine(1.0, 1.0).kl_divergence(chance.Laplace(0.0, 1.0))) == 8.0
    with pytest.raises(ValueError, match="already been registered"):
        chance.RegisterKL(Mine, chance.Laplace)(between)
    with pytest.raises(NotImplementedError, match="type Laplace and distribution_b type Normal"):
        chance.kl_divergence(chance.Laplace(0.0, 1.0), chance.Normal(0.0, 1.0))


def test_a_distribution_may_be_a_programs_own(session):
    class Point(chance.Distribution):
        def __init__(self, at, name="Point"):
            self.at = tf.convert_to_tensor(at)
            super().__init__(
                self.at.dtype, chance.NOT_REPARAMETERIZED, False, True, {"at": at}, name=name
            )

        def _parts(self):
            return [self.at]

        def _sample_n(self, n, seed):
            return tf.ones(self.shape_of_draws(n)) * self.at

    one = Point([1.0, 2.0])
    assert session.run(one.sample(2)).tolist() == [[1.0, 2.0]] * 2
    with pytest.raises(NotImplementedError, match="entropy is not implemented: Point"):
        one.entropy()
    assert "batch_shape=(2,)" in repr(one)


def test_a_copy_differs_in_what_is_said(session):
    one = chance.Normal(1.0, 2.0).copy(loc=5.0)
    assert session.run([one.mean(), one.stddev()]) == [5.0, 2.0]
    assert session.run(chance.Exponential(2.0).copy().mean()) == 0.5
