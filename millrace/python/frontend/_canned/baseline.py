"""tf.estimator.BaselineClassifier and kin: what can be told of labels alone, to measure others by."""

from millrace._canned.classification import class_head
from millrace._canned.models import checked_features
from millrace._canned.optimizers import chosen_optimizer
from millrace._canned.regression import RegressionHead
from millrace._estimators.estimator import Estimator
from millrace._flow.checks import assert_equal
from millrace import _gen as gen_ops
from millrace._graph.default_graph import control_dependencies
from millrace._graph.sparse_tensor import is_sparse
from millrace._measures.losses import Reduction
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones
from millrace._ops.arrays import shape as shape_of
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._values import dtypes

_RATE = 0.3


class BaselineEstimator(Estimator):
    """A model that takes no notice of features: its logits are a variable, "baseline/bias".

    Args:
      head: a head, as tf.contrib.estimator has them.
      model_dir: the folder of checkpoints.
      optimizer: an Optimizer, a function that gives one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD"
        with a rate of 0.3.
      config: a RunConfig.

    Features are a dictionary with at least one, which tells the size of the batch.
    """

    def __init__(self, head, model_dir=None, optimizer="Ftrl", config=None):
        def model_fn(features, labels, mode):
            logits = _logits(checked_features(features), head.logits_dimension)
            return head.create_estimator_spec(
                features,
                mode,
                logits,
                labels=labels,
                optimizer=chosen_optimizer(optimizer, _RATE),
            )

        super().__init__(model_fn, model_dir, config)


def _logits(features, units):
    sizes = [_batch(feature) for feature in features.values()]
    if not sizes:
        raise ValueError("features must have at least one, which tells the size of the batch")
    told = "features must be of one batch"
    checks = [assert_equal(sizes[0], size, message=told) for size in sizes[1:]]
    with control_dependencies(checks):
        rows = gen_ops.pack([sizes[0], units])
    with variable_scope("baseline"):
        bias = get_variable("bias", [units], initializer=zeros_initializer())
        return bias * ones(rows)


def _batch(feature):
    return (
        cast(feature.dense_shape[0], dtypes.int32) if is_sparse(feature) else shape_of(feature)[0]
    )


class BaselineClassifier(BaselineEstimator):
    """A model that learns how often each class occurs.

    Args:
      model_dir, optimizer, config: as for BaselineEstimator.
      n_classes, weight_column, label_vocabulary, loss_reduction: as for LinearClassifier.

    Raises:
      ValueError: for fewer than two classes, or as many labels as there are not classes.
    """

    def __init__(
        self,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Ftrl",
        config=None,
        loss_reduction=Reduction.SUM,
    ):
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)


class BaselineRegressor(BaselineEstimator):
    """A model that learns the mean of the labels.

    Args:
      model_dir, optimizer, config: as for BaselineEstimator.
      label_dimension, weight_column, loss_reduction: as for LinearRegressor.

    Raises:
      ValueError: for a label_dimension below 1.
    """

    def __init__(
        self,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Ftrl",
        config=None,
        loss_reduction=Reduction.SUM,
    ):
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)
