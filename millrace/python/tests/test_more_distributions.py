"""tf.contrib.distributions beyond tf's: mixtures, relaxed classes, counts, beside sums and integrals."""

import math

import numpy as np
import pytest

import millrace as tf

ds = tf.contrib.distributions
GRID = np.linspace(-60.0, 60.0, 60001)


def _integral(values, grid=GRID):
    return np.sum((values[1:] + values[:-1]) / 2 * np.diff(grid))


# Numbers between 0 and 1, closer together where densities are infinite, and how close.
LOGITS = np.linspace(-30.0, 30.0, 60001)
SHARES = 1 / (1 + np.exp(-LOGITS))
APART = SHARES * (1 - SHARES)


def test_a_logistic_density_is_the_slope_of_a_sigmoid(session):
    it = ds.Logistic(np.float64(0.5), np.float64(1.5))
    p, cdf, entropy, stddev, drawn, back = session.run(
        [
            *(it.prob(GRID), it.cdf(GRID), it.entropy(), it.stddev(), it.sample(20000, seed=1)),
            it.quantile(np.float64(0.3)),
        ]
    )
    np.testing.assert_allclose(p[1:-1], (cdf[2:] - cdf[:-2]) / (GRID[2] - GRID[0]), atol=1e-6)
    assert _integral(p * (GRID - 0.5) ** 2) == pytest.approx(stddev**2, rel=1e-4)
    assert -_integral(p * np.log(p)) == pytest.approx(entropy, rel=1e-4)
    assert drawn.mean() == pytest.approx(0.5, abs=0.1)
    assert 1 / (1 + math.exp(-(back - 0.5) / 1.5)) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ds.Poisson(np.float64(3.5)),
        lambda: ds.Poisson(log_rate=np.log(np.float64(3.5))),
        lambda: ds.Geometric(probs=np.float64(0.3)),
    ],
)
def test_what_is_counted(session, make):
    it, counts = make(), np.arange(200.0)
    p, cdf, mean, variance, drawn = session.run(
        [it.prob(counts), it.cdf(counts), it.mean(), it.variance(), it.sample(20000, seed=2)]
    )
    np.testing.assert_allclose(np.cumsum(p), cdf, rtol=1e-6)
    assert cdf[-1] == pytest.approx(1) and (p * counts).sum() == pytest.approx(mean)
    assert (p * (counts - mean) ** 2).sum() == pytest.approx(variance)
    assert (drawn == np.floor(drawn)).all() and drawn.min() >= 0
    assert drawn.mean() == pytest.approx(mean, rel=0.05)
    assert session.run(it.mode()) == np.argmax(p)


def test_fewer_than_no_failures_are_not_possible(session):
    it = ds.Geometric(probs=np.float64(0.3))
    np.testing.assert_allclose(session.run(it.cdf(np.float64([-5, -0.5, 0]))), [0, 0, 0.3])


def test_the_entropy_of_waiting(session):
    p = 0.3 * 0.7 ** np.arange(400)
    entropy = session.run(ds.Geometric(probs=np.float64(0.3)).entropy())
    assert entropy == pytest.approx(-(p * np.log(p)).sum())
    with pytest.raises(ValueError, match="exactly one of `rate`"):
        ds.Poisson()


def test_what_is_certain(session):
    it = ds.Deterministic([1.0, 2.0], atol=0.1)
    found = session.run([it.sample(2), it.prob([1.05, 2.2]), it.cdf([0.5, 3.0]), it.variance()])
    assert found[0].tolist() == [[1, 2], [1, 2]] and found[1].tolist() == [1, 0]
    assert found[2].tolist() == [0, 1] and found[3].tolist() == [0, 0]


def test_relaxed_numbers_are_between_yes_and_no(session):
    it = ds.RelaxedBernoulli(np.float64(0.7), probs=np.float64(0.3))
    p, drawn, cold = session.run(
        [
            *(it.prob(SHARES), it.sample(20000, seed=3)),
            ds.RelaxedBernoulli(0.01, probs=0.3).sample(5000, seed=3),
        ]
    )
    assert _integral(p * APART, LOGITS) == pytest.approx(1, abs=1e-3)
    share = _integral(np.where(SHARES < 0.4, p * APART, 0), LOGITS)
    assert (drawn < 0.4).mean() == pytest.approx(share, abs=0.02)
    assert (np.minimum(cold, 1 - cold) < 0.05).mean() > 0.9
    assert cold.mean() == pytest.approx(0.3, abs=0.03)


def test_relaxed_classes_have_gradients_and_densities(session):
    probs = np.float64([0.2, 0.8])
    logits = tf.constant(np.log(probs))
    it = ds.RelaxedOneHotCategorical(np.float64(0.5), logits=logits)
    drawn = it.sample(5000, seed=4)
    (slope,) = tf.gradients(drawn[:, 0], logits)
    both = np.stack([SHARES, 1 - SHARES], 1)
    drawn, slope, p = session.run([drawn, slope, it.prob(both)])
    np.testing.assert_allclose(drawn.sum(1), 1)
    assert (slope != 0).all() and it.reparameterization_type is ds.FULLY_REPARAMETERIZED
    # Of two classes, a density over the first share.
    assert _integral(p * APART, LOGITS) == pytest.approx(1, abs=1e-3)
    below = _integral(np.where(SHARES < 0.3, p * APART, 0), LOGITS)
    assert (drawn[:, 0] < 0.3).mean() == pytest.approx(below, abs=0.02)
    log = ds.ExpRelaxedOneHotCategorical(np.float64(0.5), logits=logits)
    y = np.log([[0.3, 0.7]])
    found = session.run([it.log_prob(np.exp(y)), log.log_prob(y)])
    np.testing.assert_allclose(found[0], found[1] - y.sum(1))


