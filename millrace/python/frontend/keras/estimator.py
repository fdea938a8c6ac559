"""tf.keras.estimator: models of Keras as Estimators."""

from millrace._estimators.keras_models import model_to_estimator
