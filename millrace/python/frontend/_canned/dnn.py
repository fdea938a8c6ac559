"""tf.estimator.DNNClassifier, DNNRegressor and DNNEstimator: networks of dense layers."""

from millrace._canned.classification import class_head
from millrace._canned.models import (
    check_hidden_units,
    checked_features,
    input_partitioner_for,
    network_logits,
    partitioner_for,
)
from millrace._canned.optimizers import chosen_optimizer
from millrace._canned.regression import RegressionHead
from millrace._estimators.estimator import Estimator
from millrace._gen import relu
from millrace._measures.losses import Reduction
from millrace._state.named_variables import variable_scope

_RATE = 0.05


class DNNEstimator(Estimator):
    """A network of dense layers, trained for what a head makes of it.

    Its variables are in the scope "dnn": "hiddenlayer_0/kernel" and "bias", ..., "logits/kernel" and "bias",
    and those of columns in "input_from_feature_columns/input_layer".

    Args:
      head: a head, as tf.contrib.estimator has them.
      hidden_units: the sizes of the layers before the logits.
      feature_columns: an iterable of dense feature columns.
      model_dir: the folder of checkpoints.
      optimizer: an Optimizer, a function that gives one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD"
        with a rate of 0.05.
      activation_fn: a function of what each hidden layer gives.
      dropout: the share of it that is dropped in training; None for none.
      input_layer_partitioner: what divides variables of columns; over parameter servers, in parts of 64 MiB
        or more, if None.
      config: a RunConfig.
      warm_start_from: a checkpoint, or WarmStartSettings, for the first values.
      batch_norm: whether what hidden layers give is normalized.

    Features are a dictionary. A ValueError comes with the first training or other use if they are not.
    """

    def __init__(
        self,
        head,
        hidden_units,
        feature_columns,
        model_dir=None,
        optimizer="Adagrad",
        activation_fn=relu,
        dropout=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        batch_norm=False,
    ):
        columns, sizes = tuple(feature_columns or ()), check_hidden_units(hidden_units)

        def model_fn(features, labels, mode, config):
            values = list(checked_features(features).values())
            with variable_scope("dnn", values=values, partitioner=partitioner_for(config)) as scope:
                logits = network_logits(
                    features,
                    columns,
                    head.logits_dimension,
                    sizes,
                    activation_fn,
                    dropout,
                    batch_norm,
                    mode,
                    input_layer_partitioner or input_partitioner_for(config),
                    scope.name,
                )
                return head.create_estimator_spec(
                    features,
                    mode,
                    logits,
                    labels=labels,
                    optimizer=chosen_optimizer(optimizer, _RATE),
                )

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNClassifier(DNNEstimator):
    """A network of dense layers that tells classes apart.

    Args:
      hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
        config, warm_start_from, batch_norm: as for DNNEstimator.
      n_classes, weight_column, label_vocabulary, loss_reduction: as for LinearClassifier.

    Raises:
      ValueError: for fewer than two classes, or as many labels as there are not classes.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Adagrad",
        activation_fn=relu,
        dropout=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=Reduction.SUM,
        batch_norm=False,
    ):
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


class DNNRegressor(DNNEstimator):
    """A network of dense layers for numbers.

    Args:
      hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
        config, warm_start_from, batch_norm: as for DNNEstimator.
      label_dimension, weight_column, loss_reduction: as for LinearRegressor.

    Raises:
      ValueError: for a label_dimension below 1.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Adagrad",
        activation_fn=relu,
        dropout=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=Reduction.SUM,
        batch_norm=False,
    ):
        super().__init__(
            RegressionHead(weight_column, label_dimension, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )
