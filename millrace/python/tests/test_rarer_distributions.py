"""tf.contrib.distributions' rarer ones, beside integrals, sums, draws and closed forms."""

from math import lgamma, log, pi

import numpy as np
import pytest

import millrace as tf

ds = tf.contrib.distributions
F = np.float64
LINE, HALF, UNIT = (
    np.linspace(-60, 60, 120002),
    np.linspace(1e-6, 80, 160001),
    np.linspace(1e-7, 1 - 1e-7, 100001),
)
SCALARS = {
    "HalfNormal": (lambda: ds.HalfNormal(F(1.5)), HALF),
    "Chi2": (lambda: ds.Chi2(F(3.5)), HALF),
    "InverseGamma": (lambda: ds.InverseGamma(F(6.0), F(3.0)), HALF),
    "Kumaraswamy": (lambda: ds.Kumaraswamy(F(2.5), F(1.5)), UNIT),
    "NormalWithSoftplusScale": (lambda: ds.NormalWithSoftplusScale(F(0.5), F(-0.3)), LINE),
    "GammaWithSoftplusConcentrationRate": (
        lambda: ds.GammaWithSoftplusConcentrationRate(F(2.0), F(0.5)),
        HALF,
    ),
}


def _integral(values, grid):
    return np.sum((values[1:] + values[:-1]) / 2 * np.diff(grid))


@pytest.mark.parametrize("kind", SCALARS)
def test_a_density_integrates_to_what_is_said_of_it(session, kind):
    make, grid = SCALARS[kind]
    it, at = make(), grid[len(grid) // 50]
    p, mean, variance, entropy, cdf, drawn = session.run(
        [
            *(it.prob(grid), it.mean(), it.variance(), it.entropy()),
            *(it.cdf(at), it.sample(20000, seed=1)),
        ]
    )
    assert _integral(p, grid) == pytest.approx(1, abs=1e-3)
    assert _integral(p * grid, grid) == pytest.approx(mean, abs=2e-3)
    assert _integral(p * (grid - mean) ** 2, grid) == pytest.approx(variance, abs=5e-3)
    safe = np.where(p > 0, p, 1)
    assert -_integral(p * np.log(safe), grid) == pytest.approx(entropy, abs=2e-3)
    cut = grid <= at
    assert _integral(p[cut], grid[cut]) == pytest.approx(cdf, abs=2e-3)
    assert drawn.mean() == pytest.approx(mean, abs=6 * np.sqrt(variance / 20000))


def test_a_changed_distribution_is_copied_as_it_was_made(session):
    it = ds.NormalWithSoftplusScale(F(0.5), F(-0.3), name="own")
    assert it.parameters["scale"] == -0.3 and isinstance(it, ds.Normal)
    found = session.run([it.scale, it.copy(loc=F(1)).scale])
    np.testing.assert_allclose(found, np.log1p(np.exp(-0.3)))
    assert session.run(ds.Chi2WithAbsDf(F(-3.7)).df) == 3


def test_a_cauchy_density_is_the_slope_of_its_cdf(session):
    it = ds.Cauchy(F(0.5), F(1.5))
    p, cdf, back = session.run([it.prob(LINE), it.cdf(LINE), it.quantile(it.cdf(F(2.0)))])
    np.testing.assert_allclose(p[1:-1], (cdf[2:] - cdf[:-2]) / (LINE[2] - LINE[0]), atol=1e-6)
    assert back == pytest.approx(2.0) and np.isnan(session.run(it.mean()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ds.Binomial(F(9.0), probs=F(0.35)),
        lambda: ds.NegativeBinomial(F(3.5), probs=F(0.4)),
        lambda: ds.PoissonLogNormalQuadratureCompound(F(0.5), F(0.4)),
    ],
)
def test_what_is_counted(session, make):
    it, counts = make(), np.arange(100.0)
    p, mean, variance, drawn = session.run(
        [it.prob(counts), it.mean(), it.variance(), it.sample(5000, seed=2)]
    )
    p = np.where(np.isnan(p), 0, p)
    assert p.sum() == pytest.approx(1) and (p * counts).sum() == pytest.approx(mean)
    assert (p * (counts - mean) ** 2).sum() == pytest.approx(variance)
    assert drawn.shape == (5000,) and drawn.mean() == pytest.approx(mean, abs=0.2)
    if not isinstance(it, ds.PoissonLogNormalQuadratureCompound):
        cdf = session.run(it.cdf(counts))
        np.testing.assert_allclose(cdf[:9], np.cumsum(p)[:9], rtol=1e-6)
        assert session.run(it.mode()) == np.argmax(p)


def test_shares_are_drawn_before_classes(session):
    it = ds.DirichletMultinomial(F(4.0), F([1.0, 2.0, 0.5]))
    assert tf.distributions.DirichletMultinomial is ds.DirichletMultinomial
    all_counts = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)], float)
    p, mean, covariance, drawn = session.run(
        [it.prob(all_counts), it.mean(), it.covariance(), it.sample(2000, seed=3)]
    )
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(p @ all_counts, mean)
    apart = all_counts - mean
    np.testing.assert_allclose((apart * p[:, None]).T @ apart, covariance, atol=1e-9)
    assert (drawn.sum(1) == 4).all()
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.15)


