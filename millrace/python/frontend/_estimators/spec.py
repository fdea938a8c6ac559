"""EstimatorSpec: what a model's function returns."""

import collections

from millrace._estimators.export_outputs import checked_outputs
from millrace._estimators.mode_keys import ModeKeys
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Operation, Tensor
from millrace._ops.arrays import reshape
from millrace._state.variables import Variable
from millrace._supervised.hook import SessionRunHook
from millrace._supervised.scaffold import Scaffold

_FIELDS = (
    "mode predictions loss train_op eval_metric_ops export_outputs training_chief_hooks training_hooks "
    "scaffold evaluation_hooks prediction_hooks"
)


class EstimatorSpec(collections.namedtuple("EstimatorSpec", _FIELDS)):
    """A model as its function made it for one mode.

    Args:
      mode: a ModeKeys.
      predictions: a Tensor, or a dictionary of Tensors; needed for PREDICT.
      loss: a scalar; needed for TRAIN and EVAL.
      train_op: an Operation; needed for TRAIN.
      eval_metric_ops: {name: (Tensor, update)}, as tf.metrics give them.
      export_outputs: {signature: ExportOutput}; the predictions under the default signature if None.
      training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks: SessionRunHooks.
      scaffold: a Scaffold.

    Raises:
      ValueError: for what is missing; TypeError: for what is something else.
    """

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        export_outputs=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        train_op = _checked_train_op(train_op, mode)
        loss = _checked_loss(loss, mode)
        predictions = _checked_predictions(predictions, mode)
        metrics = _checked_metrics(eval_metric_ops)
        if mode == ModeKeys.PREDICT:
            export_outputs = checked_outputs(export_outputs, predictions)
        hooks = [
            tuple(group or ())
            for group in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks)
        ]
        for hook in sum(hooks, ()):
            if not isinstance(hook, SessionRunHook):
                raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
        scaffold = scaffold or Scaffold()
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        _check_graph(predictions, loss, train_op, metrics)
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            metrics,
            export_outputs,
            hooks[0],
            hooks[1],
            scaffold,
            hooks[2],
            hooks[3],
        )


def _check_kind(value, name, kinds, said):
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be {said}, given: {value}")
    return value


def _checked_train_op(train_op, mode):
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    return _check_kind(train_op, "train_op", (Operation, Tensor, Variable), "Operation or Tensor")


def _checked_loss(loss, mode):
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    loss = _check_kind(loss, "loss", (Tensor, Variable), "Tensor")
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss if loss.shape.ndims == 0 else reshape(loss, [])


def _checked_predictions(predictions, mode):
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    items = predictions.items() if isinstance(predictions, dict) else [(None, predictions)]
    for key, value in items:
        name = "predictions" if key is None else f"predictions[{key}]"
        _check_kind(value, name, (Tensor, Variable), "Tensor")
    return predictions


def _checked_metrics(metrics):
    metrics = {} if metrics is None else metrics
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                f"{pair} for key: {key}"
            )
        for item in pair:
            _check_kind(
                item,
                f"eval_metric_ops[{key}]",
                (Operation, Tensor, Variable),
                "Operation or Tensor",
            )
    return metrics


def _check_graph(predictions, loss, train_op, metrics):
    """All must be in the graph that the function was called for."""
    graph = get_default_graph()
    found = list(predictions.values()) if isinstance(predictions, dict) else [predictions]
    found += [item for item in (loss, train_op) if item is not None]
    found += [item for pair in metrics.values() for item in pair]
    for item in found:
        if item.graph is not graph:
            raise ValueError(f"{item!r} is not made in the default graph: make it in the model_fn.")
