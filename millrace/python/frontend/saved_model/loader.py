"""tf.saved_model.loader."""

from millrace._saved_models.loader import load, maybe_saved_model_directory
