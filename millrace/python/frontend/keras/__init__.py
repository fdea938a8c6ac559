"""tf.keras as graphs of TensorFlow 1 use it: models of layers, which are trained in a session."""

from millrace._keras.inputs import Input
from millrace._keras.models import Model
from millrace._keras.sequential import Sequential
from millrace.keras import (
    activations,
    applications,
    backend,
    callbacks,
    constraints,
    datasets,
    estimator,
    experimental,
    initializers,
    layers,
    losses,
    metrics,
    models,
    optimizers,
    preprocessing,
    regularizers,
    utils,
    wrappers,
)
