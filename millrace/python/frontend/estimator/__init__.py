"""tf.estimator: a model's function trained, evaluated, asked and exported."""

from millrace._estimators.estimator import Estimator
from millrace._estimators.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from millrace._estimators.mode_keys import ModeKeys
from millrace._estimators.run_config import RunConfig
from millrace._estimators.spec import EstimatorSpec
from millrace._estimators.together import train_and_evaluate
from millrace._estimators.train_specs import EvalSpec, TrainSpec
from millrace._estimators.warm_starts import VocabInfo, WarmStartSettings
from millrace.estimator import export, inputs

__all__ = [name for name in globals() if not name.startswith("_")]
