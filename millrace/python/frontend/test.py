"""tf.test: what tests of programs use."""

from millrace._run.numeric_gradients import compute_gradient, compute_gradient_error
