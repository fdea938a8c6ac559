"""Sequential: a model of layers one after the other."""

from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._keras import calls, objects
from millrace._keras.inputs import Input, InputLayer
from millrace._keras.layer import Layer, deserialize
from millrace._keras.models import Model, told_only


class Sequential(Model):
    """Layers one after the other.

    Args:
      layers: a list of them.
      name: its name.

    It is built when its first layer says the shape of its inputs, or by its first data.
    """

    def __init__(self, layers=None, name=None):
        super().__init__(name=name)
        self._last = self._begin = None
        for layer in layers or []:
            self.add(layer)

    def add(self, layer):
        """Puts a layer behind the others. TypeError if it is none."""
        layer = layer.tensor if isinstance(layer, InputLayer) else layer
        if isinstance(layer, Tensor) and calls.is_remembered(layer) and not self.layers:
            self._last = self._begin = layer
            self._knows_inputs = True
            return
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if self._last is None and not self.layers:
            shape = getattr(layer, "batch_input_shape", None)
            if isinstance(layer, Model) and layer.inputs is not None:
                shape = layer.inputs[0].shape.as_list()
            if shape is not None:
                self._last = self._begin = Input(batch_shape=shape, name=f"{layer.name}_input")
                self._knows_inputs = True
        self._add_layer(layer)
        if self._last is not None:
            self._last = layer(self._last)
            self._connect(self._begin, self._last)
            self._trained = None

    def _add_layer(self, layer):
        # What it begins with is no layer of it.
        if not isinstance(layer, InputLayer):
            super()._add_layer(layer)

    def get_config(self):
        """{"name", "layers"}: what from_config makes a model like it of; first its input, if it is known."""
        begins = [] if self._begin is None else [calls.call_of(self._begin).layer]
        layers = [objects.serialize(each) for each in [*begins, *self.layers]]
        return {"name": self.name, "layers": layers}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model of what get_config gave, or of a list of layers' serialized forms, with variables of its own.

        Raises:
          ValueError: for unknown names.
        """
        whole = config if isinstance(config, dict) else {"layers": config}
        made = [deserialize(each, custom_objects) for each in whole["layers"]]
        model = cls(made, name=whole.get("name"))
        if model.inputs is None and whole.get("build_input_shape"):
            model.build(whole["build_input_shape"])
        return model

    def made_again(self, cloning):
        begins = [] if self._begin is None else cloning.inputs([self._begin])
        return Sequential([*begins, *map(cloning.layer, self.layers)], name=self.name)

    def pop(self):
        """Takes the last layer away. TypeError if there is none."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        layer = self._listed.pop()
        if self._last is not None:
            self._last = layer.input
            self._trained = None
            if self.layers:
                kept = list(self._listed)
                self._connect(self._begin, self._last)
                self._listed = kept

    def build(self, input_shape=None):
        """Makes the variables for inputs of a shape, batch included."""
        if self.inputs is None and input_shape is not None:
            self._begin = Input(batch_shape=input_shape)
            self._first_outputs(self._begin)
        self.built = True

    def call(self, inputs, training=None):
        """What its layers make of other inputs; `training` is for those that take it."""
        training = told_only(training)
        for layer in self.layers:
            inputs = layer(convert(inputs), **calls.told(layer, training, {}))
        return inputs

    def _first_outputs(self, inputs):
        made = inputs
        for layer in self.layers:
            made = layer(made)
        self._begin, self._last = inputs, made
        self._connect(inputs, made)
        return made

    def _build_by(self, arrays):
        if self.inputs is None:
            super()._build_by(arrays)
            self._path = calls.between(self._begin, self._last)

    def predict_classes(self, x, batch_size=32, verbose=0):
        """The class of each sample: the largest output, or whether one output is above a half."""
        made = self.predict(x, batch_size)
        return made.argmax(-1) if made.shape[-1] > 1 else (made > 0.5).astype("int32")

    def predict_proba(self, x, batch_size=32, verbose=0):
        """predict."""
        return self.predict(x, batch_size)