def test_normal_vectors_of_low_rank_are_those_of_their_covariance(session):
    u = np.array([[1.0], [0.5], [-0.3]])
    it = ds.MultivariateNormalDiagPlusLowRank(F([1, 2, 3]), F([1, 2, 1.5]), None, u)
    s = np.diag([1, 2, 1.5]) + u @ u.T
    same = ds.MultivariateNormalFullCovariance(F([1, 2, 3]), s @ s.T)
    x = np.random.RandomState(0).normal(size=(4, 3))
    found = session.run([it.log_prob(x), it.covariance(), it.entropy(), it.variance()])
    right = session.run([same.log_prob(x), same.covariance(), same.entropy(), same.variance()])
    for one, other in zip(found, right):
        np.testing.assert_allclose(one, other)
    divergence, drawn = session.run([ds.kl_divergence(it, same), it.sample(20000, seed=1)])
    assert divergence == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(np.cov(drawn.T), s @ s.T, atol=0.3)


def test_vectors_of_scaled_draws(session):
    x, scale = F([[1.5, 3.0], [2.5, 2.2]]), F([1.0, 2.0])
    for kind, base in (
        (ds.VectorExponentialDiag, ds.Exponential(F(1))),
        (ds.VectorLaplaceDiag, ds.Laplace(F(0), F(1))),
    ):
        it = kind(F([1.0, 2.0]), scale)
        z = (x - [1.0, 2.0]) / scale
        found, each, mean, stddev, drawn = session.run(
            [it.log_prob(x), base.log_prob(z), it.mean(), it.stddev(), it.sample(20000, seed=2)]
        )
        np.testing.assert_allclose(found, each.sum(1) - np.log(scale).sum())
        np.testing.assert_allclose(drawn.mean(0), mean, atol=0.1)
        np.testing.assert_allclose(drawn.std(0), stddev, rtol=0.05)
    certain = ds.VectorDeterministic(F([1.0, 2.0]))
    assert session.run(certain.prob(F([[1, 2], [1, 3]]))).tolist() == [1, 0]
    nearly = ds.VectorDeterministic(F([1.0, 2.0]), tf.constant(F(0.1)), F([0.0, 0.5]))
    assert session.run(nearly.prob(F([[1.05, 3], [1.2, 2]]))).tolist() == [1, 0]


def test_bent_numbers_are_normal_ones_without_a_bend(session):
    it, normal = ds.SinhArcsinh(F(0.5), F(1.5)), ds.Normal(F(0.5), F(1.5))
    bent = ds.SinhArcsinh(F(0.5), F(1.5), F(0.3), F(1.1))
    vector = ds.VectorSinhArcsinhDiag(F([0.5, 0.5]), F([1.5, 1.5]), None, F(0.3), F(1.1))
    x = LINE[59000:61000]
    found, right, p, both = session.run(
        [it.log_prob(x), normal.log_prob(x), bent.prob(LINE), vector.prob(F([1.0, 2.0]))]
    )
    np.testing.assert_allclose(found, right)
    assert _integral(p, LINE) == pytest.approx(1, abs=1e-3)
    assert both == pytest.approx(np.prod(session.run(bent.prob(F([1.0, 2.0])))))


