"""Heads: losses, predictions and metrics of logits, for models of one's own; compared with NumPy."""

import numpy as np
import pytest

import millrace as tf

est = tf.estimator
heads = tf.contrib.estimator

LOGITS = np.array([[2.0, -1.0, 0.5], [-0.5, 0.25, 3.0]], np.float32)
BOTH = np.array([[1, 0, 1], [0, 1, 1]], np.int64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def crossed(labels, logits):
    return np.log1p(np.exp(-np.abs(logits))) + np.maximum(logits, 0) - logits * labels


def measured(spec, session):
    """The value of each metric after one step, and the loss."""
    session.run([tf.local_variables_initializer(), tf.tables_initializer()])
    session.run([update for _, update in spec.eval_metric_ops.values()])
    values = {name: value for name, (value, _) in spec.eval_metric_ops.items()}
    return session.run(values), session.run(spec.loss)


def evaluated(head, logits, labels, session, features=None):
    spec = head.create_estimator_spec(
        features or {}, est.ModeKeys.EVAL, tf.constant(logits), labels=labels
    )
    return measured(spec, session)


def test_one_of_several_classes(session):
    head = heads.multi_class_head(3, name="fruit")
    values, loss = evaluated(head, LOGITS, [[0], [1]], session)
    losses = np.log(np.exp(LOGITS).sum(1)) - LOGITS[[0, 1], [0, 1]]
    assert loss == pytest.approx(losses.mean(), rel=1e-5)
    assert values == pytest.approx(
        {"average_loss/fruit": losses.mean(), "accuracy/fruit": 0.5}, rel=1e-5
    )


def test_one_of_two_classes_at_thresholds(session):
    head = heads.binary_classification_head(thresholds=[0.25, 0.9], weight_column="w")
    logits, labels = np.array([[2.0], [-0.5], [0.1]], np.float32), np.array([1, 0, 0])
    weights = np.array([1.0, 2.0, 1.0])
    values, loss = evaluated(head, logits, labels, session, {"w": weights})
    losses = crossed(labels, logits[:, 0]) * weights
    assert loss == pytest.approx(losses.sum() / 3, rel=1e-5)
    assert values["average_loss"] == pytest.approx(losses.sum() / 4, rel=1e-5)
    shares = {name: float(value) for name, value in values.items() if "threshold" in name}
    assert shares == pytest.approx(
        {
            "accuracy/positive_threshold_0.25": 0.25,
            "precision/positive_threshold_0.25": 0.25,
            "recall/positive_threshold_0.25": 1.0,
            "accuracy/positive_threshold_0.9": 0.75,
            "precision/positive_threshold_0.9": 0.0,
            "recall/positive_threshold_0.9": 0.0,
        },
        abs=1e-5,
    )
    assert values["label/mean"] == 0.25 and values["accuracy_baseline"] == 0.75
    assert values["prediction/mean"] == pytest.approx(
        (sigmoid(logits[:, 0]) * weights).sum() / 4, rel=1e-5
    )


@pytest.mark.parametrize("form", ["matrix", "numbers", "words"])
def test_any_of_several_classes(session, form):
    names = ["a", "b", "c"] if form == "words" else None
    places = np.argwhere(BOTH)
    labels = {
        "matrix": lambda: BOTH,
        "numbers": lambda: tf.SparseTensor(places, tf.constant([0, 2, 1, 2]), [2, 2]),
        "words": lambda: tf.SparseTensor(places, ["a", "c", "b", "c"], [2, 3]),
    }[form]()
    head = heads.multi_label_head(
        3,
        label_vocabulary=names,
        thresholds=[0.5],
        classes_for_class_based_metrics=["c" if names else 2],
    )
    values, loss = evaluated(head, LOGITS, labels, session)
    assert loss == pytest.approx(crossed(BOTH, LOGITS).mean(), rel=1e-5)
    third = "c" if names else "class2"
    assert set(values) == {
        "average_loss",
        "auc",
        "auc_precision_recall",
        "accuracy/positive_threshold_0.5",
        "precision/positive_threshold_0.5",
        "recall/positive_threshold_0.5",
        f"probability_mean/{third}",
        f"auc/{third}",
        f"auc_precision_recall/{third}",
    }
    assert values["accuracy/positive_threshold_0.5"] == 1
    assert values[f"probability_mean/{third}"] == pytest.approx(
        sigmoid(LOGITS[:, 2]).mean(), rel=1e-5
    )


def test_any_of_several_classes_are_exported_with_their_names(session):
    head = heads.multi_label_head(3, label_vocabulary=["a", "b", "c"])
    spec = head.create_estimator_spec({}, est.ModeKeys.PREDICT, tf.constant(LOGITS))
    assert set(spec.predictions) == {"logits", "probabilities"}
    assert set(spec.export_outputs) == {"serving_default", "classification", "predict"}
    classes = session.run(spec.export_outputs["classification"].classes)
    assert classes.tolist() == [[b"a", b"b", b"c"]] * 2


def test_numbers_by_a_link_and_a_loss_of_ones_own(session):
    head = heads.regression_head(
        label_dimension=3,
        loss_fn=lambda labels, logits, features: tf.abs(labels - logits) * features["scale"],
        inverse_link_fn=tf.exp,
    )
    features = {"scale": tf.constant(2.0)}
    values, loss = evaluated(head, LOGITS, BOTH, session, features)
    assert loss == pytest.approx(2 * np.abs(BOTH - LOGITS).mean(), rel=1e-5)
    assert values["prediction/mean"] == pytest.approx(np.exp(LOGITS).mean(), rel=1e-5)
    spec = head.create_estimator_spec(features, est.ModeKeys.PREDICT, tf.constant(LOGITS))
    assert set(spec.predictions) == {"predictions", "logits"}
    assert set(spec.export_outputs) == {"serving_default", "regression", "predict"}


def test_each_number_may_have_a_weight(session):
    head = heads.regression_head("w", label_dimension=3)
    weights = np.array([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]], np.float32)
    values, _ = evaluated(head, LOGITS, BOTH, session, {"w": weights})
    squares = np.square(BOTH - LOGITS) * weights
    assert values["average_loss"] == pytest.approx(squares.sum() / weights.sum(), rel=1e-5)
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        evaluated(head, LOGITS, BOTH, session, {"w": weights[:, :2]})


