"""tf.contrib.learn's canned estimators: those of tf.estimator, with fit and their older arguments."""

from millrace._canned.combined import DNNLinearCombinedClassifier as CombinedClassifier
from millrace._canned.combined import DNNLinearCombinedRegressor as CombinedRegressor
from millrace._canned.dnn import DNNClassifier as NetworkClassifier
from millrace._canned.dnn import DNNRegressor as NetworkRegressor
from millrace._canned.learn_estimator import core_config
from millrace._canned.learn_predictions import Classifier, Regressor
from millrace._canned.linear import LinearClassifier as WeightedClassifier
from millrace._canned.linear import LinearRegressor as WeightedRegressor
from millrace._canned.linear import default_optimizer
from millrace._canned.optimizers import chosen_optimizer
from millrace._columns.older_layers import infer_real_valued_columns
from millrace._gen import relu
from millrace._graph.graph import Graph
from millrace._measures.losses import Reduction
from millrace._supervised.clipped import clip_gradients_by_norm

_MEAN = Reduction.SUM_OVER_BATCH_SIZE  # what the loss is over a batch


def _refuse(**arguments):
    """Raises NotImplementedError for an argument that is not what it is by default."""
    for name, value in arguments.items():
        if value:
            raise NotImplementedError(f"{name}={value!r} is not done here; leave it out")


def _clipped(optimizer, learning_rate, clip_norm):
    """The optimizer that is meant; None for the model's own."""
    if clip_norm is None:
        return optimizer
    chosen = chosen_optimizer(optimizer, learning_rate)
    return clip_gradients_by_norm(chosen, clip_norm)


def _linear(make, feature_columns, model_dir, weight_column_name, optimizer, clip_norm, **others):
    config = core_config(others.pop("config"))
    chosen = _clipped(optimizer or default_optimizer(tuple(feature_columns)), None, clip_norm)
    return make(
        feature_columns,
        model_dir,
        weight_column=weight_column_name,
        optimizer=chosen,
        config=config,
        loss_reduction=_MEAN,
        **others,
    )


class LinearClassifier(Classifier):
    """A linear model that tells classes apart.

    Its variables are named as those of tf.estimator.LinearClassifier.

    Args:
      feature_columns: columns of tf.contrib.layers or of tf.feature_column.
      model_dir: the folder of checkpoints.
      n_classes: how many classes there are.
      weight_column_name: the key of a feature with a weight for each example.
      optimizer: an Optimizer; None for Ftrl.
      gradient_clip_norm: the largest norm that gradients may have together.
      enable_centered_bias, _joint_weight: must be False.
      config: a RunConfig.
      feature_engineering_fn: as for Estimator.
      label_keys: the labels, if they are strings.

    Raises:
      NotImplementedError: for what must not be asked for; ValueError: for fewer than two classes.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        optimizer=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        _joint_weight=False,
        config=None,
        feature_engineering_fn=None,
        label_keys=None,
    ):
        _refuse(enable_centered_bias=enable_centered_bias, _joint_weight=_joint_weight)
        made = _linear(
            WeightedClassifier,
            feature_columns,
            model_dir,
            weight_column_name,
            optimizer,
            gradient_clip_norm,
            config=config,
            n_classes=n_classes,
            label_vocabulary=label_keys,
        )
        super().__init__(made, feature_engineering_fn, label_keys)


class LinearRegressor(Regressor):
    """A linear model for numbers.

    Args:
      label_dimension: how many numbers an example has.
      the others: as for LinearClassifier.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        weight_column_name=None,
        optimizer=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        label_dimension=1,
        _joint_weights=False,
        config=None,
        feature_engineering_fn=None,
    ):
        _refuse(enable_centered_bias=enable_centered_bias, _joint_weights=_joint_weights)
        made = _linear(
            WeightedRegressor,
            feature_columns,
            model_dir,
            weight_column_name,
            optimizer,
            gradient_clip_norm,
            config=config,
            label_dimension=label_dimension,
        )
        super().__init__(made, feature_engineering_fn)