def test_wisharts_are_covariances_of_normal_columns(session):
    scale = np.array([[2.0, 0.5], [0.5, 1.0]])
    full, triangle = ds.WishartFull(F(5), scale), np.linalg.cholesky(scale)
    it = ds.WishartCholesky(F(5), triangle, cholesky_input_output_matrices=True)
    x = np.array([[3.0, 1.0], [1.0, 4.0]])
    inverse = np.linalg.inv(scale)
    norm = 5 * log(2) + 2.5 * log(np.linalg.det(scale))
    norm += 0.5 * log(pi) + lgamma(2.5) + lgamma(2.0)
    right = log(np.linalg.det(x)) - 0.5 * np.trace(inverse @ x) - norm
    found, other, drawn, mean, variance = session.run(
        [
            *(full.log_prob(x), it.log_prob(np.linalg.cholesky(x))),
            *(full.sample(20000, seed=1), full.mean(), full.variance()),
        ]
    )
    assert found == pytest.approx(right) and other == pytest.approx(right)
    np.testing.assert_allclose(mean, 5 * scale)
    np.testing.assert_allclose(drawn.mean(0), mean, rtol=0.05)
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.1)
    log_det, entropy, logs = session.run(
        [full.mean_log_det(), full.entropy(), full.log_prob(drawn)]
    )
    assert np.linalg.slogdet(drawn)[1].mean() == pytest.approx(log_det, abs=0.05)
    assert -logs.mean() == pytest.approx(entropy, abs=0.1)


def test_batches_take_other_shapes(session):
    it = ds.BatchReshape(ds.Normal(np.arange(6.0), F(1)), [2, -1])
    assert it.batch_shape.as_list() == [2, 3]
    x = np.ones((4, 2, 3))
    mean, log, drawn, sizes = session.run(
        [it.mean(), it.log_prob(x), it.sample(5), it.batch_shape_tensor()]
    )
    assert mean.tolist() == [[0, 1, 2], [3, 4, 5]] and log.shape == (4, 2, 3)
    assert drawn.shape == (5, 2, 3) and sizes.tolist() == [2, 3]
    with pytest.raises(ValueError, match="does not hold"):
        ds.BatchReshape(ds.Normal(np.arange(6.0), F(1)), [4])


def test_draws_are_rounded_up_within_bounds(session):
    it = ds.QuantizedDistribution(ds.Normal(F(0.5), F(1.5)), low=-1.0, high=3.0)
    p, cdf, drawn = session.run(
        [it.prob(np.arange(-3.0, 6)), it.cdf(F([-2, 0, 3])), it.sample(5000, seed=1)]
    )
    assert p.sum() == pytest.approx(1) and p[:2].tolist() == [0, 0] and not p[7:].any()
    assert cdf[0] == 0 and cdf[1] == pytest.approx(p[2:4].sum()) and cdf[2] == 1
    assert set(drawn) == {-1, 0, 1, 2, 3} and (drawn == -1).mean() == pytest.approx(p[2], abs=0.02)


def test_what_is_rounded_up_is_known_far_out(session):
    loc = tf.constant([10.0])
    moved = ds.TransformedDistribution(ds.Logistic(loc, [1.0]), ds.bijectors.AffineScalar(-0.5))
    it = ds.QuantizedDistribution(moved, 0.0, 255.0)
    log = it.log_prob([-1.0, 0.0, 10.0, 200.0, 255.0, 256.0])
    found, *slopes = session.run([log, *(tf.gradients(log[i], loc)[0] for i in (1, 3, 4))])
    # Its cdf is a sigmoid, of 1/2 more than the number.
    middle, far = np.log(np.tanh(0.25)), np.log(-np.expm1(-1.0)) - 189.5
    np.testing.assert_allclose(found[1:5], [-np.log1p(np.exp(9.5)), middle, far, -244.5], rtol=1e-5)
    assert found[0] == found[5] == -np.inf
    np.testing.assert_allclose(np.ravel(slopes), [-1, 1, 1], rtol=1e-3)


def test_each_element_depends_on_those_before(session):
    def after(x=np.zeros(3)):
        before = tf.cumsum(x, -1, exclusive=True)
        return ds.Independent(ds.Normal(before, np.ones(3)), 1)

    it = ds.Autoregressive(after)
    drawn = it.sample(20000, seed=4)
    drawn, log = session.run([drawn, it.log_prob(np.ones(3))])
    assert log == pytest.approx(-1.5 * np.log(2 * np.pi) - 0.5 * (1 + 0 + 1))
    assert np.cov(drawn[:, 0], drawn[:, 1])[0, 1] == pytest.approx(1, abs=0.05)
    assert drawn[:, 1].var() == pytest.approx(2, rel=0.05)


