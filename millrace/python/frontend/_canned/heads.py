"""Heads: what becomes of the numbers that a model gives, the logits: predictions, a loss, metrics."""

import collections

from millrace import _gen as gen_ops
from millrace._columns.column import Inputs
from millrace._columns.numeric import NumericColumn, numeric_column
from millrace._estimators.features import argument_names
from millrace._estimators.mode_keys import MetricKeys, ModeKeys
from millrace._estimators.spec import EstimatorSpec
from millrace._flow.checks import assert_equal, assert_rank_at_least
from millrace._flow.control_flow import Assert, group, with_dependencies
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, get_collection, name_scope
from millrace._graph.sparse_tensor import is_sparse
from millrace._measures import means
from millrace._measures.losses import Reduction, compute_weighted_loss
from millrace._ops.arithmetic import add_n, cast
from millrace._ops.arrays import concat, expand_dims, ones_like
from millrace._ops.arrays import shape as shape_of
from millrace._ops.reductions import reduce_all, reduce_any, reduce_sum
from millrace._summaries.building import scalar
from millrace._train.global_steps import get_global_step
from millrace._values import dtypes

# A scalar; losses of shape [batch, n]; what they are multiplied with; labels as numbers.
LossSpec = collections.namedtuple(
    "LossSpec", ["training_loss", "unreduced_loss", "weights", "processed_labels"]
)


class PredictionKeys:
    """What predictions are called."""

    ALL_CLASS_IDS = "all_class_ids"
    ALL_CLASSES = "all_classes"
    CLASS_IDS = "class_ids"
    CLASSES = "classes"
    LOGISTIC = "logistic"
    LOGITS = "logits"
    PREDICTIONS = "predictions"
    PROBABILITIES = "probabilities"


class ServingKeys:
    """What exports are called beside the default one."""

    CLASSIFY = "classification"
    PREDICT = "predict"
    REGRESS = "regression"


