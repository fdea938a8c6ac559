"""tf.contrib.keras: where tf.keras was before TensorFlow 1.4; the same modules."""

from millrace.keras import (
    activations,
    applications,
    backend,
    callbacks,
    constraints,
    datasets,
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
