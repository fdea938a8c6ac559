"""tf.estimator.DNNLinearCombinedClassifier and kin: a linear model and a network, whose logits are added."""

import math

from millrace._canned.classification import class_head
from millrace._canned.models import (
    check_hidden_units,
    checked_features,
    input_partitioner_for,
    linear_logits,
    network_logits,
    partitioner_for,
    show_layer,
)
from millrace._canned.optimizers import chosen_optimizer
from millrace._canned.regression import RegressionHead
from millrace._estimators.estimator import Estimator
from millrace._flow.control_flow import group
from millrace._gen import relu
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import control_dependencies, get_collection
from millrace._measures.losses import Reduction
from millrace._state.assignments import assign_add
from millrace._state.named_variables import variable_scope
from millrace._supervised.sync_replicas import SyncReplicasOptimizer
from millrace._train.global_steps import get_global_step

_LINEAR_RATE = 0.005
_NETWORK_RATE = 0.001


class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a network of dense layers, trained together for what a head makes of them.

    Its variables are in the scopes "linear" and "dnn", as those of LinearEstimator and DNNEstimator.

    Args:
      head: a head, as tf.contrib.estimator has them.
      model_dir: the folder of checkpoints.
      linear_feature_columns: the columns of the linear model; None to leave it out.
      linear_optimizer: for its variables: an Optimizer, a function that gives one, or "Adagrad", "Adam",
        "Ftrl", "RMSProp" or "SGD" with a rate of 0.005, or 1/sqrt(number of columns) if that is less.
      dnn_feature_columns: the columns of the network; None to leave it out.
      dnn_optimizer: for its variables; with a rate of 0.001 if it is named.
      dnn_hidden_units: the sizes of its layers before the logits.
      dnn_activation_fn: a function of what each of them gives.
      dnn_dropout: the share of it that is dropped in training; None for none.
      input_layer_partitioner: what divides variables of columns; over parameter servers, in parts of 64 MiB
        or more, if None.
      config: a RunConfig.
      linear_sparse_combiner: "sum", "mean" or "sqrtn", if an example has several categories of a column.
      warm_start_from: a checkpoint, or WarmStartSettings, for the first values.
      batch_norm: whether what hidden layers give is normalized.

    Raises:
      ValueError: without columns, or for columns of a network without layers.
    """

    def __init__(
        self,
        head,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        input_layer_partitioner=None,
        config=None,
        linear_sparse_combiner="sum",
        warm_start_from=None,
        batch_norm=False,
    ):
        linear_columns = tuple(linear_feature_columns or ())
        network_columns = tuple(dnn_feature_columns or ())
        sizes = check_hidden_units(dnn_hidden_units)
        if not linear_columns and not network_columns:
            raise ValueError(
                "Either linear_feature_columns or dnn_feature_columns must be defined."
            )
        if network_columns and not sizes:
            raise ValueError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified."
            )

        def model_fn(features, labels, mode, config):
            values = list(checked_features(features).values())
            input_parts = input_layer_partitioner or input_partitioner_for(config)
            logits, trained = [], []
            if network_columns:
                parts = partitioner_for(config)
                with variable_scope("dnn", values=values, partitioner=parts) as scope:
                    made = network_logits(
                        features,
                        network_columns,
                        head.logits_dimension,
                        sizes,
                        dnn_activation_fn or relu,
                        dnn_dropout,
                        batch_norm,
                        mode,
                        input_parts,
                        scope.name,
                    )
                logits.append(made)
                trained.append((_optimizer(dnn_optimizer, _NETWORK_RATE), scope.name))
            if linear_columns:
                with variable_scope("linear", values=values, partitioner=input_parts) as scope:
                    made = linear_logits(
                        features, linear_columns, head.logits_dimension, linear_sparse_combiner
                    )
                    show_layer(made, scope.name)
                logits.append(made)
                rate = min(_LINEAR_RATE, 1 / math.sqrt(len(linear_columns)))
                trained.append((_optimizer(linear_optimizer, rate), scope.name))
            return head.create_estimator_spec(
                features,
                mode,
                logits[0] + logits[1] if len(logits) > 1 else logits[0],
                labels=labels,
                train_op_fn=lambda loss: _trained(loss, trained),
            )

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _optimizer(given, rate):
    made = chosen_optimizer(given, rate)
    if isinstance(made, SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not supported "
            "in DNNLinearCombined model. If you want to use this optimizer, please use either DNN or Linear "
            "model."
        )
    return made


def _trained(loss, trained):
    """What a step of training runs: each optimizer on the variables of its scope, then the count."""
    updates = [
        optimizer.minimize(
            loss, var_list=get_collection(GraphKeys.TRAINABLE_VARIABLES, f"{scope}/")
        )
        for optimizer, scope in trained
    ]
    with control_dependencies([group(*updates)]):
        return assign_add(get_global_step(), 1).op


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A linear model and a network together, which tell classes apart ("wide and deep").

    Args:
      n_classes, weight_column, label_vocabulary, loss_reduction: as for LinearClassifier.
      Others: as for DNNLinearCombinedEstimator.

    Raises:
      ValueError: for fewer than two classes, and as DNNLinearCombinedEstimator.
    """

    def __init__(
        self,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=Reduction.SUM,
        batch_norm=False,
        linear_sparse_combiner="sum",
    ):
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            linear_sparse_combiner,
            warm_start_from,
            batch_norm,
        )


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """A linear model and a network together for numbers.

    Args:
      label_dimension, weight_column, loss_reduction: as for LinearRegressor.
      Others: as for DNNLinearCombinedEstimator.

    Raises:
      ValueError: for a label_dimension below 1, and as DNNLinearCombinedEstimator.
    """

    def __init__(
        self,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        label_dimension=1,
        weight_column=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=Reduction.SUM,
        batch_norm=False,
        linear_sparse_combiner="sum",
    ):
        super().__init__(
            RegressionHead(weight_column, label_dimension, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            linear_sparse_combiner,
            warm_start_from,
            batch_norm,
        )
