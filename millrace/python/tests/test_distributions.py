"""tf.distributions: densities beside what they integrate to, and samples beside densities."""

import math

import numpy as np
import pytest

import millrace as tf

ds, more = tf.distributions, tf.contrib.distributions
GRID = np.linspace(-60.0, 60.0, 480001)

SCALARS = {
    "Normal": (lambda: ds.Normal(np.float64(0.5), np.float64(1.5)), GRID),
    "Uniform": (lambda: ds.Uniform(np.float64(-1.0), np.float64(2.0)), GRID),
    "Laplace": (lambda: ds.Laplace(np.float64(0.5), np.float64(0.7)), GRID),
    "Gamma": (lambda: ds.Gamma(np.float64(2.5), np.float64(1.5)), np.abs(GRID[240000:])),
    "Exponential": (lambda: ds.Exponential(np.float64(1.5)), np.abs(GRID[240000:])),
    "Beta": (lambda: ds.Beta(np.float64(2.5), np.float64(1.5)), np.linspace(0, 1, 480001)),
    "StudentT": (
        lambda: ds.StudentT(np.float64(9.0), np.float64(0.5), np.float64(0.7)),
        GRID,
    ),
}


def _integral(values, grid):
    return np.sum((values[1:] + values[:-1]) / 2 * np.diff(grid))


