"""Bijectors beside their inverses, and how much they stretch beside their derivatives."""

import numpy as np
import pytest

import millrace as tf

ds = tf.contrib.distributions
bj = ds.bijectors
la = tf.linalg
_RANDOM = np.random.RandomState(5)
X = np.linspace(-2.0, 2.0, 9)
TRIL = np.array([[2.0, 0.0, 0.0], [-1.0, 1.5, 0.0], [0.5, 0.3, 0.7]])
VECTORS = _RANDOM.normal(size=(4, 3))

ELEMENTS = {
    "identity": (lambda: bj.Identity(), X, lambda x: x),
    "exp": (lambda: bj.Exp(), X, np.exp),
    "power": (lambda: bj.PowerTransform(0.3), X, lambda x: (1 + 0.3 * x) ** (1 / 0.3)),
    "affine": (lambda: bj.AffineScalar(np.float64(1.0), np.float64(-2.0)), X, lambda x: 1 - 2 * x),
    "sigmoid": (lambda: bj.Sigmoid(), X, lambda x: 1 / (1 + np.exp(-x))),
    "softplus": (lambda: bj.Softplus(0.5), X, lambda x: 0.5 * np.log1p(np.exp(2 * x))),
    "softsign": (lambda: bj.Softsign(), X, lambda x: x / (1 + abs(x))),
    "square": (lambda: bj.Square(), X + 3, np.square),
    "gumbel": (lambda: bj.Gumbel(0.3, 2.0), X, lambda x: np.exp(-np.exp(-(x - 0.3) / 2))),
    "weibull": (lambda: bj.Weibull(2.0, 1.5), X + 3, lambda x: 1 - np.exp(-((x / 2) ** 1.5))),
    "kumaraswamy": (
        lambda: bj.Kumaraswamy(np.full(9, 2.0), 1.5),
        np.linspace(0.1, 0.9, 9),
        lambda x: (1 - (1 - x) ** (1 / 1.5)) ** 0.5,
    ),
    "sinh": (lambda: bj.SinhArcsinh(0.2, 1.5), X, lambda x: np.sinh((np.arcsinh(x) + 0.2) * 1.5)),
    "chain": (
        lambda: bj.Chain([bj.Exp(), bj.AffineScalar(scale=3.0), bj.Softplus()]),
        X,
        lambda x: np.exp(3 * np.log1p(np.exp(x))),
    ),
    "inverted": (lambda: bj.Invert(bj.Exp()), X + 3, np.log),
}


