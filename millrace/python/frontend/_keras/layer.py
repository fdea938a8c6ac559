"""Layer: tf.layers' with Keras's names, whose calls are remembered."""

import inspect

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._keras import activations, calls, constraints, masks, named, sessions
from millrace._keras.settings import image_data_format
from millrace._layers import layer as plain
from millrace._ops.arrays import placeholder
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape


class _Names:
    """How many objects of a graph have a name, before its number."""

    def __init__(self):
        self.counts = {}


def unique_name(base, first=0):
    """ "dense", "dense_1", ...: the first has a number if `first` is 1."""
    counts = get_default_graph().own(_Names).counts
    number = counts.get(base, first)
    counts[base] = number + 1
    return f"{base}_{number}" if number else base


class Layer(plain.Layer):
    """The base of Keras's layers: those of tf.layers with other defaults.

    Variables are resource variables, named after the layer. Losses and updates stay with the layer:
    `losses` and `updates`. Initializers, regularizers and activations may be given by name. Where a
    class's `call` takes `training`, it gets whether the model trains; where it takes `mask`, it gets
    which times of its inputs are there, if something before it said so.

    Args:
      trainable, name, dtype, activity_regularizer: as for tf.layers.Layer.
      input_shape: for the first layer of a Sequential: the shape of the inputs without the batch.
      batch_input_shape: the same with the batch; input_dim: the same for vectors.

    Attributes:
      supports_masking: whether its outputs have the mask that `compute_mask` gives.
    """

    supports_masking = False

    def __init__(self, *args, **kwargs):
        self.batch_input_shape = _batch_input_shape(kwargs)
        for key, value in kwargs.items():
            if key.endswith("_initializer"):
                kwargs[key] = named.initializer(value)
            elif key.endswith("_regularizer"):
                kwargs[key] = named.regularizer(value)
            elif key.endswith("_constraint"):
                kwargs[key] = constraints.get(value)
            elif key.endswith("activation"):
                kwargs[key] = activations.get(value)
            elif key == "data_format" and value is None:
                kwargs[key] = image_data_format()
        if kwargs.get("name") is None:
            kwargs["name"] = unique_name(_base_of(type(self).__name__))
        super().__init__(*args, **kwargs)
        taken = inspect.signature(self.call).parameters
        self.takes_training, self.takes_mask = "training" in taken, "mask" in taken
        self._calls = []

    def add_weight(
        self,
        name=None,
        shape=(),
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=True,
        constraint=None,
        use_resource=True,
        partitioner=None,
        **unknown,
    ):
        """A new variable; see tf.layers.Layer.add_weight."""
        trainable = True if trainable is None else trainable
        made = super().add_weight(
            name or "variable",
            shape,
            dtype=dtype,
            initializer=named.initializer(initializer),
            regularizer=named.regularizer(regularizer),
            trainable=trainable,
            constraint=constraints.get(constraint),
            use_resource=True if use_resource is None else use_resource,
            partitioner=partitioner,
        )
        sessions.track([made])
        return made

    add_variable = add_weight

    def add_loss(self, losses, inputs=None):
        """Adds scalar Tensors, or functions that give them, to the losses."""
        for loss in structure.flatten(losses):
            loss = loss() if callable(loss) else loss
            if loss is not None:
                self._losses.append(convert(loss))

    def collect_updates(self):
        """Updates stay with the layer: models run them."""

    def __call__(self, inputs, *args, **kwargs):
        """The outputs of `call`."""
        given = dict(kwargs)
        if self.takes_training and not args and kwargs.get("training") is None:
            given["training"] = sessions.learning_phase()
        found = masks.masks_of(inputs)
        if self.takes_mask and not args and kwargs.get("mask") is None and found is not None:
            given["mask"] = found
        outputs = super().__call__(inputs, *args, **given)
        taken = [each for each in structure.flatten(inputs) if isinstance(each, Tensor)]
        outputs = structure.map_structure(lambda made: _new(made, taken), outputs)
        if self.supports_masking or type(self).compute_mask is not Layer.compute_mask:
            masks.give(outputs, self.compute_mask(inputs, given.get("mask", found)))
        if taken and all(map(calls.is_remembered, taken)) and not args:
            self._calls.append(calls.remember(self, inputs, kwargs, outputs))
        return outputs

    def compute_mask(self, inputs, mask=None):
        """The mask of the outputs for inputs with this one: the same, if the class supports masks.

        Args:
          inputs: what it is called with; mask: bools of shape [batch, time], None, or a list of these.
        """
        if not isinstance(mask, list):
            return mask
        # Of several inputs: what all of them have.
        found = [each for each in mask if each is not None]
        made = found[0] if found else None
        for each in found[1:]:
            made = gen_ops.logical_and(made, each)
        return made

    # ---- What programs ask -----------------------------------------------------------------------

    def get_weights(self):
        """The values of all variables, a list of arrays."""
        return sessions.batch_get_value(self.weights)

    def set_weights(self, weights):
        """Gives all variables values, in the order of get_weights. ValueError if they do not fit."""
        held = self.weights
        if len(held) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of '
                f"length {len(weights)}, but the layer was expecting {len(held)} weights."
            )
        for variable, value in zip(held, weights):
            if variable.shape.as_list() != list(value.shape):
                raise ValueError(
                    f"Layer weight shape {variable.shape} not compatible with provided weight shape "
                    f"{value.shape}"
                )
        sessions.batch_set_value(zip(held, weights))

    def _only_call(self, what):
        if len(self._calls) != 1:
            raise AttributeError(
                f"Layer {self.name} has {len(self._calls)} inbound nodes, hence the notion of "
                f'"layer {what}" is ill-defined.'
            )
        return self._calls[0]

    @property
    def input(self):
        """What its only call was given. AttributeError if there were none or several."""
        return self._only_call("input").inputs

    @property
    def output(self):
        """What its only call gave. AttributeError if there were none or several."""
        return self._only_call("output").outputs

    @property
    def input_shape(self):
        return structure.map_structure(_static_shape, self.input)

    @property
    def output_shape(self):
        return structure.map_structure(_static_shape, self.output)

    def get_config(self):
        """{name: value} of what all layers have."""
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        if self.batch_input_shape is not None:
            config["batch_input_shape"] = self.batch_input_shape
        return config


