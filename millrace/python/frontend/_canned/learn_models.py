"""tf.contrib.learn's canned estimators: those of tf.estimator, with fit, and predictions by their older names."""

from millrace._canned.combined import DNNLinearCombinedClassifier as CombinedClassifier
from millrace._canned.combined import DNNLinearCombinedRegressor as CombinedRegressor
from millrace._canned.dnn import DNNClassifier as NetworkClassifier
from millrace._canned.dnn import DNNRegressor as NetworkRegressor
from millrace._canned.learn_estimator import BaseEstimator, core_config
from millrace._canned.linear import LinearClassifier as WeightedClassifier
from millrace._canned.linear import LinearRegressor as WeightedRegressor
from millrace._canned.linear import default_optimizer
from millrace._canned.optimizers import chosen_optimizer
from millrace._columns.older_layers import infer_real_valued_columns
from millrace._estimators.estimator import Estimator
from millrace._gen import relu
from millrace._graph.graph import Graph
from millrace._measures.losses import Reduction
from millrace._supervised.clipped import clip_gradients_by_norm

_MEAN = Reduction.SUM_OVER_BATCH_SIZE  # what the loss is over a batch


class _Canned(BaseEstimator):
    """What all canned estimators have in common.

    Args:
      made: the tf.estimator.Estimator, whose features are a dictionary.
      feature_engineering_fn: as for Estimator.
    """

    def __init__(self, made, feature_engineering_fn):
        def model_fn(features, labels, mode, config):
            # An array is the feature without a name.
            features = features if isinstance(features, dict) else {"": features}
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            return made.model_fn(features, labels, mode, config)

        super().__init__(Estimator(model_fn, config=made.config))

    def _predicted(self, key, x, input_fn, batch_size, as_iterable):
        """The predictions of one name, an example at a time or as one array."""
        found = super().predict(x, input_fn, batch_size, [key], as_iterable)
        return (each[key] for each in found) if as_iterable else found[key]


class _Classifier(_Canned):
    """What classifiers have beside: the class of an example, and the probabilities of all.

    Args:
      made, feature_engineering_fn: as for _Canned.
      label_keys: the labels if they are strings, else None.
    """

    def __init__(self, made, feature_engineering_fn, label_keys):
        super().__init__(made, feature_engineering_fn)
        self._class_key = "class_ids" if label_keys is None else "classes"

    def predict(
        self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True, **kwargs
    ):
        """The class of each example; with `outputs` dictionaries, as Estimator.predict."""
        if not outputs:
            return self.predict_classes(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, **kwargs)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The class of each example: a number, or one of label_keys as bytes."""
        found = self._predicted(self._class_key, x, input_fn, batch_size, as_iterable)
        return (each[0] for each in found) if as_iterable else found[:, 0]

    def predict_proba(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The probabilities of all classes, for each example."""
        return self._predicted("probabilities", x, input_fn, batch_size, as_iterable)


class _Regressor(_Canned):
    """What regressors have beside: numbers for each example."""

    def predict(
        self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True, **kwargs
    ):
        """The number of each example, or several; with `outputs` dictionaries, as Estimator.predict."""
        if not outputs:
            return self.predict_scores(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, **kwargs)

    def predict_scores(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The number of each example; a vector of them with a label_dimension above 1."""
        found = self._predicted("predictions", x, input_fn, batch_size, as_iterable)
        if as_iterable:
            return (each[0] if each.shape == (1,) else each for each in found)
        return found[:, 0] if found.shape[1:] == (1,) else found


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


class LinearClassifier(_Classifier):
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


class LinearRegressor(_Regressor):
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


class DNNClassifier(_Classifier):
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


class DNNRegressor(_Regressor):
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


class DNNLinearCombinedClassifier(_Classifier):
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


class DNNLinearCombinedRegressor(_Regressor):
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