@pytest.mark.parametrize("kind", ELEMENTS)
def test_a_bijector_of_elements_goes_back_and_knows_its_slope(session, kind):
    make, x, expected = ELEMENTS[kind]
    it, x = make(), tf.constant(x)
    y = it.forward(x)
    assert it.inverse(y) is x and it.forward_min_event_ndims == 0
    slope = tf.log(tf.abs(tf.gradients(y, x)[0]))
    # By way of other Tensors, so that nothing is known of where they come from.
    other = tf.identity(y)
    made = session.run(
        [
            *(x, y, slope, it.inverse(other)),
            *(it.forward_log_det_jacobian(x, 0), it.inverse_log_det_jacobian(other, 0)),
            it.forward_log_det_jacobian(x, 1),
        ]
    )
    x, y, slope, back, there, again, whole = made
    np.testing.assert_allclose(y, expected(x), rtol=1e-9)
    np.testing.assert_allclose(back, x, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(there + np.zeros(9), slope, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(again + np.zeros(9), -slope, rtol=1e-6, atol=1e-9)
    assert whole == pytest.approx(slope.sum(), abs=1e-6)


def _autoregressive(x):
    """(shift, log_scale), each of the elements before."""
    before = tf.cumsum(x, -1, exclusive=True)
    return tf.sin(before), 0.3 * tf.cos(before) - 0.3


def _of_beginning(x, units):
    whole = tf.reduce_sum(x, -1, keepdims=True) * np.ones(units)
    return whole, 0.1 * whole


VECTOR_KINDS = {
    "affine": lambda: bj.Affine([1.0, 2.0, 3.0], None, scale_tril=TRIL),
    "several": lambda: bj.Affine(
        VECTORS[0], 0.5, VECTORS[1] ** 2, TRIL, np.ones((3, 1)), np.float64([0.3])
    ),
    "number": lambda: bj.Affine(VECTORS[0], np.float64(2.0)),
    "low rank": lambda: bj.Affine(
        scale_diag=VECTORS[1] ** 2 + 1, scale_perturb_factor=VECTORS[:3, :2] * 0.1
    ),
    "operator": lambda: bj.AffineLinearOperator(
        VECTORS[0], la.LinearOperatorFullMatrix(TRIL + 1, is_non_singular=True), adjoint=True
    ),
    "permuted": lambda: bj.Permute([2, 0, 1]),
    "flow": lambda: bj.MaskedAutoregressiveFlow(_autoregressive),
    "unrolled flow": lambda: bj.MaskedAutoregressiveFlow(_autoregressive, unroll_loop=True),
    "coupled": lambda: bj.RealNVP(1, _of_beginning),
    "inverse of ordered": lambda: bj.Invert(bj.Ordered()),
    "softmax": lambda: bj.SoftmaxCentered(),
    "chain": lambda: bj.Chain([bj.Exp(), bj.Affine(scale_tril=TRIL), bj.Sigmoid()]),
    "triangle": lambda: bj.ScaleTriL(diag_bijector=bj.Exp(), diag_shift=None),
    "product": lambda: bj.Chain([bj.CholeskyOuterProduct(), bj.ScaleTriL(diag_shift=None)]),
    "inverse triangle": lambda: bj.Chain([bj.MatrixInverseTriL(), bj.ScaleTriL(diag_shift=0.5)]),
}


@pytest.mark.parametrize("kind", VECTOR_KINDS)
def test_a_bijector_of_vectors_goes_back_and_knows_what_its_volumes_become(session, kind):
    it = VECTOR_KINDS[kind]()
    x = tf.placeholder_with_default(VECTORS, [None, 3])
    y = it.forward(x)
    y.set_shape(tf.TensorShape([None]).concatenate(it.forward_event_shape([3])))
    other = tf.identity(y)
    axes = it.inverse_min_event_ndims
    assert other.shape.ndims == 1 + axes
    flat = tf.reshape(y, [4, -1])
    if axes == 2:  # Of triangles and of what is symmetric, the lower half is free.
        size = 2
        flat = tf.gather(flat, [i * size + j for i in range(size) for j in range(i + 1)], axis=-1)
    free = flat[:, :3]
    rows = [tf.gradients(free[:, i], x)[0] for i in range(3)]
    made = session.run(
        {
            "rows": tf.stack(rows, 1),
            "back": it.inverse(other),
            "there": it.forward_log_det_jacobian(x, 1) + tf.zeros([4], tf.float64),
            "again": it.inverse_log_det_jacobian(other, axes) + tf.zeros([4], tf.float64),
            "sizes": it.forward_event_shape_tensor([3]),
            "sizes back": it.inverse_event_shape_tensor(tf.shape(y)[1:]),
            "y": y,
        }
    )
    expected = np.linalg.slogdet(made["rows"])[1]
    np.testing.assert_allclose(made["back"], VECTORS, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(made["there"], expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(made["again"], -expected, rtol=1e-6, atol=1e-8)
    assert made["sizes"].tolist() == list(made["y"].shape[1:])
    assert (
        made["sizes back"].tolist() == [3] == it.inverse_event_shape(made["y"].shape[1:]).as_list()
    )


def test_events_take_other_shapes(session):
    it = bj.Reshape([3, -1], [6])
    x = np.arange(12.0).reshape(2, 6)
    y = it.forward(x)
    assert y.shape.as_list() == [2, 3, 2]
    made = session.run([y, it.inverse(tf.identity(y)), it.forward_event_shape_tensor([6])])
    assert made[0].tolist() == x.reshape(2, 3, 2).tolist() and (made[1] == x).all()
    assert made[2].tolist() == [3, 2] and it.inverse_event_shape([3, 2]).as_list() == [6]
    with pytest.raises(ValueError, match="do not match"):
        bj.Reshape([4], [5])
    with pytest.raises(ValueError, match="At most one"):
        bj.Reshape([-1, -1])


def test_functions_may_be_given(session):
    it = bj.Inline(tf.exp, tf.log, lambda y: -tf.log(y), forward_min_event_ndims=0, name="own")
    x = np.float64([0.5, 1.0])
    made = session.run([it.forward(x), it.inverse(x), it.forward_log_det_jacobian(x, 0)])
    np.testing.assert_allclose(made, [np.exp(x), np.log(x), x])
    with pytest.raises(NotImplementedError, match="inverse not implemented"):
        bj.Inline(tf.exp, forward_min_event_ndims=0).inverse(x)


def test_what_two_numbers_become_comes_back_as_both(session):
    it = bj.AbsoluteValue()
    assert not it.is_injective
    back, log = session.run([it.inverse(2.0), it.inverse_log_det_jacobian(2.0, 0)])
    assert back == (-2.0, 2.0) and log == (0.0, 0.0)
    folded = ds.TransformedDistribution(ds.Normal(np.float64(0.5), np.float64(1.0)), it)
    normal = ds.Normal(np.float64(0.5), np.float64(1.0))
    found, one, other = session.run([folded.prob(X + 3), normal.prob(X + 3), normal.prob(-X - 3)])
    np.testing.assert_allclose(found, one + other)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="at least one of"):
        bj.Bijector()
    with pytest.raises(ValueError, match="must be larger"):
        bj.Permute([1, 0]).forward_log_det_jacobian([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="exactly one of each"):
        bj.Permute([1, 1])
    with pytest.raises(TypeError, match="expected float64"):
        bj.AffineScalar(np.float64(2)).forward(tf.constant(1.0))
    with pytest.raises(ValueError, match="non-singular"):
        bj.AffineLinearOperator(scale=la.LinearOperatorFullMatrix(TRIL))
    with pytest.raises(ValueError, match="non-negative"):
        bj.PowerTransform(-1.0)
    with pytest.raises(ValueError, match="known size above"):
        bj.RealNVP(3, _of_beginning).forward(VECTORS)
    with pytest.raises(NotImplementedError, match="non-injective"):
        bj.Invert(bj.AbsoluteValue())
    with pytest.raises(tf.errors.InvalidArgumentError):
        bj.Softplus(0.0, validate_args=True)


@pytest.mark.parametrize("hidden", [[6, 6], []])
def test_layers_are_masked_so_that_each_output_depends_on_what_comes_before(session, hidden):
    tf.set_random_seed(1)
    function = bj.masked_autoregressive_default_template(hidden, activation=tf.tanh)
    x = tf.constant(VECTORS)
    shift, log_scale = function(x)
    again, _ = function(x)
    names = [variable.op.name for variable in tf.trainable_variables()]
    assert names[0] == "masked_autoregressive_default_template/dense/kernel"
    assert len(names) == 2 * (len(hidden) + 1)
    slopes = [tf.gradients(out[:, i], x)[0] for out in (shift, log_scale) for i in range(3)]
    session.run(tf.global_variables_initializer())
    slopes, shift, again = session.run([slopes, shift, again])
    assert (shift == again).all()
    for number, slope in enumerate(slopes):
        assert not slope[:, number % 3 :].any()
        assert number % 3 == 0 or slope[:, : number % 3].any()
    flow = bj.MaskedAutoregressiveFlow(function)
    y = flow.forward(x)
    back = session.run(flow.inverse(tf.identity(y)))
    np.testing.assert_allclose(back, VECTORS, rtol=1e-6, atol=1e-9)


def test_a_flow_is_drawn_from_and_learns(session):
    tf.set_random_seed(2)
    start = ds.MultivariateNormalDiag(np.zeros(2, np.float32), np.ones(2, np.float32))
    steps = []
    for number in range(2):
        template = bj.real_nvp_default_template([8], name=f"nvp{number}")
        steps += [bj.RealNVP(1, template), bj.Permute([1, 0])]
    it = ds.TransformedDistribution(start, bj.Chain(steps))
    drawn = it.sample(100, seed=3)
    data = (np.random.RandomState(0).normal(size=(256, 2)) * [0.5, 2] + [3, -1]).astype(np.float32)
    loss = -tf.reduce_mean(it.log_prob(data))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    session.run(tf.global_variables_initializer())
    before = session.run(loss)
    for _ in range(60):
        session.run(train)
    assert session.run(loss) < before - 1 and session.run(drawn).shape == (100, 2)


def test_triangles_are_filled_and_emptied(session):
    x = np.arange(1.0, 7)
    lower, upper = session.run([ds.fill_triangular(x), ds.fill_triangular(x, upper=True)])
    assert lower.tolist() == [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
    assert upper.tolist() == [[1, 2, 3], [0, 5, 6], [0, 0, 4]]
    many = _RANDOM.normal(size=(2, 10))
    for side in (False, True):
        back = session.run(ds.fill_triangular_inverse(ds.fill_triangular(many, side), side))
        assert (back == many).all()
    with pytest.raises(ValueError, match="triangular"):
        ds.fill_triangular(np.ones(5))
    made = session.run(
        [ds.tridiag([1.0], [2.0, 3.0], [4.0]), ds.matrix_diag_transform(TRIL, tf.exp)]
    )
    assert made[0].tolist() == [[2, 4], [1, 3]]
    np.testing.assert_allclose(np.diag(made[1]), np.exp(np.diag(TRIL)))
    with pytest.raises(ValueError, match="at least one of"):
        ds.tridiag()
    assert session.run(ds.softplus_inverse(np.float64([1e-9, 1, 1e3]))) == pytest.approx(
        [np.log(1e-9), np.log(np.e - 1), 1e3]
    )


def test_a_transformed_distribution_has_the_density_that_remains(session):
    log_normal = ds.TransformedDistribution(ds.Normal(np.float64(0.5), np.float64(0.7)), bj.Exp())
    grid = np.linspace(1e-6, 60, 200001)
    p, cdf, drawn, middle = session.run(
        [
            *(log_normal.prob(grid), log_normal.cdf(np.float64(2.0))),
            *(log_normal.sample([100, 200], seed=4), log_normal.quantile(np.float64(0.5))),
        ]
    )
    step = grid[1] - grid[0]
    assert p.sum() * step == pytest.approx(1, abs=1e-4)
    assert p[grid <= 2].sum() * step == pytest.approx(cdf, abs=1e-4)
    assert drawn.shape == (100, 200) and middle == pytest.approx(np.exp(0.5))
    assert np.mean(drawn < 2) == pytest.approx(cdf, abs=0.02)


def test_events_may_be_several_draws_of_numbers(session):
    scale = bj.Affine(scale_tril=TRIL)
    one = ds.Normal(np.float64(0), np.float64(1))
    it = ds.TransformedDistribution(one, scale, batch_shape=[2], event_shape=[3])
    same = ds.MultivariateNormalTriL(scale_tril=TRIL)
    x = VECTORS[:2]
    assert it.batch_shape.as_list() == [2] and it.event_shape.as_list() == [3]
    found, right, entropy, other, drawn = session.run(
        [it.log_prob(x), same.log_prob(x), it.entropy(), same.entropy(), it.sample([4, 5], seed=1)]
    )
    np.testing.assert_allclose(found, right)
    np.testing.assert_allclose(entropy, [other, other])
    assert drawn.shape == (4, 5, 2, 3)
    # Those of a batch stand behind it.
    loc = np.float64([0.0, 100.0])
    turned = ds.TransformedDistribution(ds.Normal(loc, np.float64(1)), scale, event_shape=[3])
    single = ds.MultivariateNormalTriL(
        loc=(TRIL @ (loc[:, None] * np.ones(3))[..., None])[..., 0], scale_tril=TRIL
    )
    drawn, found, right = session.run(
        [turned.sample(7, seed=1), turned.log_prob(x), single.log_prob(x)]
    )
    assert drawn.shape == (7, 2, 3) and (drawn[:, 1] @ np.linalg.inv(TRIL).T > 90).all()
    np.testing.assert_allclose(found, right)
    with pytest.raises(ValueError, match="base distribution not scalar"):
        ds.TransformedDistribution(same, event_shape=[2])
