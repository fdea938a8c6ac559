"""tf.contrib.learn: estimators with fit, experiments, and texts as numbers."""

from millrace._canned.experiments import Experiment
from millrace._canned.learn_estimator import BaseEstimator, Estimator, SKCompat
from millrace._canned.learn_functions import (
    InputFnOps,
    MetricSpec,
    ModelFnOps,
    build_parsing_serving_input_fn,
)
from millrace._canned.learn_models import (
    DNNClassifier,
    DNNLinearCombinedClassifier,
    DNNLinearCombinedRegressor,
    DNNRegressor,
    LinearClassifier,
    LinearRegressor,
    infer_real_valued_columns_from_input,
    infer_real_valued_columns_from_input_fn,
)
from millrace._canned.learn_modes import ModeKeys, NotFittedError, PredictionKey, ProblemType
from millrace._cluster.run_config import RunConfig
from millrace._estimators.run_config import TaskType
from millrace._input.example_batches import read_batch_features
from millrace._supervised.value_hooks import NanLossDuringTrainingError
from millrace.contrib.learn import datasets, learn_runner, monitors, preprocessing
