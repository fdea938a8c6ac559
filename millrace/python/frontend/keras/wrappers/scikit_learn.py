"""tf.keras.wrappers.scikit_learn: models as scikit-learn's estimators."""

from millrace._keras.scikit_learn import KerasClassifier, KerasRegressor
