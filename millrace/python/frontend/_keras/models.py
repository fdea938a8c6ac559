"""Model and Sequential: layers that are trained together."""

import numpy as np

from millrace._graph.operation import Tensor
from millrace._keras import architectures, calls, composed, networks, saving, sessions
from millrace._keras.fitting import Fitted
from millrace._saving.saver import Saver
from millrace._values import structure


class Model(Fitted):
    """Layers between inputs and outputs, which compile, fit, evaluate and predict work on.

        x = tf.keras.Input([784])
        model = tf.keras.Model(x, tf.keras.layers.Dense(10, activation="softmax")(x))

    A class that derives from it may instead have layers as attributes and define `call(inputs)`; it is
    built when it is first called, or by its first data.

    Args:
      inputs: what tf.keras.Input gave, one or a list.
      outputs: what layers made of them, one or a list.
      name: its name.

    Attributes:
      layers: its layers, those of its inputs among them. Others: see Fitted.

    Raises:
      ValueError: if an output is not made of the inputs by layers.
    """

    _apart = (*Fitted._apart, "_path", "_given", "_made", "_savers", "inputs", "outputs")

    def __init__(self, inputs=None, outputs=None, name=None, **kwargs):
        self._listed, self._path, self._savers = [], None, {}
        super().__init__(name=name, **kwargs)
        if (inputs is None) != (outputs is None):
            raise ValueError("A model needs both inputs and outputs, or neither.")
        self._knows_inputs = inputs is not None
        if inputs is not None:
            self._connect(inputs, outputs)

    def _connect(self, inputs, outputs):
        self._given, self._made = inputs, outputs
        self.inputs, self.outputs = structure.flatten(inputs), structure.flatten(outputs)
        self._path = calls.between(inputs, outputs)
        for layer in calls.layers_of(self._path, inputs, outputs):
            self._add_layer(layer)
        self.built = True

    @property
    def layers(self):
        """Its layers: those between inputs and outputs, then others that are its attributes."""
        return self.inside()

    def _add_layer(self, layer):
        if not any(layer is each for each in self._listed):
            self._listed.append(layer)

    @property
    def output_names(self):
        """The names of the layers that give the outputs; with a number where one gives several."""
        names = []
        for tensor in self.outputs or []:
            made_by = [call.layer.name for call in self._path if tensor in _tensors(call.outputs)]
            name = made_by[-1] if made_by else tensor.op.name
            names.append(name if name not in names else f"{name}_{len(names)}")
        return names

    @property
    def input_names(self):
        """The names of the layers of its inputs."""
        made_by = [(calls.call_of(tensor), tensor) for tensor in self.inputs or []]
        return [call.layer.name if call else tensor.op.name for call, tensor in made_by]

    @property
    def output(self):
        """Its output; a list if there are several."""
        return self._needs_tensors().outputs[0] if len(self.outputs) == 1 else self.outputs

    @property
    def input(self):
        return self._needs_tensors().inputs[0] if len(self.inputs) == 1 else self.inputs

    def _needs_tensors(self):
        if self.inputs is None:
            raise AttributeError(f"Model {self.name} has no inputs yet: call it, or fit it, first.")
        return self

    def call(self, inputs, training=None):
        """What its layers make of other inputs; `training` is for those that take it."""
        if self._path is None:
            raise NotImplementedError(
                f"Model {self.name} has neither inputs and outputs nor a `call` of its own."
            )
        training = told_only(training)
        return calls.again(self._path, self._given, inputs, self._made, training=training)

    @property
    def begins_with_input(self):
        """Whether it knew its inputs before it was called."""
        return self._knows_inputs

    def get_config(self):
        """Its layers and how they are joined, in plain values: what from_config makes a model like it of.

        Raises:
          NotImplementedError: for a class with a `call` of its own; ValueError: if a call has arguments
            that are no plain values.
        """
        if not self._path:
            raise NotImplementedError(
                f"Model {self.name} has a `call` of its own, which cannot be written down: save_weights "
                "keeps the variables, and the program builds the model again."
            )
        return networks.config_of(self, self._path)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model of what get_config gave, with variables of its own.

        Args:
          config: the values; custom_objects: {name: class or function} of the program's own.

        Raises:
          ValueError: for unknown names, and calls of layers that are not there.
        """
        inputs, outputs = networks.tensors_of(config, custom_objects)
        inputs = inputs[0] if len(inputs) == 1 else inputs
        outputs = outputs[0] if len(outputs) == 1 else outputs
        return cls(inputs=inputs, outputs=outputs, name=config.get("name"))

    def made_again(self, cloning):
        """A model of what stands in the place of its inputs and layers; see architectures.clone_model."""
        if not self._path:
            raise ValueError(
                "Expected `model` argument to be a model between inputs and outputs: "
                f"{self.name} has a `call` of its own"
            )
        made, inputs = {}, cloning.inputs(self.inputs)

        def in_place_of(layer):
            if layer not in made:
                made[layer] = cloning.layer(layer)
            return made[layer]

        outputs = calls.again(self._path, self.inputs, inputs, self._made, in_place_of)
        inputs = inputs[0] if len(inputs) == 1 else inputs
        # A class of a program's own may take other arguments.
        return Model(inputs=inputs, outputs=outputs, name=self.name)

    def copy(self, **unused):
        """A model of copies of its layers."""
        return architectures.clone_model(self)

    def to_json(self, **options):
        """Its class and config as JSON; options: as for json.dumps."""
        return architectures.to_json(self, **options)

    def to_yaml(self, **options):
        """Its class and config as YAML; options: as for yaml.dump. ImportError without PyYAML."""
        return architectures.to_yaml(self, **options)

    def get_layer(self, name=None, index=None):
        """A layer by its name or number. ValueError if there is none."""
        if index is not None:
            if index >= len(self.layers):
                raise ValueError(f"Was asked for layer {index}, but there are {len(self.layers)}.")
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"No such layer: {name}; there are {[layer.name for layer in self.layers]}"
        )

    # ---- Of all layers ---------------------------------------------------------------------------

    # Those of its layers come before its own, as Keras has them.

    @property
    def weights(self):
        """All variables, layer by layer."""
        own = self._trainable_weights + self._non_trainable_weights
        return composed.unique(self._of_inside("weights") + own)

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        return composed.unique(self._of_inside("trainable_weights") + self._trainable_weights)

    @property
    def non_trainable_weights(self):
        kept = self._of_inside("non_trainable_weights") + self._non_trainable_weights
        if not self.trainable:
            kept = self._of_inside("trainable_weights") + self._trainable_weights + kept
        return composed.unique(kept)

    @property
    def stateful(self):
        """Whether a layer keeps states between batches."""
        return any(getattr(layer, "stateful", False) for layer in self.layers)

    def reset_states(self):
        """Has the states of layers that keep them begin again."""
        for layer in self.layers:
            if getattr(layer, "stateful", False):
                layer.reset_states()

    def count_params(self):
        """The number of elements of all its variables."""
        return _count(self.weights)

    def summary(self, line_length=65, positions=None, print_fn=None):
        """Prints its layers: their outputs' shapes and how many parameters they have."""
        write = print_fn or print
        write(f'Model: "{self.name}"')
        write("_" * line_length)
        write(f"{'Layer (type)':29}{'Output Shape':26}Param #")
        write("=" * line_length)
        for layer in self.layers:
            try:
                shape = layer.output_shape
            except AttributeError:
                shape = "multiple"
            kind = f"{layer.name} ({type(layer).__name__})"
            write(f"{kind:29}{str(shape):26}{_count(layer.weights)}")
        write("=" * line_length)
        write(f"Total params: {self.count_params():,}")
        write(f"Trainable params: {_count(self.trainable_weights):,}")
        write(f"Non-trainable params: {_count(self.non_trainable_weights):,}")

    # ---- Files -----------------------------------------------------------------------------------

    def save_weights(self, filepath, overwrite=True, save_format=None):
        """Saves its variables: see saving.save_weights."""
        saving.save_weights(self, filepath, overwrite, save_format)

    def load_weights(self, filepath, by_name=False):
        """Gives its variables the values that save_weights saved: see saving.load_weights."""
        saving.load_weights(self, filepath, by_name)

    def saver_of(self, variables, **options):
        """One Saver for the same variables: each adds nodes to the graph."""
        key = (*map(id, variables), *options.items())
        if key not in self._savers:
            self._savers[key] = Saver(variables, max_to_keep=None, **options)
        return self._savers[key]

    def save(self, filepath, overwrite=True, include_optimizer=True, save_format=None):
        """Saves it whole: see saving.save_model."""
        saving.save_model(self, filepath, overwrite, include_optimizer, save_format)


def told_only(training):
    """Whether layers train, if a program says so; None where it is what they find out themselves."""
    return None if training is sessions.learning_phase() else training


def _tensors(values):
    return {each for each in structure.flatten(values) if isinstance(each, Tensor)}


def _count(variables):
    return sum(int(np.prod(each.shape.as_list(), dtype=np.int64)) for each in variables)
