"""An estimator with more metrics than its model has."""

from millrace._estimators.estimator import Estimator
from millrace._estimators.features import argument_names
from millrace._estimators.mode_keys import ModeKeys

_ARGUMENTS = {"features", "labels", "predictions", "config"}


def add_metrics(estimator, metric_fn):
    """An Estimator of the same model, whose evaluations give more.

    Args:
      estimator: an Estimator.
      metric_fn: a function that names any of features, labels, predictions and config, and gives
        {name: (value, update)}; a name that the model has is taken for its own.

    Raises:
      ValueError: if the function has other arguments.
    """
    names = argument_names(metric_fn)
    others = sorted(set(names) - _ARGUMENTS)
    if others:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {others}")

    def model_fn(features, labels, mode, params, config):
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        known = {
            "features": features,
            "labels": labels,
            "predictions": spec.predictions,
            "config": config,
        }
        added = metric_fn(**{name: known[name] for name in names})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

    return Estimator(
        model_fn,
        config=estimator.config,
        params=estimator.params,
        warm_start_from=estimator.warm_start_settings,
    )
