"""tf.estimator's canned estimators: trained, measured, asked and exported; what they keep and are called."""

import numpy as np
import pytest

import millrace as tf
from millrace._canned import linear, optimizers

est = tf.estimator
fc = tf.feature_column

RNG = np.random.RandomState(0)
SIZE = RNG.rand(96, 1).astype(np.float32)
COLOUR = RNG.choice(["red", "green", "blue"], 96)
IS_GREEN = (COLOUR == "green").astype(np.float32)
VALUE = (2 * SIZE[:, 0] + IS_GREEN - 0.5).astype(np.float32)
IS_DEAR = (VALUE > 0.8).astype(np.int64)
CLASS = np.digitize(VALUE, [0.3, 1.0]).astype(np.int64)


def colour():
    return fc.categorical_column_with_vocabulary_list("colour", ["red", "green", "blue"])


def wide():
    return [fc.numeric_column("size"), colour()]


def deep():
    return [fc.numeric_column("size"), fc.embedding_column(colour(), 2)]


def rows(labels, epochs=None, **more):
    features = {"size": SIZE, "colour": COLOUR, **more}
    return est.inputs.numpy_input_fn(features, labels, 32, epochs, shuffle=False)


@pytest.fixture
def config(tmp_path):
    return est.RunConfig(str(tmp_path / "model"), tf_random_seed=3, log_step_count_steps=None)


OF_TWO_CLASSES = {
    "accuracy",
    "accuracy_baseline",
    "auc",
    "auc_precision_recall",
    "average_loss",
    "global_step",
    "label/mean",
    "loss",
    "precision",
    "prediction/mean",
    "recall",
}
OF_CLASSES = {"accuracy", "average_loss", "global_step", "loss"}
OF_NUMBERS = {"average_loss", "global_step", "label/mean", "loss", "prediction/mean"}
CLASSES = {"logits", "probabilities", "class_ids", "classes", "all_class_ids", "all_classes"}


# ---- Linear --------------------------------------------------------------------------------------


def test_a_linear_classifier_tells_two_classes_apart(config):
    estimator = est.LinearClassifier(wide(), config=config)
    assert estimator.train(rows(IS_DEAR), steps=300) is estimator
    measured = estimator.evaluate(rows(IS_DEAR, 1))
    assert set(measured) == OF_TWO_CLASSES
    assert measured["accuracy"] > 0.9 and measured["auc"] > 0.95
    assert measured["label/mean"] == pytest.approx(IS_DEAR.mean())
    assert measured["accuracy_baseline"] == pytest.approx(max(IS_DEAR.mean(), 1 - IS_DEAR.mean()))
    # Three batches of 32: the loss is the mean of their sums.
    assert measured["loss"] == pytest.approx(32 * measured["average_loss"], rel=1e-5)
    found = list(estimator.predict(rows(None, 1)))
    assert set(found[0]) == {*CLASSES, "logistic"}
    chosen = np.array([each["class_ids"][0] for each in found])
    assert (chosen == IS_DEAR).mean() == pytest.approx(measured["accuracy"])
    for each in found[:3]:
        assert each["classes"].tolist() == [b"%d" % each["class_ids"][0]]
        assert each["all_class_ids"].tolist() == [0, 1]
        assert each["probabilities"][1] == pytest.approx(each["logistic"][0], rel=1e-5)
    assert estimator.get_variable_names() == [
        "global_step",
        "linear/linear_model/bias_weights",
        "linear/linear_model/bias_weights/part_0/Ftrl",
        "linear/linear_model/bias_weights/part_0/Ftrl_1",
        "linear/linear_model/colour/weights",
        "linear/linear_model/colour/weights/part_0/Ftrl",
        "linear/linear_model/colour/weights/part_0/Ftrl_1",
        "linear/linear_model/size/weights",
        "linear/linear_model/size/weights/part_0/Ftrl",
        "linear/linear_model/size/weights/part_0/Ftrl_1",
    ]
    assert estimator.get_variable_value("linear/linear_model/colour/weights").shape == (3, 1)