@pytest.mark.parametrize("logits", [[[1.0], [2.0]], [[1.0], [2.0], [3.0]]])
def test_weights_may_be_of_a_rank_that_is_known_later(session, logits):
    given = tf.placeholder(tf.float32)
    labels = np.zeros([len(logits), 1])
    for wanted in (heads.regression_head("w"), heads.binary_classification_head("w")):
        spec = wanted.create_loss({"w": given}, est.ModeKeys.EVAL, tf.constant(logits), labels)
        ones = session.run(spec.training_loss, {given: np.ones([len(logits), 1])})
        none = session.run(spec.training_loss, {given: np.zeros(len(logits))})
        assert ones > 0 and none == 0
        for shape in ([len(logits), 2], [len(logits), 1, 1], [1]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="weights shape must be"):
                session.run(spec.training_loss, {given: np.ones(shape)})


def test_losses_of_regularizers_join(session):
    head = heads.regression_head(loss_reduction=tf.losses.Reduction.SUM)
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", initializer=3.0)
    logits = tf.constant([[1.0], [2.0]]) * weight
    arguments = {"labels": [[1.0], [2.0]], "regularization_losses": [tf.square(weight)]}
    spec = head.create_estimator_spec({}, est.ModeKeys.EVAL, logits, **arguments)
    session.run(tf.global_variables_initializer())
    values, loss = measured(spec, session)
    assert (loss, values["regularization_loss"]) == (20 + 9, 9)
    spec = head.create_estimator_spec(
        {},
        est.ModeKeys.TRAIN,
        logits,
        optimizer=tf.train.GradientDescentOptimizer(0.1),
        **arguments,
    )
    session.run(spec.train_op)
    assert session.run([weight, step]) == [pytest.approx(3 - 0.1 * (20 + 6)), 1]
    tags = {value.tag for value in tf.Summary.FromString(session.run(tf.summary.merge_all())).value}
    assert tags == {"loss", "average_loss", "regularization_loss"}


