"""tf.estimator: models trained, evaluated, asked and exported: canned ones, and those of one's own function."""

from millrace._canned.added_metrics import add_metrics
from millrace._canned.baseline import BaselineClassifier, BaselineEstimator, BaselineRegressor
from millrace._canned.combined import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from millrace._canned.dnn import DNNClassifier, DNNEstimator, DNNRegressor
from millrace._canned.linear import LinearClassifier, LinearEstimator, LinearRegressor
from millrace._canned.parsing import classifier_parse_example_spec, regressor_parse_example_spec
from millrace._estimators.estimator import Estimator
from millrace._estimators.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from millrace._estimators.mode_keys import ModeKeys
from millrace._estimators.run_config import RunConfig
from millrace._estimators.spec import EstimatorSpec
from millrace._estimators.together import train_and_evaluate
from millrace._estimators.train_specs import EvalSpec, TrainSpec
from millrace._estimators.warm_starts import VocabInfo, WarmStartSettings
from millrace._supervised.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millrace._supervised.saving_hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    ProfilerHook,
    SummarySaverHook,
)
from millrace._supervised.step_hooks import GlobalStepWaiterHook, StepCounterHook, StopAtStepHook
from millrace._supervised.timers import SecondOrStepTimer
from millrace._supervised.value_hooks import (
    FeedFnHook,
    FinalOpsHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
)
from millrace.estimator import experimental, export, inputs, tpu

__all__ = [name for name in globals() if not name.startswith("_")]