def test_labels_of_two_classes_may_be_true_and_false_or_shares(config):
    estimator = est.LinearClassifier(wide(), config=config)
    estimator.train(rows(IS_DEAR == 1), steps=50)
    assert estimator.evaluate(rows(IS_DEAR == 1, 1))["auc"] > 0.9
    measured = estimator.evaluate(rows(np.full(96, 0.25), 1))
    assert measured["label/mean"] == 0.25


def one_batch(labels):
    """A batch of all, again and again."""
    return est.inputs.numpy_input_fn({"size": SIZE}, labels, 96, None, shuffle=False)


def test_a_step_of_a_linear_regressor_is_that_of_numpy(config):
    rate = tf.train.GradientDescentOptimizer(0.001)
    estimator = est.LinearRegressor([fc.numeric_column("size")], config=config, optimizer=rate)
    estimator.train(one_batch(VALUE), steps=3)
    weight = bias = 0.0
    for _ in range(3):
        error = SIZE[:, 0] * weight + bias - VALUE  # the loss is the sum of squares
        weight, bias = (
            weight - 0.001 * np.sum(2 * error * SIZE[:, 0]),
            bias - 0.001 * np.sum(2 * error),
        )
    measured = estimator.evaluate(one_batch(VALUE), steps=1)
    np.testing.assert_allclose(
        [
            estimator.get_variable_value("linear/linear_model/size/weights").item(),
            estimator.get_variable_value("linear/linear_model/bias_weights").item(),
        ],
        [weight, bias],
        rtol=1e-4,
    )
    predicted = SIZE[:, 0] * weight + bias
    squares = np.square(predicted - VALUE)
    expected = {
        "loss": squares.sum(),
        "average_loss": squares.mean(),
        "prediction/mean": predicted.mean(),
        "label/mean": VALUE.mean(),
        "global_step": 3,
    }
    assert measured == pytest.approx(expected, rel=1e-4)


def test_a_mean_loss_does_not_grow_with_the_batch(config):
    estimator = est.LinearRegressor(
        wide(), config=config, loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE
    )
    measured = estimator.evaluate(rows(VALUE, 1))  # untrained: predicts 0
    assert measured["loss"] == pytest.approx(np.square(VALUE).mean(), rel=1e-5)


def test_three_classes_have_labels_of_their_own(config):
    names = ["cheap", "fair", "dear"]
    estimator = est.LinearClassifier(
        wide(), config=config, n_classes=3, label_vocabulary=names, optimizer="Adam"
    )
    labels = np.array(names)[CLASS]
    estimator.train(rows(labels), steps=100)
    measured = estimator.evaluate(rows(labels, 1))
    assert set(measured) == OF_CLASSES and measured["accuracy"] > 0.8
    first = next(estimator.predict(rows(None, 1)))
    assert set(first) == CLASSES and first["logits"].shape == (3,)
    assert first["classes"][0].decode() == names[first["class_ids"][0]]
    assert first["all_classes"].tolist() == [b"cheap", b"fair", b"dear"]


def test_examples_have_weights(config):
    weights = IS_GREEN[:, None] * 2
    estimator = est.LinearRegressor(wide(), config=config, weight_column="weight")
    measured = estimator.evaluate(rows(VALUE, 1, weight=weights))
    of_green = VALUE[IS_GREEN == 1]
    assert measured["average_loss"] == pytest.approx(np.square(of_green).mean(), rel=1e-5)
    assert measured["label/mean"] == pytest.approx(of_green.mean(), rel=1e-5)
    halved = fc.numeric_column("weight", normalizer_fn=lambda weight: weight / 2)
    again = est.LinearRegressor(wide(), config=config, weight_column=halved)
    losses = again.evaluate(rows(VALUE, 1, weight=weights))["loss"], measured["loss"]
    assert losses[0] == pytest.approx(losses[1] / 2, rel=1e-5)


@pytest.mark.parametrize(
    "columns, given, rate", [(1, "Ftrl", 0.2), (1, None, 0.2), (100, "Ftrl", 0.2), (100, None, 0.1)]
)
def test_the_rate_of_a_linear_model_is_at_most_that_of_its_columns(
    monkeypatch, config, columns, given, rate
):
    rates = []

    class Noting(tf.train.FtrlOptimizer):
        def __init__(self, learning_rate):
            rates.append(learning_rate)
            super().__init__(learning_rate)

    monkeypatch.setattr(linear, "FtrlOptimizer", Noting)
    monkeypatch.setitem(optimizers.BY_NAME, "Ftrl", Noting)
    several = [fc.numeric_column(f"size{number}") for number in range(columns)]
    estimator = est.LinearRegressor(several, config=config, optimizer=given)
    features = {column.key: SIZE for column in several}
    estimator.train(est.inputs.numpy_input_fn(features, VALUE, 8, None, False), steps=1)
    assert rates == [pytest.approx(rate)]


# ---- Networks ------------------------------------------------------------------------------------


def test_a_network_tells_classes_apart_and_is_exported(config, tmp_path):
    estimator = est.DNNClassifier([16, 8], deep(), config=config, n_classes=3)
    estimator.train(rows(CLASS), steps=300)
    measured = estimator.evaluate(rows(CLASS, 1))
    assert set(measured) == OF_CLASSES and measured["accuracy"] > 0.9
    inner = "dnn/input_from_feature_columns/input_layer/colour_embedding/embedding_weights"
    model = [name for name in estimator.get_variable_names() if "Adagrad" not in name]
    assert model == [
        "dnn/hiddenlayer_0/bias",
        "dnn/hiddenlayer_0/kernel",
        "dnn/hiddenlayer_1/bias",
        "dnn/hiddenlayer_1/kernel",
        inner,
        "dnn/logits/bias",
        "dnn/logits/kernel",
        "global_step",
    ]
    assert "dnn/hiddenlayer_0/kernel/t_0/Adagrad" in estimator.get_variable_names()
    spec = fc.make_parse_example_spec(deep())
    receiver = est.export.build_parsing_serving_input_receiver_fn(spec)
    folder = estimator.export_savedmodel(str(tmp_path / "out"), receiver).decode()
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = tf.saved_model.loader.load(session, ["serve"], folder).signature_def
        assert set(signatures) == {"serving_default", "classification", "predict"}
        classify, predict = signatures["classification"], signatures["predict"]
        assert classify.method_name == "tensorflow/serving/classify"
        assert set(classify.outputs) == {"classes", "scores"}
        example = tf.train.Example()
        example.features.feature["size"].float_list.value.append(SIZE[0, 0])
        example.features.feature["colour"].bytes_list.value.append(COLOUR[0].encode())
        feeds = {predict.inputs["examples"].name: [example.SerializeToString()]}
        served = session.run(predict.outputs["probabilities"].name, feeds)[0]
        classes = session.run(classify.outputs["classes"].name, feeds)
        assert classes.tolist() == [[b"0", b"1", b"2"]]
    asked = next(estimator.predict(rows(None, 1)))["probabilities"]
    np.testing.assert_allclose(served, asked, rtol=1e-5)


def test_a_network_of_numbers_may_drop_and_normalize(config):
    estimator = est.DNNRegressor(
        [16],
        deep(),
        config=config,
        label_dimension=2,
        dropout=0.1,
        batch_norm=True,
        activation_fn=tf.nn.elu,
        optimizer=lambda: tf.train.AdamOptimizer(0.05),
    )
    labels = np.stack([VALUE, -VALUE], 1)
    estimator.train(rows(labels), steps=200)
    measured = estimator.evaluate(rows(labels, 1))
    assert set(measured) == OF_NUMBERS
    assert next(estimator.predict(rows(None, 1)))["predictions"].shape == (2,)
    mean = estimator.get_variable_value("dnn/hiddenlayer_0/batchnorm_0/moving_mean")
    assert mean.shape == (16,) and mean.any()  # the averages moved


def test_a_network_shows_its_layers(config):
    estimator = est.DNNRegressor([4], deep(), config=config.replace(save_summary_steps=1))
    estimator.train(rows(VALUE), steps=1)
    (events,) = tf.gfile.Glob(f"{config.model_dir}/events*")
    tags = {
        value.tag for event in tf.train.summary_iterator(events) for value in event.summary.value
    }
    assert {
        "loss",
        "average_loss",
        "dnn/dnn/hiddenlayer_0/activation",
        "dnn/dnn/hiddenlayer_0/fraction_of_zero_values",
        "dnn/dnn/logits/activation",
        "enqueue_input/queue/enqueue_input/fifo_queuefraction_over_0_of_1000_full",
    } <= tags


