"""Input and InputLayer: where models begin."""

from millrace._keras import calls
from millrace._keras.layer import Layer, static_shape
from millrace._keras.settings import floatx
from millrace._ops.arrays import placeholder
from millrace._state.object_names import unique_name
from millrace._values.tensor_shape import TensorShape


def Input(
    shape=None, batch_size=None, name=None, dtype=None, sparse=False, tensor=None, batch_shape=None
):
    """A model's input: a placeholder.

    Args:
      shape: the shape without the batch.
      batch_size: the size of the batch, if it is fixed.
      name: its name; "input_1", "input_2", ... by default.
      dtype: the type; float32 if None.
      sparse: must be False.
      tensor: a Tensor to be the input instead.
      batch_shape: the shape with the batch, instead of `shape`.

    Raises:
      ValueError: if there is no shape, or two; NotImplementedError: for sparse inputs.
    """
    if tensor is None and (shape is None) == (batch_shape is None):
        raise ValueError("Please provide to Input either a `shape` or a `batch_shape`.")
    if shape is not None:
        shape = TensorShape(shape).as_list()
    return InputLayer(shape, batch_size, dtype, tensor, sparse, name, batch_shape).tensor


class InputLayer(Layer):
    """A model's input as a layer: what Input makes, and the first one of a Sequential.

    Args:
      input_shape: the shape without the batch; batch_input_shape: the same with it.
      batch_size: the size of the batch, if it is fixed.
      dtype: the type; float32 if None.
      input_tensor: a Tensor to be the input instead.
      sparse: must be False.
      name: its name.

    Attributes:
      tensor: the input.
    """

    def __init__(
        self,
        input_shape=None,
        batch_size=None,
        dtype=None,
        input_tensor=None,
        sparse=False,
        name=None,
        batch_input_shape=None,
    ):
        if sparse:
            raise NotImplementedError(
                "sparse inputs of models: use tf.sparse_placeholder and tf.layers"
            )
        if input_tensor is None:
            if input_shape is None and batch_input_shape is None:
                raise ValueError("An input needs a shape: input_shape or batch_input_shape.")
            dtype = dtype or floatx()
        else:
            dtype = input_tensor.dtype.base_dtype
        super().__init__(name=name or unique_name("input", 1), dtype=dtype)
        whole = batch_input_shape if input_shape is None else [batch_size, *input_shape]
        if input_tensor is None:
            input_tensor = placeholder(self.dtype, whole, name=self.name)
        self.tensor = input_tensor
        if input_tensor.shape.ndims is not None:
            self.batch_input_shape = static_shape(input_tensor)
        self._calls.append(calls.remember(self, [], {}, input_tensor))
        self.built = True

    def get_config(self):
        return {
            "name": self.name,
            "dtype": self.dtype,
            "batch_input_shape": list(self.batch_input_shape),
            "sparse": False,
        }

    @property
    def input(self):
        return self.tensor

    @property
    def output(self):
        return self.tensor
