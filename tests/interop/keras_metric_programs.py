"""Metrics and losses of tf.keras over the same batches, the same text for TensorFlow and for Millrace.

`python3 keras_metric_programs.py tensorflow` (or `millrace`) prints a JSON object: of each its value. Run by
test_keras_layers_beside_tensorflow.py.
"""

import json
import sys

import numpy as np


def batches(kind):
    """Two batches of (labels, predictions, weights)."""
    random = np.random.RandomState(7)
    for _ in range(2):
        weights = random.randint(1, 4, 12).astype(np.float32)  # some are counted as integers
        if kind == "binary":
            labels, shape = random.randint(0, 2, (12, 1)).astype(np.float32), (12, 1)
            yield labels, random.uniform(size=shape).astype(np.float32), weights
            continue
        predictions = random.uniform(0.05, 1.0, (12, 4)).astype(np.float32)
        predictions /= predictions.sum(-1, keepdims=True)
        classes = random.randint(0, 4, 12)
        if kind == "classes":
            yield np.eye(4, dtype=np.float32)[classes], predictions, weights
        elif kind == "sparse":
            yield classes.astype(np.float32)[:, None], predictions, weights
        elif kind == "numbers":
            yield random.normal(size=(12, 3)).astype(np.float32), predictions[:, :3] * 5, weights
        else:
            guesses = random.randint(0, 4, 12)
            yield classes.astype(np.float32), guesses.astype(np.float32), weights


def metrics(keras):
    """{name: (a function that makes the metric, the kind of its batches)}."""
    km = keras.metrics
    return {
        "accuracy": (km.Accuracy, "guesses"),
        "iou": (lambda: km.MeanIoU(num_classes=4), "guesses"),
        "binary accuracy": (lambda: km.BinaryAccuracy(threshold=0.3), "binary"),
        "binary crossentropy": (lambda: km.BinaryCrossentropy(label_smoothing=0.1), "binary"),
        "roc": (lambda: km.AUC(num_thresholds=20), "binary"),
        "roc below": (lambda: km.AUC(30, summation_method="minoring"), "binary"),
        "pr": (lambda: km.AUC(curve="PR"), "binary"),
        "pr above": (lambda: km.AUC(curve="PR", summation_method="majoring"), "binary"),
        "roc of thresholds": (lambda: km.AUC(thresholds=[0.2, 0.7]), "binary"),
        "precision": (km.Precision, "binary"),
        "precisions": (lambda: km.Precision(thresholds=[0.1, 0.6]), "binary"),
        "precision of one": (lambda: km.Precision(class_id=1, thresholds=0.3), "classes"),
        "precision of the best": (lambda: km.Precision(top_k=2), "classes"),
        "recall": (km.Recall, "binary"),
        "recall of the best": (lambda: km.Recall(top_k=1, class_id=2), "classes"),
        "tp": (km.TruePositives, "binary"),
        "fp": (lambda: km.FalsePositives([0.2, 0.8]), "binary"),
        "tn": (km.TrueNegatives, "binary"),
        "fn": (km.FalseNegatives, "binary"),
        "categorical": (km.CategoricalAccuracy, "classes"),
        "categorical crossentropy": (km.CategoricalCrossentropy, "classes"),
        "top": (lambda: km.TopKCategoricalAccuracy(k=2), "classes"),
        "kld": (km.KLDivergence, "classes"),
        "sparse": (km.SparseCategoricalAccuracy, "sparse"),
        "sparse top": (lambda: km.SparseTopKCategoricalAccuracy(k=2), "sparse"),
        "sparse crossentropy": (km.SparseCategoricalCrossentropy, "sparse"),
        "mse": (km.MeanSquaredError, "numbers"),
        "rmse": (km.RootMeanSquaredError, "numbers"),
        "mae": (km.MeanAbsoluteError, "numbers"),
        "mape": (km.MeanAbsolutePercentageError, "numbers"),
        "msle": (km.MeanSquaredLogarithmicError, "numbers"),
        "cosine": (km.CosineSimilarity, "numbers"),
        "hinge": (km.Hinge, "binary"),
        "squared hinge": (km.SquaredHinge, "binary"),
        "categorical hinge": (km.CategoricalHinge, "classes"),
        "logcosh": (km.LogCoshError, "numbers"),
        "poisson": (km.Poisson, "classes"),
    }


def losses(keras):
    kl = keras.losses
    return {
        "mse": (kl.MeanSquaredError(), "numbers"),
        "mape": (kl.MeanAbsolutePercentageError(), "numbers"),
        "msle": (kl.MeanSquaredLogarithmicError(reduction="sum"), "numbers"),
        "cosine": (kl.CosineSimilarity(axis=-1), "numbers"),
        "logcosh": (kl.LogCosh(), "numbers"),
        "kld": (kl.KLDivergence(), "classes"),
        "poisson": (kl.Poisson(), "classes"),
        "squared hinge": (kl.SquaredHinge(), "binary"),
        "categorical hinge": (kl.CategoricalHinge(), "classes"),
    }


def trained(keras):
    """What the history and an evaluation say of metrics that run over batches of unequal sizes."""
    x = np.random.RandomState(1).normal(size=(22, 3)).astype(np.float32)
    y = (x[:, 0] + 0.3 * x[:, 1] ** 2 > 0).astype(np.float32)[:, None]
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(1, activation="sigmoid")])
    model.layers[-1].set_weights([np.array([[0.1], [0.2], [0.3]], np.float32), np.zeros(1)])
    km = keras.metrics
    watched = [km.AUC(name="auc"), km.Precision(name="precision"), "mae"]
    model.compile(keras.optimizers.SGD(0.5), "binary_crossentropy", metrics=watched)
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history
    history.setdefault("mae", history.get("mean_absolute_error"))  # as TensorFlow 1 calls it
    evaluated = np.ravel(model.evaluate(x, y, batch_size=8, verbose=0)).astype(float)
    return {
        **{name: [float(n) for n in history[name]] for name in ("auc", "precision", "mae")},
        "evaluated": evaluated.tolist(),
    }


def main():
    if sys.argv[1] == "tensorflow":
        import tensorflow as tf

        run = np.asarray
    else:
        import millrace as tf

        def run(x):
            return tf.keras.backend.get_session().run(x)

    results = {}
    for weighted in (False, True):
        for name, (make, kind) in metrics(tf.keras).items():
            metric = make()
            for labels, predictions, weights in batches(kind):
                update = metric.update_state(labels, predictions, weights if weighted else None)
                if tf.__name__ == "millrace":
                    run(update)
            results[f"{name} {weighted}"] = run(metric.result()).astype(float).tolist()
    for name, (loss, kind) in losses(tf.keras).items():
        labels, predictions, weights = next(batches(kind))
        found = [loss(labels, predictions), loss(labels, predictions, sample_weight=weights)]
        results[f"loss {name}"] = [float(run(each)) for each in found]
    for name, values in trained(tf.keras).items():
        results[f"trained {name}"] = values
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
