"""Layer: tf.layers' with Keras's names, whose calls are remembered."""

import inspect

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._keras import (
    activations,
    calls,
    composed,
    configs,
    constraints,
    masks,
    named,
    objects,
    sessions,
)
from millrace._keras.settings import image_data_format
from millrace._layers import layer as plain
from millrace._state.object_names import unique_name
from millrace._state.regularized import LossOfCopies
from millrace._values import structure


class Layer(composed.Composed):
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
    _suffix = ""
    _has_losses_of_its_own = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and _is_ours(cls):
            cls.__init__ = configs.recorded(cls.__init__)

    @configs.recorded
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
            (name or "variable") + self._suffix,
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
                self._losses.append(loss if isinstance(loss, LossOfCopies) else convert(loss))

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
        if self.makes_masks:
            masks.give(outputs, self.compute_mask(inputs, given.get("mask", found)))
        if taken and all(map(calls.is_remembered, taken)) and not args:
            self._calls.append(calls.remember(self, inputs, kwargs, outputs))
        return outputs

    @property
    def makes_masks(self):
        """Whether what compute_mask gives is the mask of its outputs."""
        return self.supports_masking or type(self).compute_mask is not Layer.compute_mask

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

    def number_of(self, call):
        """Which of its calls a calls.Call is, from 0 on. ValueError if it is none of them."""
        return self._calls.index(call)

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
        return structure.map_structure(static_shape, self.input)

    @property
    def output_shape(self):
        return structure.map_structure(static_shape, self.output)

    def get_config(self):
        """{name: value} of its settings, in plain values: what from_config makes a layer like it of.

        A class of a program's own adds what its __init__ takes beyond those of its base.

        Raises:
          NotImplementedError: for a class whose __init__ takes more than this says.
        """
        if type(self).get_config is Layer.get_config and not _is_ours(type(self)):
            _check_says_all(type(self))
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        if self.batch_input_shape is not None:
            config["batch_input_shape"] = list(self.batch_input_shape)
        return {**config, **configs.config_of(self)}

    @classmethod
    def from_config(cls, config):
        """A layer of the settings that get_config gave; with variables of its own."""
        return cls(**{name: _setting(name, value) for name, value in config.items()})

    def copy(self, **changed):
        """A layer with the same settings, some of them changed, and variables of its own."""
        own = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        if self.batch_input_shape is not None:
            own["batch_input_shape"] = self.batch_input_shape
        if not _is_ours(type(self)):
            return type(self).from_config({**self.get_config(), **changed})
        given = {name: _copied(value) for name, value in self.given_settings.items()}
        return type(self)(**{**given, **own, **changed})

    def build_within(self, scope, input_shape, suffix=""):
        """Makes its variables, if there are none yet, for inputs of a shape, in a VariableScope, with
        names that end as told."""
        if not self.built:
            self._open_scope(scope)
            self._suffix = suffix
            self.build(input_shape)
            self.built = True


def _is_ours(kind):
    return kind.__module__.startswith(__package__)


def _check_says_all(kind):
    """NotImplementedError if a program's own class takes settings that no get_config says. One that derives
    from a layer with settings has that layer's get_config, and says no more."""
    ours = next(each for each in kind.__mro__ if _is_ours(each))
    if configs.has_settings(ours):
        return
    for each in kind.__mro__:
        if _is_ours(each):
            return
        if "__init__" not in vars(each):
            continue
        _, *taken = inspect.signature(each.__init__).parameters.values()
        own = [
            one.name
            for one in taken
            if one.name not in ("name", "trainable", "dtype")
            and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        ]
        if own:
            raise NotImplementedError(
                f"Layers with arguments in `__init__` must override `get_config`: {kind.__name__} "
                f"takes {own}"
            )


def _copied(value):
    """A setting for another layer: layers among it have variables of their own."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value)) if type(value) in (list, tuple) else value
    return value.copy() if isinstance(value, Layer) else value


def known_layers():
    """{name: class} of Keras's layers and models."""
    found, waiting = {}, [Layer]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if _is_ours(kind) and not kind.__name__.startswith("_"):
            found[kind.__name__] = kind
    return found


def serialize(layer):
    """{"class_name", "config"} of a layer or model."""
    return objects.serialize(layer)


def deserialize(config, custom_objects=None):
    """The layer or model that serialize was given, with variables of its own.

    Args:
      config: {"class_name", "config"}; custom_objects: {name: class or function} of the program's own.

    Raises:
      ValueError: for unknown names; TypeError: for settings that the class does not take.
    """
    return objects.deserialize(config, known_layers(), custom_objects, "layer")


def _setting(name, value):
    """A setting of get_config as __init__ takes it: layers are made again; of others, names will do."""
    if isinstance(value, list) and any(map(_is_layer, value)):
        return [_setting(name, each) for each in value]
    has_get = name.endswith(("_initializer", "_regularizer", "_constraint", "activation"))
    return deserialize(value) if _is_layer(value) and not has_get else value


def _is_layer(value):
    return isinstance(value, dict) and {"class_name", "config"} <= value.keys()


def static_shape(tensor):
    """The shape of a Tensor as a tuple, None for sizes that are not known."""
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
