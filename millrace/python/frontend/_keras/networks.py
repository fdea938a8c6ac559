"""Models between inputs and outputs as plain values, and made again of these.

    {"name": ..., "layers": [{"name", "class_name", "config", "inbound_nodes"}, ...],
     "input_layers": [[name, call, output], ...], "output_layers": [...]}

`inbound_nodes` has one list for each call of the layer in the model: of each of its inputs the name of the
layer that gave it, the number of that layer's call, which of the outputs it is, and other arguments. The
calls of a model that is itself a layer count from 1: 0 stands for how it was made.
"""

import json

from millrace._keras import calls
from millrace._keras.inputs import InputLayer
from millrace._keras.layer import deserialize
from millrace._values import structure


def config_of(model, path):
    """The values for a model whose calls lead from its inputs to its outputs.

    Args:
      model: has name, layers, inputs and outputs; path: what calls.between gave for them.

    Raises:
      ValueError: if an input is of no tf.keras.Input, or an argument of a call is no plain value.
    """
    begins = [calls.call_of(tensor) for tensor in model.inputs]
    for call, tensor in zip(begins, model.inputs):
        if call is None or not isinstance(call.layer, InputLayer):
            raise ValueError(
                f"Model {model.name} begins with {tensor.name}, which is no tf.keras.Input: it cannot "
                "be written down"
            )
    of_layer = {}
    for call in [*begins, *path]:
        of_layer.setdefault(call.layer, []).append(call)
    for layer, made in of_layer.items():
        made.sort(key=layer.number_of)

    def place(tensor):
        call = calls.call_of(tensor)
        number = of_layer[call.layer].index(call) + first_number(call.layer)
        outputs = structure.flatten(call.outputs)
        return [call.layer.name, number, next(i for i, o in enumerate(outputs) if o is tensor)]

    layers = []
    for layer in model.layers:
        nodes = [
            [[*place(each), _arguments(call)] for each in structure.flatten(call.inputs)]
            for call in of_layer[layer]
        ]
        layers.append(
            {
                "name": layer.name,
                "class_name": type(layer).__name__,
                "config": layer.get_config(),
                "inbound_nodes": [node for node in nodes if node],
            }
        )
    return {
        "name": model.name,
        "layers": layers,
        "input_layers": [place(tensor) for tensor in model.inputs],
        "output_layers": [place(tensor) for tensor in model.outputs],
    }


def first_number(layer):
    """The number of a layer's first call."""
    return 1 if getattr(layer, "begins_with_input", False) else 0


def _arguments(call):
    try:
        json.dumps(call.settings)
    except TypeError:
        raise ValueError(
            f"Layer {call.layer.name} was called with {sorted(call.settings)}, of which not all are plain "
            "values: Tensors that it needs are to be among its inputs"
        ) from None
    return call.settings


def tensors_of(config, custom_objects=None):
    """(inputs, outputs), lists of Tensors, that the layers of a config make.

    Args:
      config: what config_of gave; custom_objects: {name: class or function} of the program's own.

    Raises:
      ValueError: for layers that are unknown, and calls of others that are not there.
    """
    layers, waiting = {}, []
    for each in config["layers"]:
        name = each.get("name") or each["config"]["name"]
        layers[name] = deserialize(each, custom_objects)
        first = first_number(layers[name])
        if isinstance(layers[name], InputLayer):
            layers[name] = _Made(first, [[layers[name].tensor]])
        else:
            layers[name] = _Made(first, [], layers[name])
        waiting += [(name, node) for node in each.get("inbound_nodes", [])]
    # A layer's calls are made in their order, each as soon as all its inputs are there.
    while waiting:
        late, held = [], set()
        for name, node in waiting:
            given = [_found(layers, place) for place in _places(node)]
            if name in held or any(each is None for each in given):
                held.add(name)
                late.append((name, node))
                continue
            settings = _settings_of(node)
            layer = layers[name].layer
            made = layer(given[0] if len(given) == 1 else given, **settings)
            layers[name].outputs.append(structure.flatten(made))
        if len(late) == len(waiting):
            raise ValueError(
                f"Model {config.get('name')}: layers {sorted({name for name, _ in late})} are given outputs "
                "of calls that are not there"
            )
        waiting = late

    def all_of(places):
        # One alone may stand without a list around it.
        places = [places] if places and isinstance(places[0], str) else places
        found = [_found(layers, place) for place in places]
        if any(each is None for each in found):
            raise ValueError(
                f"Model {config.get('name')} has no calls of layers for all of {places}"
            )
        return found

    return all_of(config["input_layers"]), all_of(config["output_layers"])


class _Made:
    """A layer and what its calls gave."""

    def __init__(self, first, outputs, layer=None):
        self.first, self.outputs, self.layer = first, outputs, layer


def _places(node):
    return [node] if node and isinstance(node[0], str) else node


def _settings_of(node):
    place = _places(node)[0]
    return place[3] if len(place) > 3 else {}


def _found(layers, place):
    """The Tensor at [name, call, output, ...]; None if the call was not made yet. ValueError for unknown names."""
    name, call, output = place[:3]
    if name not in layers:
        raise ValueError(f"There is no layer {name} in the model; there are {sorted(layers)}")
    made = layers[name]
    number = call - made.first
    if not 0 <= number < len(made.outputs):
        return None
    return made.outputs[number][output]
