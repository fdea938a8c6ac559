"""What canned estimators of tf.contrib.learn predict, by the older names, over those of tf.estimator."""

from millrace._canned.learn_estimator import BaseEstimator
from millrace._canned.learn_modes import PredictionKey
from millrace._estimators.estimator import Estimator
from millrace._ops.arrays import squeeze


class Canned(BaseEstimator):
    """What all canned estimators have in common.

    Args:
      made: the tf.estimator.Estimator, whose features are a dictionary.
      feature_engineering_fn: as for Estimator.
      renamed: a function of its predictions that gives those by their older names.
    """

    def __init__(self, made, feature_engineering_fn, renamed):
        def model_fn(features, labels, mode, config):
            # An array is the feature without a name.
            features = features if isinstance(features, dict) else {"": features}
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            spec = made.model_fn(features, labels, mode, config)
            # In training there may be none.
            return spec._replace(predictions=spec.predictions and renamed(spec.predictions))

        super().__init__(Estimator(model_fn, config=made.config))

    def _predicted(self, key, x, input_fn, batch_size, as_iterable):
        """The predictions of one name, an example at a time or as one array."""
        found = super().predict(x, input_fn, batch_size, [key], as_iterable)
        return (each[key] for each in found) if as_iterable else found[key]


def _scores(predictions):
    found = predictions["predictions"]
    return {PredictionKey.SCORES: squeeze(found, [1]) if found.shape[1:] == [1] else found}


class Classifier(Canned):
    """What classifiers have beside: the class of an example, and the probabilities of all.

    Predictions are "classes" of shape [batch], "probabilities", "logits", and of two classes "logistic".

    Args:
      made, feature_engineering_fn: as for Canned.
      label_keys: the labels if they are strings, else None.
    """

    def __init__(self, made, feature_engineering_fn, label_keys):
        numbers_or_words = "class_ids" if label_keys is None else "classes"

        def renamed(predictions):
            kept = (PredictionKey.LOGITS, PredictionKey.PROBABILITIES, PredictionKey.LOGISTIC)
            found = {key: predictions[key] for key in kept if key in predictions}
            return {**found, PredictionKey.CLASSES: squeeze(predictions[numbers_or_words], [1])}

        super().__init__(made, feature_engineering_fn, renamed)

    def predict(
        self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True, **kwargs
    ):
        """The class of each example; with `outputs` dictionaries, as Estimator.predict."""
        if not outputs:
            return self.predict_classes(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, **kwargs)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The class of each example: a number, or one of label_keys as bytes."""
        return self._predicted(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The probabilities of all classes, for each example."""
        return self._predicted(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class Regressor(Canned):
    """What regressors have beside: numbers for each example, the predictions "scores"."""

    def __init__(self, made, feature_engineering_fn):
        super().__init__(made, feature_engineering_fn, _scores)

    def predict(
        self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True, **kwargs
    ):
        """The number of each example, or several; with `outputs` dictionaries, as Estimator.predict."""
        if not outputs:
            return self.predict_scores(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, **kwargs)

    def predict_scores(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The number of each example; a vector of them with a label_dimension above 1."""
        return self._predicted(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)
