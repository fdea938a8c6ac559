"""tf.contrib.predictor: functions from arrays to arrays, by a model that is loaded once."""

from millrace._estimators.predictors import from_estimator
from millrace._saved_models.predictors import from_saved_model
