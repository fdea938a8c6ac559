"""tf.saved_model.utils: Tensors as TensorInfos."""

from millrace._saved_models.tensor_infos import build_tensor_info, get_tensor_from_tensor_info
