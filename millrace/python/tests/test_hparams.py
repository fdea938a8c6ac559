"""tf.contrib.training.HParams, and tf.contrib's metrics and names of modes."""

import numpy as np
import pytest

import millrace as tf

HParams = tf.contrib.training.HParams


def test_settings_are_attributes_that_text_changes():
    settings = HParams(rate=0.1, sizes=[3, 4], name="a", is_deep=False, steps=10)
    assert settings.parse("rate=1,sizes=[5, 6,7],name=b c, is_deep=True") is settings
    assert settings.values() == {
        "rate": 1.0,
        "sizes": [5, 6, 7],
        "name": "b c",
        "is_deep": True,
        "steps": 10,
    }
    assert type(settings.rate) is float
    settings.parse("sizes[1]=8").override_from_dict({"steps": 20, "rate": 2})
    assert settings.sizes == [5, 8, 7] and settings.steps == 20 and settings.rate == 2.0
    assert settings.parse("").get("steps") == 20 and settings.get("none", 3) == 3
    assert "rate" in settings and "none" not in settings
    settings.del_hparam("name")
    assert settings.to_json(sort_keys=True) == (
        '{"is_deep": true, "rate": 2.0, "sizes": [5, 8, 7], "steps": 20}'
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("rate", "Malformed hyperparameter value: rate"),
        ("speed=1", "Unknown hyperparameter type for speed"),
        ("steps=1.5", "'1.5' is no int"),
        ("is_deep=maybe", "'maybe' is no bool"),
        ("steps=[1]", "steps is no list"),
        ("sizes=1", "sizes is a list"),
        ("sizes[2]=1", "no element 2"),
    ],
)
def test_text_that_is_no_setting_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        HParams(rate=0.1, sizes=[3, 4], is_deep=False, steps=10).parse(text)


def test_settings_keep_their_names_and_types():
    settings = HParams(steps=10)
    with pytest.raises(ValueError, match="name is reserved: values"):
        settings.add_hparam("values", 1)
    with pytest.raises(ValueError, match="cannot be empty: sizes"):
        settings.add_hparam("sizes", [])
    with pytest.raises(ValueError, match="Could not cast hparam steps of type int from value 1.5"):
        settings.set_hparam("steps", 1.5)
    with pytest.raises(KeyError):
        settings.set_hparam("none", 1)


def test_streaming_metrics_take_predictions_first(session):
    labels, guesses = [1, 0, 1, 0], [1, 1, 1, 0]
    metrics = tf.contrib.metrics
    values, updates = metrics.aggregate_metric_map(
        {
            "accuracy": metrics.streaming_accuracy(guesses, labels),
            "precision": metrics.streaming_precision(guesses, labels),
            "recall": metrics.streaming_recall(guesses, labels),
            "auc": metrics.streaming_auc(np.float32(guesses), labels),
            "mean": metrics.streaming_mean([1.0, 2.0]),
        }
    )
    session.run(tf.local_variables_initializer())
    session.run(updates)
    expected = {"accuracy": 0.75, "precision": 2 / 3, "recall": 1.0, "auc": 0.75, "mean": 1.5}
    assert session.run(values) == pytest.approx(expected, rel=1e-4)
    pair = metrics.streaming_mean([1.0])
    assert metrics.aggregate_metrics(pair) == ([pair[0]], [pair[1]])
    with pytest.raises(ValueError, match="at least one"):
        metrics.aggregate_metrics()


def test_the_accuracy_of_one_step(check):
    accuracy = tf.contrib.metrics.accuracy
    check(accuracy([1, 0, 1], [1, 1, 1]), np.float32(2 / 3))
    check(accuracy([1, 0, 1], [1, 1, 1], weights=[1.0, 2.0, 1.0]), np.float32(0.5))
    with pytest.raises(ValueError, match="should match"):
        accuracy([1], tf.constant([1], tf.int64))
    with pytest.raises(ValueError, match="bool, string, or integer"):
        accuracy([1.0], [1.0])


def test_modes_have_names():
    modes = tf.contrib.learn.ModeKeys
    assert [modes.TRAIN, modes.EVAL, modes.INFER] == ["train", "eval", "infer"]
