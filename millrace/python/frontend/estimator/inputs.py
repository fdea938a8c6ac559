"""tf.estimator.inputs: arrays as input."""

from millrace._estimators.array_inputs import numpy_input_fn, pandas_input_fn
