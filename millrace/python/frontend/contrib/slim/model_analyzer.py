"""tf.contrib.slim.model_analyzer: how large models are."""

from millrace._layers.model_analyzer import analyze_ops, analyze_vars, tensor_description