# ---- Both ----------------------------------------------------------------------------------------


def test_wide_and_deep_are_trained_each_by_its_optimizer(config):
    estimator = est.DNNLinearCombinedClassifier(
        linear_feature_columns=wide(),
        linear_optimizer=tf.train.FtrlOptimizer(0.1),
        dnn_feature_columns=deep(),
        dnn_optimizer=tf.train.AdagradOptimizer(0.1),
        dnn_hidden_units=[8],
        config=config,
    )
    estimator.train(rows(IS_DEAR), steps=200)
    measured = estimator.evaluate(rows(IS_DEAR, 1))
    assert set(measured) == OF_TWO_CLASSES and measured["accuracy"] > 0.95
    assert measured["global_step"] == 200
    names = set(estimator.get_variable_names())
    assert {"linear/linear_model/size/weights/Ftrl", "dnn/logits/kernel/Adagrad"} <= names
    estimator.train(rows(IS_DEAR), steps=10)  # an optimizer serves several trainings
    assert estimator.latest_checkpoint().endswith("-210")


def test_one_half_of_wide_and_deep_is_enough(config):
    estimator = est.DNNLinearCombinedRegressor(
        dnn_feature_columns=deep(), dnn_hidden_units=[4], config=config
    )
    estimator.train(rows(VALUE), steps=2)
    assert not any("linear" in name for name in estimator.get_variable_names())
    with pytest.raises(ValueError, match="Either linear_feature_columns or dnn_feature_columns"):
        est.DNNLinearCombinedRegressor()
    with pytest.raises(ValueError, match="dnn_hidden_units must be defined"):
        est.DNNLinearCombinedRegressor(dnn_feature_columns=deep())


# ---- Neither -------------------------------------------------------------------------------------


def test_a_baseline_learns_what_labels_are_like(config):
    estimator = est.BaselineRegressor(config=config)
    estimator.train(rows(VALUE), steps=300)
    assert estimator.get_variable_value("baseline/bias") == pytest.approx(VALUE.mean(), abs=0.02)
    measured = estimator.evaluate(rows(VALUE, 1))
    assert set(measured) == OF_NUMBERS
    assert measured["average_loss"] == pytest.approx(VALUE.var(), rel=0.05)


def test_a_baseline_learns_how_often_classes_occur(tmp_path):
    estimator = est.BaselineClassifier(str(tmp_path), n_classes=3)
    estimator.train(rows(CLASS), steps=300)
    found = next(estimator.predict(rows(None, 1)))["probabilities"]
    np.testing.assert_allclose(found, np.bincount(CLASS) / len(CLASS), atol=0.03)


# ---- Around them ---------------------------------------------------------------------------------


def test_a_model_begins_with_another_ones_weights(config, tmp_path):
    first = est.LinearRegressor(wide(), config=config)
    first.train(rows(VALUE), steps=20)
    still = tf.train.GradientDescentOptimizer(0.0)
    folder = str(tmp_path / "second")
    second = est.LinearRegressor(wide(), folder, optimizer=still, warm_start_from=config.model_dir)
    second.train(rows(VALUE), steps=1)
    name = "linear/linear_model/colour/weights"
    assert second.get_variable_value(name).any()
    np.testing.assert_array_equal(second.get_variable_value(name), first.get_variable_value(name))


def test_an_estimator_with_more_metrics_begins_with_the_same_weights(config, tmp_path):
    first = est.LinearRegressor(wide(), config=config)
    first.train(rows(VALUE), steps=20)
    still = tf.train.GradientDescentOptimizer(0.0)
    folder = str(tmp_path / "second")
    second = est.LinearRegressor(wide(), folder, optimizer=still, warm_start_from=config.model_dir)
    measured = est.add_metrics(
        second, lambda predictions: {"mean": tf.metrics.mean(predictions["predictions"])}
    )
    measured.train(rows(VALUE), steps=1)
    found = measured.evaluate(rows(VALUE, 1))
    assert found["mean"] == found["prediction/mean"] != 0
    name = "linear/linear_model/colour/weights"
    np.testing.assert_array_equal(measured.get_variable_value(name), first.get_variable_value(name))