def _mixed(kind):
    loc, scale, p = np.float64([-2.0, 1.0]), np.float64([0.5, 1.5]), np.float64([0.3, 0.7])
    which = ds.Categorical(probs=p)
    if kind == "several":
        return ds.Mixture(which, [ds.Normal(loc[i], scale[i]) for i in range(2)]), loc, scale, p
    return ds.MixtureSameFamily(which, ds.Normal(loc, scale)), loc, scale, p


@pytest.mark.parametrize("kind", ["several", "one family"])
def test_a_mixture_is_the_weighted_sum_of_its_parts(session, kind):
    it, loc, scale, p = _mixed(kind)
    assert it.batch_shape.as_list() == [] and it.event_shape.as_list() == []
    density, mean, variance, drawn = session.run(
        [it.prob(GRID), it.mean(), it.variance(), it.sample([100, 200], seed=5)]
    )
    parts = np.exp(-0.5 * ((GRID[:, None] - loc) / scale) ** 2) / scale / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(density, parts @ p, atol=1e-9)
    assert _integral(density * GRID) == pytest.approx(mean, abs=1e-6)
    assert _integral(density * (GRID - mean) ** 2) == pytest.approx(variance, rel=1e-5)
    assert drawn.shape == (100, 200)
    assert drawn.mean() == pytest.approx(mean, abs=0.06)
    assert drawn.std() == pytest.approx(math.sqrt(variance), rel=0.03)


@pytest.mark.parametrize("kind", ["several", "one family"])
def test_a_mixture_of_vectors_with_a_batch(session, kind):
    random = np.random.RandomState(0)
    loc, p = random.randn(3, 2, 4), np.float64([[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]])
    which = ds.Categorical(probs=p)
    one = np.ones(4)
    if kind == "several":
        it = ds.Mixture(which, [ds.MultivariateNormalDiag(loc[:, i], one) for i in range(2)])
    else:
        it = ds.MixtureSameFamily(which, ds.MultivariateNormalDiag(loc, one))
    assert it.batch_shape.as_list() == [3] and it.event_shape.as_list() == [4]
    x = random.randn(3, 4)
    log, mean, drawn = session.run([it.log_prob(x), it.mean(), it.sample(2000, seed=6)])
    squares = ((x[:, None] - loc) ** 2).sum(-1)
    parts = np.exp(-0.5 * squares) / (2 * math.pi) ** 2
    np.testing.assert_allclose(log, np.log((p * parts).sum(1)))
    np.testing.assert_allclose(mean, np.einsum("bk,bkd->bd", p, loc))
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.15)


def test_one_decision_for_a_batch_of_mixtures_is_drawn_for_each(session):
    loc = np.float64([[-100.0, 100.0], [-10.0, 10.0], [-1.0, 1.0]])
    which = ds.Categorical(probs=np.float64([0.3, 0.7]))
    it = ds.MixtureSameFamily(which, ds.Normal(loc, np.float64(0.01)))
    assert it.batch_shape.as_list() == [3]
    drawn, mean, shape = session.run([it.sample(3000, seed=7), it.mean(), it.batch_shape_tensor()])
    assert drawn.shape == (3000, 3) and list(shape) == [3]
    np.testing.assert_allclose(mean, loc @ [0.3, 0.7])
    is_second = drawn > 0
    np.testing.assert_allclose(is_second.mean(0), [0.7] * 3, atol=0.04)
    assert (is_second[:, 0] != is_second[:, 1]).mean() == pytest.approx(2 * 0.3 * 0.7, abs=0.05)


def test_mixtures_that_cannot_be_are_refused():
    which = ds.Categorical(probs=[0.5, 0.5])
    with pytest.raises(ValueError, match="2 classes, but there are 1 components"):
        ds.Mixture(which, [ds.Normal(0.0, 1.0)])
    with pytest.raises(TypeError, match="must be a Categorical"):
        ds.Mixture(ds.Normal(0.0, 1.0), [ds.Normal(0.0, 1.0)])
    three = ds.Categorical(probs=[[0.5, 0.5]] * 3)
    with pytest.raises(ValueError, match=r"batch of shape \(3,\), but that of a component is \(\)"):
        ds.Mixture(three, [ds.Normal(0.0, 1.0)] * 2)
    with pytest.raises(ValueError, match=r"that of components_distribution is \(2,\)"):
        ds.MixtureSameFamily(three, ds.Normal([0.0, 1.0], 1.0))
    with pytest.raises(ValueError, match=r"that of components_distribution is \(3,\)"):
        ds.MixtureSameFamily(which, ds.Normal([0.0, 1.0, 2.0], 1.0))


def test_vectors_by_their_covariance(session):
    covariance = np.float64([[2.0, 0.5], [0.5, 1.0]])
    it = ds.MultivariateNormalFullCovariance(np.float64([1.0, 2.0]), covariance)
    x = np.float64([0.5, 0.5])
    off = x - [1.0, 2.0]
    log, found = session.run([it.log_prob(x), it.covariance()])
    expected = -0.5 * off @ np.linalg.inv(covariance) @ off
    expected -= 0.5 * math.log(np.linalg.det(2 * math.pi * covariance))
    assert log == pytest.approx(expected)
    np.testing.assert_allclose(found, covariance)
    assert it.copy().event_shape.as_list() == [2]
