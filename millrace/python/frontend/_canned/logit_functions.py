"""Models of canned estimators as functions, for model functions of one's own."""

from millrace._canned.models import linear_logits, network_logits
from millrace._estimators.features import argument_names
from millrace._graph.operation import Tensor
from millrace._state.named_variables import get_variable_scope


def linear_logit_fn_builder(units, feature_columns, sparse_combiner="sum"):
    """A function of `features` that gives the logits of a linear model, in the scope where it is called.

    Args:
      units: how many logits.
      feature_columns: dense and categorical columns.
      sparse_combiner: "sum", "mean" or "sqrtn", if an example has several categories of a column.
    """
    columns = tuple(feature_columns)

    def linear_logit_fn(features):
        return linear_logits(features, columns, units, sparse_combiner)

    return linear_logit_fn


def dnn_logit_fn_builder(
    units,
    hidden_units,
    feature_columns,
    activation_fn,
    dropout,
    input_layer_partitioner,
    batch_norm,
):
    """A function of `features` and `mode` that gives the logits of a network of dense layers, in the scope
    where it is called.

    Args:
      units: how many logits.
      hidden_units: the sizes of the layers before.
      feature_columns: dense columns.
      activation_fn, dropout, input_layer_partitioner, batch_norm: as for DNNEstimator.

    Raises:
      ValueError: if units is no int.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int. Given type: {type(units)}")
    columns = tuple(feature_columns)

    def dnn_logit_fn(features, mode):
        return network_logits(
            features,
            columns,
            units,
            hidden_units,
            activation_fn,
            dropout,
            batch_norm,
            mode,
            input_layer_partitioner,
            get_variable_scope().name,
        )

    return dnn_logit_fn


def call_logit_fn(logit_fn, features, mode, params, config):
    """What a function gives that names any of features, mode, params and config.

    Raises:
      ValueError: if that is neither a Tensor nor a dictionary of them.
    """
    known = {"features": features, "mode": mode, "params": params, "config": config}
    names = argument_names(logit_fn)
    made = logit_fn(**{name: value for name, value in known.items() if name in names})
    if not isinstance(made, (Tensor, dict)):
        raise ValueError(
            f"model_fn should return a Tensor or a dictionary of Tensors, not {made!r}"
        )
    return made
