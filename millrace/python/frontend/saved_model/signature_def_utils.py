"""tf.saved_model.signature_def_utils: signatures made and checked."""

from millrace._saved_models.signatures import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
    supervised_eval_signature_def,
    supervised_train_signature_def,
)