def _static_shape(tensor):
    return tuple(tensor.shape.as_list())


def _new(made, taken):
    return gen_ops.identity(made) if any(made is each for each in taken) else made


def _base_of(class_name):
    return plain.snake_case(class_name)


def _batch_input_shape(kwargs):
    """The shape of inputs that a layer's arguments say, which are taken from them; or None."""
    whole = kwargs.pop("batch_input_shape", None)
    shape = kwargs.pop("input_shape", None)
    size = kwargs.pop("input_dim", None)
    batch = kwargs.pop("batch_size", None)
    if whole is not None:
        return tuple(whole)
    if shape is None and size is not None:
        shape = (size,)
    return None if shape is None else (batch, *shape)


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
    if sparse:
        raise NotImplementedError(
            "sparse inputs of models: use tf.sparse_placeholder and tf.layers"
        )
    if tensor is None:
        if (shape is None) == (batch_shape is None):
            raise ValueError("Please provide to Input either a `shape` or a `batch_shape`.")
        whole = batch_shape if shape is None else [batch_size, *TensorShape(shape).as_list()]
        name = name or unique_name("input", 1)
        tensor = placeholder(dtype or "float32", whole, name=name)
    calls.remember(None, [], {}, tensor)
    return tensor


class InputLayer(Layer):
    """A model's input as a layer: the first one of a Sequential.

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
        name = name or unique_name("input", 1)
        super().__init__(name=name, dtype=dtype)
        self.tensor = Input(
            input_shape, batch_size, name, dtype, sparse, input_tensor, batch_input_shape
        )
        self.batch_input_shape = _static_shape(self.tensor)
        self.built = True

    @property
    def input(self):
        return self.tensor

    @property
    def output(self):
        return self.tensor