def test_a_model_of_ones_own_takes_a_head(tmp_path):
    head = heads.multi_class_head(3)

    def model_fn(features, labels, mode):
        logits = tf.layers.dense(features["x"], head.logits_dimension)
        return head.create_estimator_spec(
            features, mode, logits, labels=labels, optimizer=tf.train.AdamOptimizer(0.1)
        )

    x = np.random.RandomState(0).rand(64, 2).astype(np.float32)
    labels = (x.sum(1) * 1.5).astype(np.int64)
    rows = est.inputs.numpy_input_fn({"x": x}, labels, 64, None, shuffle=False)
    estimator = est.Estimator(model_fn, str(tmp_path))
    estimator.train(rows, steps=100)
    found = est.add_metrics(
        estimator,
        lambda labels, predictions: {
            "wrong": tf.metrics.mean(tf.not_equal(labels[:, None], predictions["class_ids"]))
        },
    ).evaluate(rows, steps=1)
    assert found["accuracy"] > 0.8 and found["wrong"] == pytest.approx(1 - found["accuracy"])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: heads.multi_class_head(2), "n_classes must be > 2"),
        (lambda: heads.multi_label_head(1), "n_classes must be > 1"),
        (lambda: heads.multi_label_head(3, label_vocabulary=["a"]), "must be n_classes"),
        (lambda: heads.binary_classification_head(thresholds=[1.0]), r"not in \(0, 1\)"),
        (
            lambda: heads.multi_label_head(3, classes_for_class_based_metrics=[3]),
            "no class 3 among 3",
        ),
        (
            lambda: heads.multi_label_head(
                2, label_vocabulary=["a", "b"], classes_for_class_based_metrics=["c"]
            ),
            "no class c among 2",
        ),
    ],
)
def test_what_makes_no_head_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_weight_column_is_a_key_or_a_column():
    with pytest.raises(TypeError, match="must be either a string or a numeric_column"):
        heads.regression_head(weight_column=3)


def test_logits_and_ways_of_training_are_checked():
    head = heads.regression_head()
    with pytest.raises(ValueError, match=r"logits shape must be \[batch_size, 1\]"):
        head.create_estimator_spec({}, est.ModeKeys.PREDICT, tf.constant(LOGITS))
    logits = tf.constant([[1.0]])
    with pytest.raises(ValueError, match="cannot both be None"):
        head.create_estimator_spec({}, est.ModeKeys.TRAIN, logits, labels=[[1.0]])


def test_contrib_has_estimators_for_heads_and_hooks_that_stop_them(tmp_path):
    def input_fn():
        x = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
        return tf.data.Dataset.from_tensors(({"x": x}, 2 * x + 1)).repeat()

    column = tf.feature_column.numeric_column("x")
    made = heads.LinearEstimator(
        head=heads.regression_head(), feature_columns=[column], model_dir=str(tmp_path)
    )
    made.train(input_fn, steps=50)
    made.evaluate(input_fn, steps=1)
    measured = heads.read_eval_metrics(made.eval_dir())
    assert list(measured) == [50] and measured[50]["average_loss"] < 0.5
    stop = heads.stop_if_lower_hook(
        made, "average_loss", 0.5, run_every_secs=None, run_every_steps=1
    )
    made.train(input_fn, hooks=[stop], steps=50)
    assert made.get_variable_value("global_step") == 51
    for kind in (heads.DNNEstimator, heads.DNNLinearCombinedEstimator):
        assert issubclass(kind, tf.estimator.Estimator)
