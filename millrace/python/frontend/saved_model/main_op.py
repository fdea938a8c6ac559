"""tf.saved_model.main_op: Operations to run when a SavedModel was loaded."""

from millrace._saved_models.loader import main_op, main_op_with_restore