@pytest.mark.parametrize("kind", SCALARS)
def test_a_density_integrates_to_what_is_said_of_it(session, kind):
    make, grid = SCALARS[kind]
    it = make()
    at = [grid[len(grid) // 2 + 200], grid[len(grid) // 2 + 2000]]
    p, cdf, mean, variance, stddev, entropy, logs = session.run(
        [
            it.prob(grid),
            it.cdf(np.array(at)),
            *(it.mean(), it.variance(), it.stddev(), it.entropy()),
            it.log_prob(np.array(at)),
        ]
    )
    if kind == "Gamma":
        p[0] = 0
    assert _integral(p, grid) == pytest.approx(1, abs=1e-3)
    assert _integral(p * grid, grid) == pytest.approx(mean, abs=1e-3)
    assert _integral(p * (grid - mean) ** 2, grid) == pytest.approx(variance, abs=1e-3)
    assert stddev == pytest.approx(math.sqrt(variance))
    safe = np.where(p > 0, p, 1)
    assert -_integral(p * np.log(safe), grid) == pytest.approx(entropy, abs=1e-3)
    for value, below, log in zip(at, cdf, logs):
        cut = grid <= value + 1e-12
        assert _integral(p[cut], grid[cut]) == pytest.approx(below, abs=1e-3)
        assert p[np.argmin(np.abs(grid - value))] == pytest.approx(math.exp(log), rel=1e-3)


@pytest.mark.parametrize("kind", [ds.Normal, ds.Laplace, more.Logistic])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shares_that_are_too_small_for_numbers_have_logarithms(session, kind, dtype):
    it = kind(dtype(0), dtype(2))
    near = np.array([-9.0, -1.0, 0.0, 1.0, 9.0], dtype)
    far = np.array([-700.0, -80.0, -41.0, -39.5, -21.0, -19.0], dtype)
    log, share, above, rest = session.run(
        [
            *(it.log_cdf(near), it.cdf(near)),
            *(it.log_survival_function(-near), it.survival_function(-near)),
        ]
    )
    np.testing.assert_allclose(log, np.log(share), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(above, log, rtol=1e-5)
    np.testing.assert_allclose(rest, share, rtol=1e-5)
    # Far out, the slope of the logarithm is the density over the share.
    x = tf.constant(far)
    log, density, slope = session.run(
        [it.log_cdf(x), it.log_prob(x), tf.gradients(it.log_cdf(x), x)[0]]
    )
    assert np.isfinite(log).all()
    np.testing.assert_allclose(np.log(slope), density - log, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("kind", SCALARS)
def test_samples_have_the_moments_of_their_distribution(session, kind):
    it = SCALARS[kind][0]()
    drawn = it.sample([100, 200], seed=3)
    assert drawn.shape.as_list() == [100, 200] and drawn.dtype == it.dtype == tf.float64
    drawn, mean, stddev = session.run([drawn, it.mean(), it.stddev()])
    assert drawn.mean() == pytest.approx(mean, abs=5 * stddev / math.sqrt(20000))
    assert drawn.std() == pytest.approx(stddev, rel=0.1)


@pytest.mark.parametrize(
    "kind, make",
    {
        "Normal": lambda a, b: ds.Normal(a, b),
        "Laplace": lambda a, b: ds.Laplace(a, b),
        "Gamma": lambda a, b: ds.Gamma(a + 1, b),
        "Beta": lambda a, b: ds.Beta(a + 1, b + 1),
        "Uniform": lambda a, b: ds.Uniform(-a, a + b),
    }.items(),
)
def test_a_divergence_is_the_expected_difference_of_logs(session, kind, make):
    first, second = make(np.float64(1.0), np.float64(0.9)), make(np.float64(1.5), np.float64(1.4))
    grid = SCALARS[kind][1][1:-1]
    a, b, kl, entropy = session.run(
        [
            *(first.prob(grid), second.prob(grid)),
            *(ds.kl_divergence(first, second), first.cross_entropy(second) - first.entropy()),
        ]
    )
    inside = (a > 0) & (b > 0)
    expected = np.where(inside, a * np.log(np.where(inside, a, 1) / np.where(inside, b, 1)), 0)
    assert _integral(expected, grid) == pytest.approx(kl, abs=1e-3)
    assert kl == pytest.approx(entropy)


def test_parameters_broadcast_and_shapes_are_known_as_far_as_they_are(session):
    it = ds.Normal([0.0, 1.0, 2.0], tf.placeholder_with_default([[1.0], [2.0]], [None, 1]))
    assert it.batch_shape.as_list() == [None, 3] and it.event_shape.as_list() == []
    assert it.dtype == tf.float32 and it.name == "Normal/"
    drawn = it.sample(4)
    assert drawn.shape.as_list() == [4, None, 3]
    found = session.run(
        [it.batch_shape_tensor(), it.event_shape_tensor(), drawn, it.mean(), it.mode(), it.stddev()]
    )
    assert [list(found[0]), list(found[1]), found[2].shape] == [[2, 3], [], (4, 2, 3)]
    assert found[3].tolist() == found[4].tolist() == [[0, 1, 2]] * 2
    assert found[5].tolist() == [[1] * 3, [2] * 3]
    assert session.run(ds.Normal(0, 1).sample()).dtype == np.float32
    with pytest.raises(ValueError, match="Incompatible shapes"):
        ds.Normal([0.0, 1.0], [1.0, 1.0, 1.0]).batch_shape
    copied = it.copy(loc=5.0)
    assert copied.batch_shape.as_list() == [None, 1] and copied.parameters["loc"] == 5.0


def test_a_sample_has_a_gradient_by_its_parameters(session):
    loc, scale = tf.constant(1.0), tf.constant(2.0)
    it = ds.Normal(loc, scale)
    assert it.reparameterization_type is ds.FULLY_REPARAMETERIZED
    drawn = it.sample(seed=1)
    value, by_loc, by_scale = session.run([drawn, *tf.gradients(drawn, [loc, scale])])
    assert by_loc == 1 and by_scale == pytest.approx((value - 1) / 2, rel=1e-4)
    assert ds.Bernoulli(0.5).reparameterization_type is ds.NOT_REPARAMETERIZED


def test_validation_finds_scales_that_are_none(session):
    it = ds.Normal(0.0, tf.placeholder_with_default(-1.0, []), validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(it.sample())


@pytest.mark.parametrize("what", ["mean", "variance", "stddev", "mode"])
def test_what_is_not_defined_is_no_number_or_fails(session, what):
    def of(allow):
        if what == "mode":
            return ds.Gamma([0.5, 2.0], 1.0, allow_nan_stats=allow).mode()
        return getattr(ds.StudentT([0.5, 9.0], 0.0, 1.0, allow_nan_stats=allow), what)()

    assert np.isnan(session.run(of(True))).tolist() == [True, False]
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{what} of .* is not defined"):
        session.run(of(False))
    infinite = ds.StudentT(1.5, 0.0, 1.0, allow_nan_stats=False).variance()
    assert session.run(infinite) == np.inf


def test_yes_or_no(session):
    p = np.float32([0.2, 0.5, 0.9])
    it = ds.Bernoulli(probs=p)
    drawn = it.sample(5000, seed=1)
    found = session.run(
        [drawn, it.log_prob([1, 0, 1]), it.prob([0, 0, 0]), it.mean(), it.variance(), it.mode()]
    )
    assert found[0].dtype == np.int32 and set(np.unique(found[0])) == {0, 1}
    np.testing.assert_allclose(found[0].mean(0), p, atol=0.03)
    np.testing.assert_allclose(found[1], np.log([0.2, 0.5, 0.9]), rtol=1e-5)
    np.testing.assert_allclose(found[2], 1 - p, rtol=1e-5)
    np.testing.assert_allclose(found[3], p)
    np.testing.assert_allclose(found[4], p * (1 - p), rtol=1e-5)
    assert found[5].tolist() == [0, 0, 1]
    entropy = session.run(ds.Bernoulli(logits=np.log(p / (1 - p))).entropy())
    np.testing.assert_allclose(entropy, -p * np.log(p) - (1 - p) * np.log(1 - p), rtol=1e-4)
    with pytest.raises(ValueError, match="probs or logits, but not both"):
        ds.Bernoulli()


PROBS = np.float32([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])


def test_one_of_several_classes(session):
    it = ds.Categorical(probs=PROBS)
    assert it.batch_shape.as_list() == [2] and it.event_shape.as_list() == []
    drawn, log, p, mode, entropy, cdf = session.run(
        [
            *(it.sample(8000, seed=2), it.log_prob([2, 0]), it.prob([[0, 1], [1, 2]])),
            *(it.mode(), it.entropy(), it.cdf([1, 1])),
        ]
    )
    shares = np.stack([(drawn == k).mean(0) for k in range(3)], -1)
    np.testing.assert_allclose(shares, PROBS, atol=0.03)
    np.testing.assert_allclose(log, np.log([0.7, 0.5]), rtol=1e-5)
    np.testing.assert_allclose(p, [[0.1, 0.5], [0.2, 0.0]], rtol=1e-5)
    assert mode.tolist() == [2, 0]
    logs = np.log(np.where(PROBS > 0, PROBS, 1))
    np.testing.assert_allclose(entropy, -(PROBS * logs).sum(1), rtol=1e-5)
    np.testing.assert_allclose(cdf, [0.1, 0.5], rtol=1e-5)  # of the classes below 1


def test_classes_as_vectors(session):
    it = more.OneHotCategorical(probs=PROBS, dtype=tf.float32)
    assert it.event_shape.as_list() == [3]
    drawn, log, mode = session.run([it.sample(7), it.log_prob(np.eye(3)[[2, 0]]), it.mode()])
    assert drawn.shape == (7, 2, 3) and (drawn.sum(-1) == 1).all()
    np.testing.assert_allclose(log, np.log([0.7, 0.5]), rtol=1e-5)
    assert mode.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_divergences_of_classes(session):
    a, b = PROBS, np.float32([[0.3, 0.3, 0.4], [0.4, 0.5, 0.1]])
    expected = (a * np.log(np.where(a > 0, a, 1) / np.where(a > 0, b, 1))).sum(1)
    for kind in (ds.Categorical, more.OneHotCategorical):
        kl = session.run(ds.kl_divergence(kind(probs=a), kind(probs=b)))
        np.testing.assert_allclose(kl, expected, rtol=1e-4)
    kl = session.run(ds.kl_divergence(ds.Bernoulli(probs=0.2), ds.Bernoulli(probs=0.5)))
    assert kl == pytest.approx(0.2 * math.log(0.4) + 0.8 * math.log(1.6), rel=1e-4)
    with pytest.raises(NotImplementedError, match="Normal and distribution_b type Uniform"):
        ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Uniform())


def test_counts_of_classes(session):
    p = PROBS[0]
    it = ds.Multinomial(total_count=4.0, probs=p)
    drawn, log, mean, covariance = session.run(
        [it.sample(3000, seed=4), it.log_prob([1.0, 1.0, 2.0]), it.mean(), it.covariance()]
    )
    assert drawn.shape == (3000, 3) and (drawn.sum(1) == 4).all()
    np.testing.assert_allclose(drawn.mean(0), 4 * p, atol=0.1)
    assert log == pytest.approx(math.log(12 * 0.1 * 0.2 * 0.49), rel=1e-4)
    np.testing.assert_allclose(mean, 4 * p, rtol=1e-5)
    np.testing.assert_allclose(covariance, 4 * (np.diag(p) - np.outer(p, p)), atol=1e-5)


def test_shares_of_classes(session):
    a = np.float64([2.0, 3.0, 5.0])
    it = ds.Dirichlet(a)
    x = np.float64([0.2, 0.3, 0.5])
    drawn, log, mean, variance, mode, kl, entropy = session.run(
        [
            *(it.sample(4000, seed=5), it.log_prob(x), it.mean(), it.variance(), it.mode()),
            *(ds.kl_divergence(it, ds.Dirichlet(a[::-1].copy())), it.entropy()),
        ]
    )
    np.testing.assert_allclose(drawn.sum(1), 1)
    np.testing.assert_allclose(drawn.mean(0), a / 10, atol=0.02)
    norm = math.lgamma(10) - sum(map(math.lgamma, a))
    assert log == pytest.approx(norm + ((a - 1) * np.log(x)).sum(), rel=1e-6)
    np.testing.assert_allclose(mean, a / 10)
    np.testing.assert_allclose(variance, a / 10 * (1 - a / 10) / 11)
    np.testing.assert_allclose(mode, (a - 1) / 7)
    logs = norm + (np.log(drawn) * (a - 1)).sum(1)
    assert entropy == pytest.approx(-logs.mean(), abs=0.05)
    other = norm + (np.log(drawn) * (a[::-1] - 1)).sum(1)
    assert kl == pytest.approx((logs - other).mean(), abs=0.15)


def test_vectors_of_independent_numbers(session):
    loc, scale = np.float64([[1.0, 2.0], [0.0, 0.5]]), np.float64([0.5, 2.0])
    it = more.MultivariateNormalDiag(loc, scale)
    assert it.batch_shape.as_list() == [2] and it.event_shape.as_list() == [2]
    x = np.float64([0.3, 0.4])
    each = ds.Normal(loc, scale)
    joint = more.Independent(each, 1)
    found = session.run(
        [
            *(it.log_prob(x), joint.log_prob(x), it.entropy(), joint.entropy()),
            *(it.sample(4000, seed=6), it.stddev(), it.covariance()),
        ]
    )
    logs = -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * math.log(2 * math.pi)
    np.testing.assert_allclose(found[0], logs.sum(1))
    np.testing.assert_allclose(found[1], logs.sum(1))
    np.testing.assert_allclose(found[2], found[3])
    np.testing.assert_allclose(found[4].mean(0), loc, atol=0.15)
    np.testing.assert_allclose(found[5], [scale, scale])
    np.testing.assert_allclose(found[6], [np.diag(scale**2)] * 2)
    assert joint.event_shape.as_list() == [2] and joint.sample(3).shape.as_list() == [3, 2, 2]
    same = more.MultivariateNormalDiag(loc, scale_identity_multiplier=np.float64(2.0))
    np.testing.assert_allclose(session.run(same.stddev()), np.full([2, 2], 2.0))
    with pytest.raises(ValueError, match="one of loc and scale_diag"):
        more.MultivariateNormalDiag()


def test_vectors_of_numbers_that_go_together(session):
    triangle = np.float64([[1.0, 0.0], [0.5, 2.0]])
    covariance = triangle @ triangle.T
    loc = np.float64([1.0, -1.0])
    it = more.MultivariateNormalTriL(loc, triangle)
    x = np.float64([[0.3, 0.4], [1.0, 2.0]])
    found = session.run(
        [it.log_prob(x), it.covariance(), it.sample(20000, seed=7), it.variance(), it.entropy()]
    )
    off = x - loc
    squares = np.einsum("bi,ij,bj->b", off, np.linalg.inv(covariance), off)
    norm = 0.5 * np.log(np.linalg.det(2 * np.pi * covariance))
    np.testing.assert_allclose(found[0], -0.5 * squares - norm)
    np.testing.assert_allclose(found[1], covariance)
    np.testing.assert_allclose(np.cov(found[2].T), covariance, atol=0.15)
    np.testing.assert_allclose(found[3], np.diag(covariance))
    assert found[4] == pytest.approx(norm + 1)
    other = more.MultivariateNormalDiag(np.zeros(2), np.float64([1.5, 0.5]))
    second = np.diag([2.25, 0.25])
    inverse = np.linalg.inv(second)
    expected = 0.5 * (
        np.trace(inverse @ covariance)
        + loc @ inverse @ loc
        - 2
        + np.log(np.linalg.det(second) / np.linalg.det(covariance))
    )
    assert session.run(ds.kl_divergence(it, other)) == pytest.approx(expected)
    assert session.run(ds.kl_divergence(other, other)) == pytest.approx(0, abs=1e-9)


def test_a_program_may_have_distributions_of_its_own(session):
    class Coin(ds.Distribution):
        def __init__(self):
            parameters = dict(locals())
            super().__init__(tf.int32, ds.NOT_REPARAMETERIZED, False, True, parameters, name="Coin")

        def _batch_shape(self):
            return []

        _event_shape = _batch_shape

        def _prob(self, value):
            return tf.fill(tf.shape(value), 0.5)

        def _sample_n(self, n, seed=None):
            return tf.ones([n], tf.int32)

    @ds.RegisterKL(Coin, Coin)
    def _coins(a, b, name=None):
        return tf.constant(0.0)

    it = Coin()
    log, drawn, kl = session.run([it.log_prob([0, 1]), it.sample([2, 3]), it.kl_divergence(it)])
    np.testing.assert_allclose(log, [math.log(0.5)] * 2)
    assert drawn.shape == (2, 3) and kl == 0
    assert it.parameters == {} and it.copy().event_shape.as_list() == []
    with pytest.raises(NotImplementedError, match="mean is not implemented: Coin"):
        it.mean()
    with pytest.raises(ValueError, match="already been registered"):
        ds.RegisterKL(Coin, Coin)(_coins)