def test_points_stand_for_shares_of_classes(session):
    loc, scale = F([0.3, -0.2]), F([0.5, 0.7])
    for scheme in (
        ds.quadrature_scheme_softmaxnormal_gauss_hermite,
        ds.quadrature_scheme_softmaxnormal_quantiles,
    ):
        points, shares = session.run(scheme(loc, scale, 5))
        assert points.shape == (3, 5) and shares.sum() == pytest.approx(1)
        np.testing.assert_allclose(points.sum(0), 1)
    points, shares = session.run(ds.quadrature_scheme_lognormal_gauss_hermite(F(0.5), F(0.3), 9))
    assert points @ shares == pytest.approx(np.exp(0.5 + 0.3**2 / 2))


def test_what_is_estimated_of_draws(session):
    x = np.random.RandomState(1).normal(size=(4, 7))
    for kind in ("lower", "higher", "nearest"):
        found = session.run(ds.percentile(x, 30.0, axis=1, interpolation=kind))
        np.testing.assert_allclose(found, np.percentile(x, 30, axis=1, method=kind))
    found = session.run(ds.percentile(x, [10.0, 90.0], axis=[0], keep_dims=True))
    right = np.percentile(x, [10, 90], axis=0, method="nearest", keepdims=True)
    np.testing.assert_allclose(found, right)
    # Of two that are as near, the one with an even number of elements above it.
    found = session.run([ds.percentile(x[0, :size], 50.0) for size in (2, 4)])
    assert found == [x[0, :2].max(), np.sort(x[0, :4])[1]]
    row = x[0] - x[0].mean()
    right = [np.mean(row[: 7 - lag] * row[lag:]) for lag in range(4)]
    found = session.run(ds.auto_correlation(x[0], max_lags=3, normalize=False))
    np.testing.assert_allclose(found, right, atol=1e-12)
    w = np.array([1.0, -2.0, 3.0, 0.5, 1, 1, 1])
    log, sign = session.run(ds.reduce_weighted_logsumexp(x, w, 1, return_sign=True))
    np.testing.assert_allclose(sign * np.exp(log), np.exp(x) @ w)
    far, w = np.array([0.0, 1000.0, -1000.0]), np.array([2.0, 0.0, -1.0])
    assert session.run(ds.reduce_weighted_logsumexp(far, w)) == pytest.approx(np.log(2.0))
    seeds = ds.SeedStream(3, "a"), ds.SeedStream(3, "a"), ds.SeedStream(3, "b")
    first, again, other = ([stream() for _ in range(3)] for stream in seeds)
    assert first == again and len({*first, *other}) == 6 and ds.SeedStream(None, "a")() is None


def test_means_move_with_what_comes(session):
    value = tf.placeholder(tf.float64, [2])
    mean, variance = ds.moving_mean_variance(value, 0.9)
    log = tf.Variable(np.zeros(2))
    logs = ds.assign_log_moving_mean_exp(log, value, 0.9)
    session.run(tf.global_variables_initializer())
    m, v, e = np.zeros(2), np.zeros(2), np.ones(2)
    for new in np.random.RandomState(2).normal(size=(5, 2)):
        found = session.run([mean, variance, logs], {value: new})
        v = 0.9 * (v + 0.1 * (new - m) ** 2)
        m, e = 0.9 * m + 0.1 * new, 0.9 * e + 0.1 * np.exp(new)
    np.testing.assert_allclose(found, [m, v, np.log(e)])


def test_beliefs_of_a_mean_become_narrower(session):
    prior, s = ds.Normal(F(1.0), F(2.0)), tf.constant(F(12.0))
    after = ds.normal_conjugates_known_scale_posterior(prior, F(0.5), s, 4)
    following = ds.normal_conjugates_known_scale_predictive(prior, F(0.5), s, 4)
    found = session.run([after.loc, after.scale, following.scale])
    variance = 1 / (1 / 4 + 4 / 0.25)
    right = [(1 / 4 + 12 / 0.25) * variance, variance**0.5, (variance + 0.25) ** 0.5]
    np.testing.assert_allclose(found, right)
