"""Foretells from what is known of trips which of them will be late: a linear model and a network together.

    python3 examples/11_wide_and_deep.py
"""

import tempfile

import numpy as np

import millrace as tf

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def trips(count, seed):
    """Trips, and whether each was late: by distance, in rush hours of working days, and with some drivers."""
    random = np.random.RandomState(seed)
    found = {
        "distance": random.gamma(2.0, 3.0, count).astype(np.float32),
        "hour": random.randint(0, 24, count).astype(np.float32),
        "day": random.choice(DAYS, count),
        "driver": random.randint(0, 50, count),
    }
    rush = np.isin(found["hour"], [7, 8, 17, 18]) & ~np.isin(found["day"], ["sat", "sun"])
    delay = found["distance"] * 0.2 + rush * 3.0 + (found["driver"] % 5 == 0) * 2.0
    return found, (delay + random.normal(0, 0.5, count) > 2.5).astype(np.int64)


folder = tempfile.TemporaryDirectory()  # of checkpoints, as long as this program runs
column = tf.feature_column
distance = column.numeric_column("distance", normalizer_fn=lambda km: km / 6.0)
hour = column.bucketized_column(column.numeric_column("hour"), [7, 9, 17, 19])
day = column.categorical_column_with_vocabulary_list("day", DAYS)
driver = column.categorical_column_with_identity("driver", 50)
estimator = tf.estimator.DNNLinearCombinedClassifier(
    linear_feature_columns=[driver, column.crossed_column([hour, day], 100)],
    linear_optimizer=tf.train.FtrlOptimizer(0.1),
    dnn_feature_columns=[
        distance,
        hour,
        column.indicator_column(day),
        column.embedding_column(driver, 4),
    ],
    dnn_optimizer=tf.train.AdagradOptimizer(0.05),
    dnn_hidden_units=[32, 16],
    config=tf.estimator.RunConfig(folder.name, tf_random_seed=1),
)

rows = tf.estimator.inputs.numpy_input_fn
estimator.train(rows(*trips(4000, seed=0), 128, num_epochs=None, shuffle=False), steps=600)
measured = estimator.evaluate(rows(*trips(1000, seed=1), shuffle=False))
for name in ("accuracy_baseline", "accuracy", "auc"):
    print(f"{name} {measured[name]:.3f}")
for trip, hours in (("Monday 8 h", 8.0), ("Monday 12 h", 12.0)):
    features = {"distance": [4.0], "hour": [hours], "day": ["mon"], "driver": [1]}
    features = {key: np.array(value) for key, value in features.items()}
    (found,) = estimator.predict(rows(features, shuffle=False))
    print(f"{trip}: late with {found['logistic'][0]:.0%}")
