"""Optimizers of tf.keras that tests/interop does not have beside TensorFlow's, and schedules by their names."""

import numpy as np
import pytest

import millrace as tf

keras = tf.keras


def test_nadam_follows_its_formula():
    begin, gradients = np.array([1.0, -2.0]), [np.array([0.3, -0.1]), np.array([0.2, 0.4])] * 3
    v = keras.backend.variable(begin)
    gradient = keras.backend.placeholder((2,))
    step = keras.optimizers.Nadam(0.1).apply_gradients([(gradient, v)])
    m = s = 0
    product, x = 1.0, begin
    for t, g in enumerate(gradients, 1):
        now, later = (0.9 * (1 - 0.5 * 0.96 ** (0.004 * each)) for each in (t, t + 1))
        product *= now
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        mean = (1 - now) * g / (1 - product) + later * m / (1 - product * later)
        x = x - 0.1 * mean / (np.sqrt(s / (1 - 0.999**t)) + 1e-7)
        keras.backend.get_session().run(step, {gradient: g})
        assert np.allclose(keras.backend.get_value(v), x, atol=1e-5)


def test_a_schedule_says_the_rate_of_each_step():
    schedules = keras.optimizers.schedules
    told = schedules.serialize(schedules.PiecewiseConstantDecay([1, 3], [1.0, 0.5, 0.25]))
    assert told["class_name"] == "PiecewiseConstantDecay"
    optimizer = keras.optimizers.SGD(schedules.deserialize(told))
    v = keras.backend.variable(0.0)
    step = optimizer.apply_gradients([(tf.constant(-1.0), v)])
    seen = []
    for _ in range(5):
        keras.backend.get_session().run(step)
        seen.append(float(keras.backend.get_value(v)))
    assert seen == [1, 2, 2.5, 3, 3.25]
    with pytest.raises(ValueError, match="length of boundaries"):
        schedules.PiecewiseConstantDecay([1], [1.0])
    rate = keras.experimental.CosineDecay(2.0, 10)(tf.constant(5.0))
    assert np.isclose(keras.backend.eval(rate), 1.0)


def test_optimizers_come_by_names_and_settings():
    optimizers = keras.optimizers
    for name in ("adamax", "nadam", "Ftrl", "sgd"):
        assert type(optimizers.get(name)).__name__.lower() == name.lower()
    told = optimizers.serialize(
        optimizers.Adam(optimizers.schedules.ExponentialDecay(0.1, 10, 0.5), name="ours")
    )
    made = optimizers.get(told)
    assert made.name == "ours" and made.lr.decay_rate == 0.5
    with pytest.raises(ValueError, match="Unknown optimizer: Best"):
        optimizers.deserialize({"class_name": "Best"})


@pytest.mark.parametrize(
    "make, slots",
    [
        (lambda: keras.optimizers.Adam(), ["Adam", "Adam_1"]),
        (lambda: keras.optimizers.RMSprop(), ["RMSprop/rms"]),
        (
            lambda: keras.optimizers.RMSprop(momentum=0.5, centered=True),
            ["RMSprop/rms", "RMSprop/momentum", "RMSprop/mg"],
        ),
        (lambda: keras.optimizers.Nadam(), [None, "Nadam/m", "Nadam/v"]),
        (lambda: keras.optimizers.SGD(momentum=0.5), ["Momentum"]),
    ],
)
def test_optimizers_have_their_weights_in_the_order_of_kerass_files(make, slots):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile(make(), "mse")
    model.train_on_batch(np.ones((16, 3)), np.ones(16))
    steps, *others = [each.op.name.partition("/")[2] for each in model.optimizer.weights]
    assert steps.endswith("/iter")
    if slots[0] is None:  # Nadam's momentum_cache belongs to no variable
        assert model.optimizer.weights[1].shape.ndims == 0
        others, slots = others[1:], slots[1:]
    assert others == [f"{name}/{slot}" for slot in slots for name in ("kernel", "bias")]
