"""Keras's models as scikit-learn's estimators, which need nothing of scikit-learn's."""

import copy
import inspect

import numpy as np

from millrace._keras import losses, loss_objects
from millrace._keras.sequential import Sequential
from millrace._samples.arrays import to_categorical


# Losses of labels that are vectors with a one.
_OF_VECTORS = (
    losses.categorical_crossentropy.__name__,
    loss_objects.CategoricalCrossentropy.__name__,
)


class BaseWrapper:
    """A function that builds and compiles a model, with its settings, as an estimator.

    Args:
      build_fn: the function or callable object; None for a class that defines `__call__` itself.
      **sk_params: arguments of it, and of fit, predict and evaluate, by name.

    Raises:
      ValueError: for a name that none of these takes.
    """

    def __init__(self, build_fn=None, **sk_params):
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def _builder(self):
        return self.__call__ if self.build_fn is None else self.build_fn

    def check_params(self, params):
        """ValueError if a name is no argument of any of the functions."""
        known = set()
        for function in (
            self._builder(),
            Sequential.fit,
            Sequential.predict,
            Sequential.predict_classes,
            Sequential.evaluate,
        ):
            taken = inspect.signature(function).parameters.values()
            if function is self._builder() and any(p.kind is p.VAR_KEYWORD for p in taken):
                return
            known.update(each.name for each in taken)
        for name in params:
            if name not in known and name != "nb_epoch":
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **unused):
        """{name: value} of the settings, the function among them."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params):
        """Changes settings. ValueError for names that are not known."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def filter_sk_params(self, function, override=None):
        """The settings that a function takes, and those in `override`."""
        taken = inspect.signature(function).parameters
        return {**{k: v for k, v in self.sk_params.items() if k in taken}, **(override or {})}

    def fit(self, x, y, **kwargs):
        """Builds the model and trains it; the History."""
        self.model = self._builder()(**self.filter_sk_params(self._builder()))
        loss = self.model.loss
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
        if name in _OF_VECTORS and np.ndim(y) != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **{**self.filter_sk_params(self.model.fit), **kwargs})


class KerasClassifier(BaseWrapper):
    """A model of classes. After fit, `classes_` has the labels, `n_classes_` their number."""

    def fit(self, x, y, **kwargs):
        """Builds the model and trains it.

        Args:
          x: samples; y: a label for each, or vectors with a one; **kwargs: for Sequential.fit.

        Returns:
          the History. ValueError for labels of another shape.
        """
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or y.ndim == 2 and y.shape[1] == 1:
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x, **kwargs):
        """The label of each sample."""
        given = self.filter_sk_params(Sequential.predict_classes, kwargs)
        return self.classes_[self.model.predict_classes(x, **given)]

    def predict_proba(self, x, **kwargs):
        """The probability of each class for each sample, of shape [samples, classes]."""
        made = self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs))
        return np.hstack([1 - made, made]) if made.shape[1] == 1 else made

    def score(self, x, y, **kwargs):
        """The share of samples with the right label."""
        return float(np.mean(np.ravel(self.predict(x, **kwargs)) == np.ravel(self._labels(y))))

    def _labels(self, y):
        y = np.asarray(y)
        return self.classes_[y.argmax(1)] if y.ndim == 2 and y.shape[1] > 1 else y


class KerasRegressor(BaseWrapper):
    """A model of numbers."""

    def predict(self, x, **kwargs):
        """The number for each sample."""
        return np.squeeze(
            self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs))
        )

    def score(self, x, y, **kwargs):
        """The loss of samples, negative: more is better."""
        made = self.model.evaluate(
            x, y, **self.filter_sk_params(Sequential.evaluate, {"verbose": 0, **kwargs})
        )
        return -float(made[0] if isinstance(made, list) else made)
