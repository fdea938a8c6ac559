"""Loss scales, and optimizers that use them."""

import numpy as np
import pytest

import millrace as tf

scales = tf.train.experimental


def stepped(session, scale, gradients):
    """What the scale is after steps with each of these gradients, and whether they were to be applied."""
    fed = tf.placeholder(tf.float32, [])
    update, is_wanted = scale.update([fed, None, {"more": tf.constant([1.0])}])
    session.run(tf.global_variables_initializer())
    told = []
    for gradient in gradients:
        applied = session.run([is_wanted, update], {fed: gradient})[0]
        told.append((float(session.run(scale())), bool(applied)))
    return told


def test_a_dynamic_scale_grows_after_good_steps_and_shrinks_after_a_bad_one(session):
    scale = scales.DynamicLossScale(4.0, increment_period=2, multiplier=4.0)
    told = stepped(session, scale, [1.0, 1.0, 1.0, np.inf, 1.0, np.nan, np.nan, np.nan])
    assert told == [
        (4.0, True),
        (16.0, True),
        (16.0, True),
        (4.0, False),
        (4.0, True),
        (1.0, False),
        (1.0, False),
        (1.0, False),
    ]
    again = scales.DynamicLossScale.from_config(scale.get_config())
    assert (again.initial_loss_scale, again.increment_period, again.multiplier) == (4.0, 2, 4.0)


def test_a_dynamic_scale_never_becomes_infinite(session):
    scale = scales.DynamicLossScale(2.0**127, increment_period=1, multiplier=2.0)
    assert stepped(session, scale, [1.0, 1.0]) == [(2.0**127, True)] * 2


def test_a_fixed_scale_stays_and_applies_whatever_comes(session):
    scale = scales.FixedLossScale(8)
    assert stepped(session, scale, [1.0, np.nan]) == [(8.0, True), (8.0, True)]
    assert scales.FixedLossScale.from_config(scale.get_config()).get_config() == scale.get_config()
    for bad in (0.5, "8"):
        with pytest.raises(ValueError, match="loss_scale_value"):
            scales.FixedLossScale(bad)


@pytest.mark.parametrize("given", [16.0, "dynamic"])
def test_a_scaled_optimizer_trains_as_without_a_scale(given, session):
    opt = scales.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(0.1), given)
    plain, own = (tf.get_variable(name, initializer=[1.0, 2.0]) for name in ("plain", "own"))
    table = tf.get_variable("table", initializer=tf.ones([3, 2]))
    first = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(plain)))
    loss = tf.reduce_sum(tf.square(own)) + tf.reduce_sum(tf.gather(table, [0, 2]))
    step = tf.train.create_global_step()
    second = opt.minimize(loss, step, var_list=[own, table])
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run([first, second])
    np.testing.assert_allclose(*session.run([plain, own]), rtol=1e-6)
    assert session.run(table)[1].tolist() == [1.0, 1.0] and session.run(step) == 3
    assert opt.get_slot_names() == ["m", "v"] and opt.get_slot(own, "m") is not None


def test_a_step_whose_gradients_are_not_finite_changes_the_scale_alone(session):
    opt = scales.MixedPrecisionLossScaleOptimizer(
        tf.train.MomentumOptimizer(0.1, 0.9), scales.DynamicLossScale(4.0)
    )
    w = tf.get_variable("w", initializer=1.0)
    x = tf.placeholder(tf.float32, [])
    step = tf.train.create_global_step()
    train = opt.minimize(w * x, step)
    session.run(tf.global_variables_initializer())
    session.run(train, {x: np.inf})
    assert session.run([w, step, opt.get_slot(w, "momentum")]) == [1.0, 0, 0.0]
    session.run(train, {x: 1.0})
    assert session.run([w, step]) == [np.float32(0.9), 1]
    (scale,) = [v for v in tf.global_variables() if "current_loss_scale" in v.name]
    assert session.run(scale) == 2.0


def test_replicas_share_a_scale_and_skip_a_step_together():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session, strategy.scope():
        scale = scales.DynamicLossScale(4.0)
        opt = scales.MixedPrecisionLossScaleOptimizer(tf.train.MomentumOptimizer(0.5, 0.9), scale)
        w = tf.get_variable("w", initializer=1.0)
        x = tf.placeholder(tf.float32, [2])

        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return opt.minimize(w * x[number])

        train = strategy.group(strategy.run(replica))
        session.run(tf.global_variables_initializer())
        session.run(train, {x: [1.0, np.nan]})
        assert session.run([*w.copies, scale()]) == [1.0, 1.0, 2.0]
        session.run(train, {x: [1.0, 3.0]})
        assert session.run([*w.copies, scale()]) == [-1.0, -1.0, 2.0]


def test_what_is_no_scale_is_refused():
    adam = tf.train.AdamOptimizer()
    for opt, scale in ((adam, None), (adam, "static"), (adam, True), ("adam", 2.0)):
        with pytest.raises(ValueError):
            scales.MixedPrecisionLossScaleOptimizer(opt, scale)
