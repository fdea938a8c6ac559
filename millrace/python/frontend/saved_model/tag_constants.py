"""tf.saved_model.tag_constants: the tags by which graphs are commonly found."""

from millrace._saved_models.tags import EVAL, GPU, SERVING, TPU, TRAINING
