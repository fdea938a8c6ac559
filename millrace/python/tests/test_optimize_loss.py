"""tf.contrib.layers.optimize_loss: optimizers by name, gradients on their way, rates, summaries."""

import numpy as np
import pytest

import millrace as tf

layers = tf.contrib.layers


def _trained(session, steps=1, **kwargs):
    """(the value of a variable after so many steps, from 10 by a loss of 3 * v; names of summaries)."""
    v = tf.get_variable("v", initializer=10.0)
    step = tf.train.get_or_create_global_step()
    given = {"global_step": None, "learning_rate": 0.1, "optimizer": "SGD", **kwargs}
    op = layers.optimize_loss(v * 3.0, **given)
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        session.run(op)
    names = sorted(each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES))
    return session.run([v, step]), names


@pytest.mark.parametrize(
    "optimizer",
    [
        "SGD",
        tf.train.GradientDescentOptimizer,
        lambda rate: tf.train.GradientDescentOptimizer(rate),
        tf.train.GradientDescentOptimizer(0.1),
    ],
)
def test_optimizers_of_any_kind(session, optimizer):
    (value, step), names = _trained(session, optimizer=optimizer)
    assert value == pytest.approx(10 - 0.3) and step == 1
    assert names == [
        "OptimizeLoss/global_norm/gradient_norm",
        "OptimizeLoss/loss",
    ]


def test_all_names_train(session):
    for name in layers.OPTIMIZER_CLS_NAMES:
        with tf.Graph().as_default(), tf.Session() as other:
            assert _trained(other, optimizer=name)[0][0] < 10


def test_the_rate_is_a_variable_that_may_decay(session):
    (value, step), _ = _trained(
        session, steps=2, learning_rate_decay_fn=lambda rate, step: rate / (1.0 + tf.to_float(step))
    )
    assert value == pytest.approx(10 - 0.3 - 0.15) and step == 2
    assert "OptimizeLoss/learning_rate" in [each.op.name for each in tf.global_variables()]


def test_gradients_are_multiplied_and_clipped(session):
    found, names = _trained(
        session,
        gradient_multipliers={"v": 2.0},
        clip_gradients=1.5,
        summaries=["gradient_norm", "gradients"],
        increment_global_step=False,
        name="train",
    )
    assert found == [pytest.approx(10 - 0.15), 0]
    assert names == [
        "train/global_norm/clipped_gradient_norm",
        "train/global_norm/gradient_norm",
        "train/gradient_norm/v_0",
        "train/gradients/v_0",
    ]


def test_updates_run_first(session):
    count = tf.Variable(0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, count.assign_add(1))
    _trained(session, steps=3)
    assert session.run(count) == 3


def test_unusual_norms_are_clipped(session):
    scale = tf.placeholder_with_default(1.0, [])
    v = tf.get_variable("v", initializer=0.0)
    clip = layers.adaptive_clipping_fn(decay=0.5, name="clip")
    op = layers.optimize_loss(v * scale, None, 1.0, "SGD", clip_gradients=clip)
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run(op)
    before = session.run(v)
    session.run(op, {scale: 1000.0})
    moved = before - session.run(v)
    # The average of logarithms: half of it is the new one.
    assert moved == pytest.approx(np.exp(0.5 * np.log(1000)), rel=0.01) or moved == 1000
    assert {"clip/mean", "clip/sq_mean"} <= {
        each.op.name.removeprefix("OptimizeLoss/") for each in tf.global_variables()
    }


@pytest.mark.parametrize(
    "kwargs, said",
    [
        ({"optimizer": "None"}, "Optimizer name should be one of"),
        ({"learning_rate": 1}, "should be 0d Tensor or float"),
        ({"learning_rate": -1.0}, "Invalid learning_rate"),
        ({"learning_rate": None}, "Learning rate is None"),
        ({"summaries": ["all"]}, "Summaries should be one of"),
        ({"clip_gradients": "much"}, "Unknown type"),
        ({"optimizer": 3}, "Unrecognized optimizer"),
        ({"gradient_multipliers": {}}, "is empty"),
    ],
)
def test_what_is_no_training_is_refused(session, kwargs, said):
    with pytest.raises(ValueError, match=said):
        _trained(session, **kwargs)
