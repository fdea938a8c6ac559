"""tf.saved_model.builder."""

from millrace._saved_models.builder import SavedModelBuilder