class Head:
    """The base of heads. Classes that derive from it say what labels, losses and predictions are.

    Args:
      logits_dimension: how many logits an example has.
      weight_column: the key of a feature with a weight for each example, or a numeric_column; or None.
      loss_reduction: one of tf.losses.Reduction, but NONE.
      loss_fn: a function of `labels` and `logits`, and `features` if it names them, that gives losses of
        shape [batch, 1] or, for numbers, of the logits' shape; the head's own if None.
      name: of the head; what summaries and metrics are called ends with it.

    Raises:
      ValueError: for another reduction; TypeError: for another weight column.
    """

    # How many labels an example has; None for as many as logits.
    labels_dimension = 1
    # Whether each logit may have a weight of its own.
    has_weight_per_logit = False

    def __init__(self, logits_dimension, weight_column, loss_reduction, loss_fn, name):
        Reduction.validate(loss_reduction)
        if loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        if isinstance(weight_column, str):
            weight_column = numeric_column(weight_column)
        if not isinstance(weight_column, (NumericColumn, type(None))):
            raise TypeError(
                "Weight column must be either a string or a numeric_column. Given type: "
                f"{type(weight_column)}."
            )
        self._logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._reduction = loss_reduction
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self):
        """The name, or None."""
        return self._name

    @property
    def logits_dimension(self):
        """How many logits an example has."""
        return self._logits_dimension

    # ---- What classes that derive from it define ---------------------------------------------------

    def predictions(self, logits):
        """{key: Tensor} for logits of shape [batch, logits_dimension]."""
        raise NotImplementedError(f"{type(self).__name__} has no predictions()")

    def export_outputs(self, predictions):
        """{signature: ExportOutput} of predictions."""
        raise NotImplementedError(f"{type(self).__name__} has no export_outputs()")

    def label_numbers(self, labels):
        """Labels of shape [batch, labels_dimension] as the losses take them."""
        raise NotImplementedError(f"{type(self).__name__} has no label_numbers()")

    def losses(self, labels, logits):
        """The loss of each example, of shape [batch, 1], or of each logit."""
        raise NotImplementedError(f"{type(self).__name__} has no losses()")

    def metrics(self, labels, predictions, weights, losses):
        """{key: (value, update)} beside the regularization loss."""
        raise NotImplementedError(f"{type(self).__name__} has no metrics()")

    # ---- What models call --------------------------------------------------------------------------

    def create_loss(self, features, mode, logits, labels):
        """The LossSpec of logits and labels. ValueError if labels are missing or of another shape."""
        del mode
        logits = convert(logits)
        size = self.labels_dimension or self._logits_dimension
        labels = self.label_numbers(self.fitted_labels(labels, logits, size))
        losses = self._losses(labels, logits, features)
        weights = self._weights(features, logits)
        loss = compute_weighted_loss(losses, weights, reduction=self._reduction)
        return LossSpec(loss, losses, weights, labels)

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        """The EstimatorSpec of a model.

        Args:
          features: {key: Tensor}; the weights are among them.
          mode: a ModeKeys.
          logits: a Tensor of shape [batch, logits_dimension].
          labels: for training and evaluation.
          optimizer: for training: an Optimizer, which changes all trainable variables.
          train_op_fn: in its place, a function of the loss that gives what a step of training runs.
          regularization_losses: a list of scalars that join the loss.

        Raises:
          ValueError: for logits or labels of another shape, or both or none of optimizer and train_op_fn.
        """
        with name_scope(self._name, "head"):
            logits = _fitted_logits(logits, self._logits_dimension)
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = self.export_outputs(predictions)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            spec = self.create_loss(features, mode, logits, labels)
            loss, regularization = spec.training_loss, None
            if regularization_losses:
                regularization = add_n(list(regularization_losses))
                loss = add_n([loss, regularization])
            if mode == ModeKeys.EVAL:
                metrics = self._named_metrics(spec, predictions, regularization)
                return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
            train_op = _train_op(loss, optimizer, train_op_fn)
            average = self._average(spec)
        with name_scope(None):
            scalar(self._key(MetricKeys.LOSS), loss)
            if average is not None:
                scalar(self._key(MetricKeys.AVERAGE_LOSS), average)
            if regularization is not None:
                scalar(self._key(MetricKeys.REGULARIZATION_LOSS), regularization)
        return EstimatorSpec(mode, predictions, loss, train_op)

    # ---- Parts of these ----------------------------------------------------------------------------

    def _key(self, key):
        return f"{key}/{self._name}" if self._name else key

    def _average(self, spec):
        """The loss of an example, if the loss is a sum."""
        if self._reduction != Reduction.SUM:
            return None
        return spec.training_loss / reduce_sum(spec.weights * ones_like(spec.unreduced_loss))

    def _named_metrics(self, spec, predictions, regularization):
        labels, losses = spec.processed_labels, spec.unreduced_loss
        with name_scope(None, "metrics"):
            found = {
                MetricKeys.AVERAGE_LOSS: means.mean(
                    losses, spec.weights, name=MetricKeys.AVERAGE_LOSS
                ),
                **self.metrics(labels, predictions, spec.weights, losses),
            }
            if regularization is not None:
                key = MetricKeys.REGULARIZATION_LOSS
                found[key] = means.mean(regularization, name=key)
        return {self._key(key): metric for key, metric in found.items()}

    def _losses(self, labels, logits, features):
        if self._loss_fn is None:
            return self.losses(labels, logits)
        given = {"labels": labels, "logits": logits}
        if "features" in argument_names(self._loss_fn):
            given["features"] = features
        losses = convert(self._loss_fn(**given))
        size = 1 if self.labels_dimension == 1 else self._logits_dimension
        wanted = concat([shape_of(logits)[:-1], [size]], 0)
        told = f"loss_fn must return a Tensor of shape [batch, {size}]"
        return with_dependencies([assert_equal(shape_of(losses), wanted, message=told)], losses)

    def fitted_labels(self, labels, logits, size):
        """Labels as a Tensor of shape [batch, size]. ValueError if that is not what they are."""
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor. Given: None. Check that your data contain your label "
                "feature, and that your input_fn properly parses and returns labels."
            )
        if is_sparse(labels):
            raise ValueError(
                f"SparseTensor labels are not supported. labels must be a Tensor of shape [batch_size, "
                f"{size}]; tf.sparse_tensor_to_dense() makes one in your input_fn."
            )
        labels = convert(labels)
        if labels.shape.ndims is not None and labels.shape.ndims == logits.shape.ndims - 1:
            labels = expand_dims(labels, -1)
        told = (
            f"labels shape must be [batch_size, {size}]. Check n_classes or label_dimension of the "
            "estimator, and the shape of your labels."
        )
        if labels.shape.ndims and labels.shape.as_list()[-1] not in (None, size):
            raise ValueError(f"Mismatched label shape: {labels.shape}; {told}")
        wanted = concat([shape_of(logits)[:-1], [size]], 0)
        return with_dependencies([assert_equal(wanted, shape_of(labels), message=told)], labels)

    def _weights(self, features, logits):
        """1.0, or a Tensor of shape [batch, 1] or, where that may be, of the logits."""
        if self._weight_column is None:
            return 1.0
        weights = self._weight_column.dense(Inputs(features))
        if weights.shape.ndims is not None and weights.shape.ndims == logits.shape.ndims - 1:
            weights = expand_dims(weights, -1)
        own, all_of_logits = shape_of(weights), shape_of(logits)
        allowed = [concat([all_of_logits[:-1], [1]], 0)]
        if self.has_weight_per_logit:
            allowed.append(all_of_logits)
        fits = [_is_same(own, shape) for shape in allowed]
        told = ["weights shape must be [batch_size, 1]; it is", own, "for logits of", all_of_logits]
        return with_dependencies([Assert(reduce_any(gen_ops.pack(fits)), told)], weights)


def _is_same(shape, other):
    # Of different ranks, which may be known only now, is False.
    return reduce_all(gen_ops.equal(shape, other, incompatible_shape_error=False))


def _fitted_logits(logits, size):
    logits = cast(logits, dtypes.float32)
    told = f"logits shape must be [batch_size, {size}]"
    with control_dependencies([assert_rank_at_least(logits, 2, message=told)]):
        known = logits.shape.as_list()[-1] if logits.shape.ndims else None
        if known is not None:
            if known != size:
                raise ValueError(f"{told}, got {logits.shape}.")
            return logits
        return with_dependencies([assert_equal(size, shape_of(logits)[-1], message=told)], logits)


def _train_op(loss, optimizer, train_op_fn):
    if (optimizer is None) == (train_op_fn is None):
        both = "set" if optimizer is not None else "None"
        raise ValueError(f"train_op_fn and optimizer cannot both be {both}.")
    if optimizer is not None:
        train_op = optimizer.minimize(loss, global_step=get_global_step())
    else:
        train_op = train_op_fn(loss)
    updates = get_collection(GraphKeys.UPDATE_OPS)
    return group(train_op, *updates) if updates else train_op