def test_an_estimator_with_more_metrics_has_the_same_parameters(config):
    def model_fn(features, labels, mode, params):
        weight = tf.get_variable("weight", initializer=params["first"])
        loss = tf.reduce_mean(features["size"] * weight)
        step = tf.assign_add(tf.train.get_global_step(), 1)
        return est.EstimatorSpec(mode, loss=loss, train_op=step, predictions=weight)

    def input_fn(params):
        return rows(VALUE, params["epochs"])()

    own = est.Estimator(model_fn, config=config, params={"first": 3.0, "epochs": 1})
    found = est.add_metrics(
        own, lambda predictions: {"weight": tf.metrics.mean(predictions)}
    ).train(input_fn)
    assert found.get_variable_value("global_step") == 3  # batches of one epoch
    assert found.evaluate(input_fn)["weight"] == 3


def test_training_and_evaluation_go_together(config):
    estimator = est.LinearClassifier(wide(), config=config)
    result, _ = est.train_and_evaluate(
        estimator,
        est.TrainSpec(rows(IS_DEAR), max_steps=20),
        est.EvalSpec(rows(IS_DEAR, 1), steps=None),
    )
    assert result["global_step"] == 20 and set(result) == OF_TWO_CLASSES


def test_labels_and_weights_are_parsed_with_the_features():
    spec = est.classifier_parse_example_spec(wide(), "label", weight_column="weight")
    assert spec == {
        "size": tf.FixedLenFeature((1,), tf.float32),
        "colour": tf.VarLenFeature(tf.string),
        "label": tf.FixedLenFeature((1,), tf.int64),
        "weight": tf.FixedLenFeature((1,), tf.float32),
    }
    spec = est.regressor_parse_example_spec([], "label", label_default=0.0, label_dimension=2)
    assert spec == {"label": tf.FixedLenFeature((2,), tf.float32, 0.0)}
    with pytest.raises(ValueError, match="label should not be used as feature"):
        est.classifier_parse_example_spec(wide(), "size")


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: est.LinearClassifier(wide(), n_classes=1), "n_classes must be at least 2"),
        (
            lambda: est.LinearClassifier(wide(), label_vocabulary="ab"),
            "should be a list or a tuple",
        ),
        (
            lambda: est.LinearClassifier(wide(), n_classes=3, label_vocabulary=["a", "b"]),
            "one label per class",
        ),
        (lambda: est.LinearRegressor(wide(), label_dimension=0), "Invalid label_dimension 0"),
        (
            lambda: est.LinearRegressor(wide(), loss_reduction=tf.losses.Reduction.NONE),
            "Invalid loss_reduction",
        ),
        (lambda: est.DNNRegressor([4, 0], deep()), "integers above 0"),
    ],
)
def test_what_makes_no_estimator_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "labels, message",
    [
        (None, "You must provide a labels Tensor"),
        (np.stack([IS_DEAR, IS_DEAR], 1), "Mismatched label shape"),
        (np.array(["yes", "no"])[IS_DEAR], "give the estimator a label_vocabulary="),
    ],
)
def test_labels_that_are_none_are_refused(config, labels, message):
    estimator = est.LinearClassifier(wide(), config=config)
    with pytest.raises(ValueError, match=message):
        estimator.train(rows(labels), steps=1)


def test_labels_of_no_class_end_the_training(config):
    estimator = est.LinearClassifier(wide(), config=config)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"labels must be in \[0, 1\]"):
        estimator.train(rows(CLASS), steps=10)


def test_features_must_have_names_and_optimizers_be_known(config):
    estimator = est.LinearRegressor(wide(), config=config)
    with pytest.raises(ValueError, match="features should be a dictionary"):
        estimator.train(est.inputs.numpy_input_fn(SIZE, VALUE, shuffle=False), steps=1)
    estimator = est.LinearRegressor(wide(), config=config, optimizer="Newton")
    with pytest.raises(ValueError, match="Unsupported optimizer name: Newton"):
        estimator.train(rows(VALUE), steps=1)
