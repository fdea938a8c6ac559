"""tf.saved_model: graphs, variables, files and signatures in one folder, written and loaded."""

from millrace._saved_models.builder import SavedModelBuilder, simple_save
from millrace._saved_models.builder import SavedModelBuilder as Builder
from millrace._saved_models.constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from millrace._saved_models.loader import (
    contains_saved_model,
    load,
    main_op_with_restore,
    maybe_saved_model_directory,
)
from millrace._saved_models.signature_names import (
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_INPUTS,
    PREDICT_METHOD_NAME,
    PREDICT_OUTPUTS,
    REGRESS_INPUTS,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)
from millrace._saved_models.signatures import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from millrace._saved_models.tags import GPU, SERVING, TPU, TRAINING
from millrace._saved_models.tensor_infos import build_tensor_info, get_tensor_from_tensor_info
from millrace.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
    utils,
)

__all__ = [name for name in globals() if not name.startswith("_")]
