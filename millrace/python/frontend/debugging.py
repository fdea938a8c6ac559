"""tf.debugging: checks that run with the graph."""

from millrace._flow.control_flow import Assert
from millrace._gen import is_finite
