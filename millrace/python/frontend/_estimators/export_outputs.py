"""What an exported model gives, as signatures say it; what it is given, as receivers do."""

from typing import NamedTuple

from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arrays import placeholder
from millrace._ops.parsing import parse_example
from millrace._saved_models import signature_names
from millrace._saved_models.signatures import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from millrace._values import dtypes

_FEATURE = "feature"
_RECEIVER = "input"


class ExportOutput:
    """One use of a model, as its signature."""

    def as_signature_def(self, receiver_tensors):
        """The SignatureDef, for inputs that are {name: Tensor}."""
        raise NotImplementedError(f"{type(self).__name__} has no as_signature_def()")


def _only(receiver_tensors, what):
    if len(receiver_tensors) != 1:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    (tensor,) = receiver_tensors.values()
    if tensor.dtype != dtypes.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return tensor


def _checked(tensor, name, is_right, what):
    if tensor is not None and not (isinstance(tensor, Tensor) and is_right(tensor.dtype)):
        raise ValueError(f"{name} must be a {what} Tensor; got {tensor}")
    return tensor


class ClassificationOutput(ExportOutput):
    """Classes and their scores.

    Args:
      scores: a floating Tensor, or None; classes: a string Tensor with their names, or None.

    Raises:
      ValueError: for other types, or if both are None.
    """

    def __init__(self, scores=None, classes=None):
        self.scores = _checked(
            scores, "Classification scores", lambda dtype: dtype.is_floating, "float32"
        )
        self.classes = _checked(
            classes, "Classification classes", lambda dtype: dtype == dtypes.string, "string"
        )
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")

    def as_signature_def(self, receiver_tensors):
        examples = _only(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """A number for each example.

    Args:
      value: a floating Tensor.
    """

    def __init__(self, value):
        if value is None:
            raise ValueError("Regression output value must be a float32 Tensor; got None")
        self.value = _checked(
            value, "Regression output value", lambda dtype: dtype.is_floating, "float32"
        )

    def as_signature_def(self, receiver_tensors):
        return regression_signature_def(_only(receiver_tensors, "Regression"), self.value)


class PredictOutput(ExportOutput):
    """Any Tensors.

    Args:
      outputs: a Tensor, or a dictionary of Tensors.
    """

    def __init__(self, outputs):
        if not isinstance(outputs, dict):
            outputs = {"output": outputs}
        for name, tensor in outputs.items():
            if not isinstance(name, str):
                raise ValueError(f"Prediction output name must be a string; got {name!r}")
            if not isinstance(tensor, (Tensor, SparseTensor)):
                raise ValueError(f"Prediction outputs must be Tensors; {name} is {tensor!r}")
        self.outputs = outputs

    def as_signature_def(self, receiver_tensors):
        return predict_signature_def(receiver_tensors, self.outputs)


def checked_outputs(export_outputs, predictions):
    """{name: ExportOutput} with a default among them.

    Raises:
      TypeError: for other values; ValueError: if none of several is the default.
    """
    default = signature_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        export_outputs = {default: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
            )
    if len(export_outputs) == 1 and default not in export_outputs:
        (only,) = export_outputs.values()
        export_outputs = {**export_outputs, default: only}
    if len(export_outputs) > 1 and default not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default. Do "
            "this by naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs


def signatures_of(receiver, export_outputs):
    """{name: SignatureDef}: each output for the receiver's Tensors, and for their alternatives.

    What an output cannot take (a classification, anything but texts) has no signature.
    """
    groups = {None: receiver.receiver_tensors}
    groups.update(receiver.receiver_tensors_alternatives or {})
    made, unfit = {}, {}
    for group, tensors in groups.items():
        for name, output in export_outputs.items():
            key = name if group is None else f"{group}:{name}"
            try:
                made[key] = output.as_signature_def(tensors)
            except ValueError as error:
                unfit[key] = error
    if not made:
        raise ValueError(f"no output can be served: {unfit}")
    return made


class ServingInputReceiver(
    NamedTuple(
        "ServingInputReceiver",
        [
            ("features", object),
            ("receiver_tensors", dict),
            ("receiver_tensors_alternatives", object),
        ],
    )
):
    """What an exported model is given, and the features that its function gets of it.

    Args:
      features: a Tensor or SparseTensor, or a dictionary of them.
      receiver_tensors: the Tensors that are fed: one, or a dictionary.
      receiver_tensors_alternatives: {name: Tensors to feed instead}.

    Raises:
      ValueError: for what is none of these.
    """

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        if features is None:
            raise ValueError("features must be defined.")
        if receiver_tensors is None:
            raise ValueError("receiver_tensors must be defined.")
        features = _tensors(features, _FEATURE, (Tensor, SparseTensor))
        receiver_tensors = _tensors(receiver_tensors, _RECEIVER, (Tensor,))
        if receiver_tensors_alternatives is not None:
            if not isinstance(receiver_tensors_alternatives, dict):
                raise ValueError(
                    "receiver_tensors_alternatives must be a dict: "
                    f"{receiver_tensors_alternatives}."
                )
            receiver_tensors_alternatives = {
                name: _tensors(value, f"{_RECEIVER}:{name}", (Tensor,))
                for name, value in receiver_tensors_alternatives.items()
            }
        return super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)


class TensorServingInputReceiver(ServingInputReceiver):
    """The same for a model's function that takes its features as one Tensor."""

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        if not isinstance(features, (Tensor, SparseTensor)):
            raise ValueError("feature must be a Tensor or SparseTensor.")
        made = super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)
        return tuple.__new__(cls, (features, *made[1:]))


def _tensors(given, default_name, kinds):
    if not isinstance(given, dict):
        given = {default_name: given}
    for name, tensor in given.items():
        if not isinstance(name, (str, int)):
            raise ValueError(f"{default_name} keys must be strings or ints: {name!r}.")
        if not isinstance(tensor, kinds):
            raise ValueError(
                f"{default_name} {name} must be a {' or '.join(kind.__name__ for kind in kinds)}."
            )
    return dict(given)


def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """A function that makes a ServingInputReceiver whose features are fed as they are.

    Args:
      features: a dictionary of Tensors with the types and shapes to feed, the first size a batch's.
      default_batch_size: how many are fed at once; any number if None.
    """

    def serving_input_receiver_fn():
        return _fed(features, default_batch_size)

    return serving_input_receiver_fn


def _fed(features, batch_size):
    if not isinstance(features, dict):
        features = {_FEATURE: features}
    receivers = {}
    for name, tensor in features.items():
        tensor = convert(tensor)
        shape = tensor.shape.as_list()
        shape[0] = batch_size
        receivers[name] = placeholder(tensor.dtype.base_dtype, shape, name=tensor.op.name)
    return ServingInputReceiver(receivers, receivers)


def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """A function that makes a ServingInputReceiver for serialized tf.train.Examples.

    Args:
      feature_spec: what tf.parse_example takes for `features`.
      default_batch_size: how many are fed at once; any number if None.
    """

    def serving_input_receiver_fn():
        texts = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(texts, feature_spec), {"examples": texts})

    return serving_input_receiver_fn