class DNNClassifier(Classifier):
    """A network of dense layers that tells classes apart.

    Its variables are named as those of tf.estimator.DNNClassifier.

    Args:
      hidden_units: the sizes of the layers.
      feature_columns: dense columns of tf.contrib.layers or of tf.feature_column.
      optimizer: an Optimizer; None for Adagrad.
      activation_fn: a function of what each layer gives.
      dropout: the share of it that is dropped in training; None for none.
      embedding_lr_multipliers, input_layer_min_slice_size: must be None.
      the others: as for LinearClassifier.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        optimizer=None,
        activation_fn=relu,
        dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
        label_keys=None,
    ):
        _refuse(
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )
        made = NetworkClassifier(
            hidden_units,
            feature_columns,
            model_dir,
            n_classes,
            weight_column_name,
            label_keys,
            _clipped(optimizer or "Adagrad", 0.05, gradient_clip_norm),
            activation_fn,
            dropout,
            config=core_config(config),
            loss_reduction=_MEAN,
        )
        super().__init__(made, feature_engineering_fn, label_keys)


class DNNRegressor(Regressor):
    """A network of dense layers for numbers.

    Args:
      label_dimension: how many numbers an example has.
      the others: as for DNNClassifier.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        weight_column_name=None,
        optimizer=None,
        activation_fn=relu,
        dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        config=None,
        feature_engineering_fn=None,
        label_dimension=1,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
    ):
        _refuse(
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )
        made = NetworkRegressor(
            hidden_units,
            feature_columns,
            model_dir,
            label_dimension,
            weight_column_name,
            _clipped(optimizer or "Adagrad", 0.05, gradient_clip_norm),
            activation_fn,
            dropout,
            config=core_config(config),
            loss_reduction=_MEAN,
        )
        super().__init__(made, feature_engineering_fn)


def _combined(linear_columns, linear_optimizer, dnn_optimizer, clip_norm):
    """The arguments of both optimizers."""
    linear = linear_optimizer or default_optimizer(tuple(linear_columns or ()) or (None,))
    return {
        "linear_optimizer": _clipped(linear, None, clip_norm),
        "dnn_optimizer": _clipped(dnn_optimizer or "Adagrad", 0.05, clip_norm),
    }


class DNNLinearCombinedClassifier(Classifier):
    """A linear model and a network of dense layers that tell classes apart together.

    Args:
      linear_feature_columns, linear_optimizer: of the linear model; Ftrl if the latter is None.
      dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout: of the network.
      _joint_linear_weights, enable_centered_bias: must be False; embedding_lr_multipliers and
        input_layer_min_slice_size: None.
      fix_global_step_increment_bug: accepted: a step counts once in any case.
      the others: as for LinearClassifier.
    """

    def __init__(
        self,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        linear_feature_columns=None,
        linear_optimizer=None,
        _joint_linear_weights=False,
        dnn_feature_columns=None,
        dnn_optimizer=None,
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
        label_keys=None,
        fix_global_step_increment_bug=False,
    ):
        _refuse(
            _joint_linear_weights=_joint_linear_weights,
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )
        made = CombinedClassifier(
            model_dir,
            linear_feature_columns,
            dnn_feature_columns=dnn_feature_columns,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            n_classes=n_classes,
            weight_column=weight_column_name,
            label_vocabulary=label_keys,
            config=core_config(config),
            loss_reduction=_MEAN,
            **_combined(
                linear_feature_columns, linear_optimizer, dnn_optimizer, gradient_clip_norm
            ),
        )
        super().__init__(made, feature_engineering_fn, label_keys)


class DNNLinearCombinedRegressor(Regressor):
    """A linear model and a network of dense layers that give numbers together.

    Args:
      label_dimension: how many numbers an example has.
      the others: as for DNNLinearCombinedClassifier.
    """

    def __init__(
        self,
        model_dir=None,
        weight_column_name=None,
        linear_feature_columns=None,
        linear_optimizer=None,
        _joint_linear_weights=False,
        dnn_feature_columns=None,
        dnn_optimizer=None,
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        label_dimension=1,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
        fix_global_step_increment_bug=False,
    ):
        _refuse(
            _joint_linear_weights=_joint_linear_weights,
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )
        made = CombinedRegressor(
            model_dir,
            linear_feature_columns,
            dnn_feature_columns=dnn_feature_columns,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            label_dimension=label_dimension,
            weight_column=weight_column_name,
            config=core_config(config),
            loss_reduction=_MEAN,
            **_combined(
                linear_feature_columns, linear_optimizer, dnn_optimizer, gradient_clip_norm
            ),
        )
        super().__init__(made, feature_engineering_fn)


def infer_real_valued_columns_from_input_fn(input_fn):
    """A list of real_valued_columns, as many numbers as each feature of an input function has."""
    with Graph().as_default():
        given = input_fn()
        features = given[0] if isinstance(given, (tuple, list)) else given
        return infer_real_valued_columns(features)


def infer_real_valued_columns_from_input(x):
    """The same of an array, whose column is called "", or a dictionary of arrays."""
    with Graph().as_default():
        return infer_real_valued_columns(x)
