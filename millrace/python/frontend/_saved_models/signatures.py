"""SignatureDefs: uses of a graph, and which of them a server understands."""

from millrace._graph.conversion import constant_value
from millrace._graph.operation import Tensor
from millrace._saved_models import signature_names as names
from millrace._saved_models.tensor_infos import (
    build_tensor_info,
    build_tensor_info_from_op,
    get_element_from_tensor_info,
)
from millrace._saving.graph_messages import tensor_message
from millrace._saving.model_messages import SignatureDef
from millrace._values import dtypes, errors

_STRING = dtypes.string.as_datatype_enum
_FLOAT = dtypes.float32.as_datatype_enum


def build_signature_def(inputs=None, outputs=None, method_name=None, defaults=None):
    """A SignatureDef.

    Args:
      inputs, outputs: dictionaries of TensorInfos.
      method_name: how it is served.
      defaults: a dictionary of Tensors that are constants, for inputs that may be left out.

    Raises:
      ValueError: if a default is no constant.
    """
    made = SignatureDef()
    made.inputs.update(inputs or {})
    made.outputs.update(outputs or {})
    if method_name is not None:
        made.method_name = method_name
    for name, tensor in (defaults or {}).items():
        if getattr(getattr(tensor, "op", None), "type", None) != "Const":
            raise ValueError(
                f"Unable to convert object {tensor} of type {type(tensor)} to TensorProto."
            )
        made.defaults[name] = tensor_message(constant_value(tensor), tensor.dtype)
    return made


def _check_examples(examples, what):
    if examples is None:
        raise ValueError(f"{what} `examples` cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError(
            f"Expected {what.lower()} `examples` to be of type Tensor. Found `examples` of type "
            f"{type(examples)}."
        )
    return _checked(examples, _STRING, f"{what} input tensors must be of type string.")


def _checked(tensor, dtype, rule):
    info = build_tensor_info(tensor)
    if info.dtype != dtype:
        raise ValueError(f"{rule} Found tensors with type {tensor.dtype.name}.")
    return info


def regression_signature_def(examples, predictions):
    """The signature of a model that gives a number for each serialized tf.train.Example.

    Args:
      examples: a string Tensor.
      predictions: a float Tensor.

    Raises:
      ValueError: if one is missing or of another type.
    """
    inputs = {names.REGRESS_INPUTS: _check_examples(examples, "Regression")}
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    rule = "Regression output tensors must be of type float."
    outputs = {names.REGRESS_OUTPUTS: _checked(predictions, _FLOAT, rule)}
    return build_signature_def(inputs, outputs, names.REGRESS_METHOD_NAME)


def classification_signature_def(examples, classes, scores):
    """The signature of a model that gives classes for each serialized tf.train.Example.

    Args:
      examples: a string Tensor.
      classes: a string Tensor with their names, or None.
      scores: a float Tensor, or None.

    Raises:
      ValueError: if both are missing, or one is of another type.
    """
    inputs = {names.CLASSIFY_INPUTS: _check_examples(examples, "Classification")}
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    outputs = {}
    if classes is not None:
        rule = "Classification classes must be of type string Tensor."
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _checked(classes, _STRING, rule)
    if scores is not None:
        rule = "Classification scores must be a float Tensor."
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _checked(scores, _FLOAT, rule)
    return build_signature_def(inputs, outputs, names.CLASSIFY_METHOD_NAME)


def predict_signature_def(inputs, outputs):
    """The signature of a model from any Tensors to any Tensors.

    Args:
      inputs, outputs: dictionaries of Tensors.

    Raises:
      ValueError: if one is empty.
    """
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def _infos(tensors):
    return {name: build_tensor_info(tensor) for name, tensor in tensors.items()}


def supervised_train_signature_def(inputs, loss, predictions=None, metrics=None):
    """The signature of a training step; all arguments are dictionaries of Tensors."""
    return _supervised(names.SUPERVISED_TRAIN_METHOD_NAME, inputs, loss, predictions, metrics)


def supervised_eval_signature_def(inputs, loss, predictions=None, metrics=None):
    """The signature of an evaluation; all arguments are dictionaries of Tensors."""
    return _supervised(names.SUPERVISED_EVAL_METHOD_NAME, inputs, loss, predictions, metrics)


def _supervised(method_name, inputs, *outputs):
    if not inputs:
        raise ValueError(f"{method_name} `inputs` cannot be None or empty.")
    found = {}
    for group in outputs:
        found.update(_infos(group or {}))
    return build_signature_def(_infos(inputs), found, method_name)


# How each method of serving names what goes in and out, and of which type that is.
_SERVED = {
    names.CLASSIFY_METHOD_NAME: (
        {names.CLASSIFY_INPUTS: _STRING},
        {names.CLASSIFY_OUTPUT_CLASSES: _STRING, names.CLASSIFY_OUTPUT_SCORES: _FLOAT},
    ),
    names.REGRESS_METHOD_NAME: (
        {names.REGRESS_INPUTS: _STRING},
        {names.REGRESS_OUTPUTS: _FLOAT},
    ),
}


def is_valid_signature(signature_def):
    """Whether a model server can serve it."""
    if signature_def is None or not signature_def.inputs or not signature_def.outputs:
        return False
    if signature_def.method_name == names.PREDICT_METHOD_NAME:
        return True
    if signature_def.method_name not in _SERVED:
        return False
    inputs, outputs = _SERVED[signature_def.method_name]
    return set(signature_def.inputs) == set(inputs) and all(
        types.get(name) == info.dtype
        for types, infos in ((inputs, signature_def.inputs), (outputs, signature_def.outputs))
        for name, info in infos.items()
    )


def op_signature_def(op, key):
    """A SignatureDef that names an Operation or Tensor, as its output `key`."""
    return build_signature_def(outputs={key: build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def, key, import_scope=None):
    """The Operation or Tensor that op_signature_def named. NotFoundError if it is not in the graph."""
    try:
        return get_element_from_tensor_info(signature_def.outputs[key], import_scope=import_scope)
    except (KeyError, ValueError):
        raise errors.NotFoundError(
            None,
            None,
            f'The key "{key}" could not be found in the graph: it names '
            f"'{signature_def.outputs[key].name}'. No signature of a program's own may go by it",
        ) from None
