"""tf.estimator.LinearClassifier, LinearRegressor and LinearEstimator: weighted sums of features."""

import math

from millrace._canned.classification import class_head
from millrace._canned.models import checked_features, input_partitioner_for, linear_logits
from millrace._canned.optimizers import chosen_optimizer
from millrace._canned.regression import RegressionHead
from millrace._estimators.estimator import Estimator
from millrace._measures.losses import Reduction
from millrace._state.named_variables import variable_scope
from millrace._train.accumulating import FtrlOptimizer

_RATE = 0.2


class LinearEstimator(Estimator):
    """A linear model, trained for what a head makes of it.

    Its variables are in the scope "linear/linear_model".

    Args:
      head: a head, as tf.contrib.estimator has them.
      feature_columns: an iterable of feature columns, dense and categorical.
      model_dir: the folder of checkpoints.
      optimizer: an Optimizer, a function that gives one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD"
        with a rate of 0.2; None for Ftrl whose rate is at most 1/sqrt(number of columns).
      config: a RunConfig.
      partitioner: what divides variables; over parameter servers, in parts of 64 MiB or more, if None.
      sparse_combiner: "sum", "mean" or "sqrtn", if an example has several categories of a column.
      warm_start_from: a checkpoint, or WarmStartSettings, for the first values.

    Features are a dictionary. A ValueError comes with the first training or other use if they are not.
    """

    def __init__(
        self,
        head,
        feature_columns,
        model_dir=None,
        optimizer="Ftrl",
        config=None,
        partitioner=None,
        sparse_combiner="sum",
        warm_start_from=None,
    ):
        columns = tuple(feature_columns or ())

        def model_fn(features, labels, mode, config):
            values = list(checked_features(features).values())
            parts = partitioner or input_partitioner_for(config)
            with variable_scope("linear", values=values, partitioner=parts):
                logits = linear_logits(features, columns, head.logits_dimension, sparse_combiner)
                return head.create_estimator_spec(
                    features,
                    mode,
                    logits,
                    labels=labels,
                    optimizer=chosen_optimizer(optimizer or default_optimizer(columns), _RATE),
                )

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def default_optimizer(columns):
    """Ftrl, whose rate falls with the number of columns."""
    return FtrlOptimizer(min(_RATE, 1 / math.sqrt(len(columns))))


class LinearClassifier(LinearEstimator):
    """A linear model that tells classes apart.

    Args:
      feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner: as for
        LinearEstimator.
      n_classes: how many classes.
      weight_column: the key of a feature with a weight for each example, or a numeric_column.
      label_vocabulary: the labels, strings; they are numbers from 0 on if None.
      loss_reduction: one of tf.losses.Reduction, but NONE.

    Raises:
      ValueError: for fewer than two classes, or as many labels as there are not classes.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Ftrl",
        config=None,
        partitioner=None,
        warm_start_from=None,
        loss_reduction=Reduction.SUM,
        sparse_combiner="sum",
    ):
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            sparse_combiner,
            warm_start_from,
        )


class LinearRegressor(LinearEstimator):
    """A linear model of numbers.

    Args:
      feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner: as for
        LinearEstimator.
      label_dimension: how many numbers an example has.
      weight_column, loss_reduction: as for LinearClassifier.

    Raises:
      ValueError: for a label_dimension below 1.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Ftrl",
        config=None,
        partitioner=None,
        warm_start_from=None,
        loss_reduction=Reduction.SUM,
        sparse_combiner="sum",
    ):
        super().__init__(
            RegressionHead(weight_column, label_dimension, loss_reduction),
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            sparse_combiner,
            warm_start_from,
        )
