"""Which call of which layer made a Tensor: by this a model finds the layers between two Tensors."""

from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._values import structure


class Call:
    """One call of a layer.

    Attributes:
      layer: the layer; None for what is a model's input.
      inputs, outputs: structures of Tensors.
      settings: its other arguments by name.
    """

    def __init__(self, layer, inputs, settings, outputs):
        self.layer, self.inputs, self.settings, self.outputs = layer, inputs, settings, outputs


class _Calls:
    """The calls of one graph, by the Tensors that they gave."""

    def __init__(self):
        self.by_tensor = {}


def remember(layer, inputs, settings, outputs):
    """Notes a call; gives it."""
    call = Call(layer, inputs, settings, outputs)
    calls = get_default_graph().own(_Calls).by_tensor
    for tensor in structure.flatten(outputs):
        calls[tensor] = call
    return call


def is_remembered(tensor):
    """Whether a layer, or Input, gave it."""
    return isinstance(tensor, Tensor) and tensor in get_default_graph().own(_Calls).by_tensor


def between(inputs, outputs):
    """The calls that lead from some Tensors to others, in an order in which they can be made again.

    Raises:
      ValueError: if an output comes from elsewhere, with the Tensor at which the way ends.
    """
    by_tensor = get_default_graph().own(_Calls).by_tensor
    found, waiting = [], [(tensor, False) for tensor in reversed(structure.flatten(outputs))]
    begun, begin = set(), set(structure.flatten(inputs))
    while waiting:
        tensor, is_due = waiting.pop()
        call = None if tensor in begin else by_tensor.get(tensor)
        if tensor in begin or is_due and call in found:
            continue
        if call is None or call.layer is None:
            raise ValueError(
                f"Graph disconnected: the Tensor {tensor.name} is not made of the model's inputs by "
                "layers. Inputs come from tf.keras.Input; what plain functions make of Tensors goes "
                "into a tf.keras.layers.Lambda."
            )
        if is_due:
            found.append(call)
        elif call not in begun:
            begun.add(call)
            waiting.append((tensor, True))
            waiting += [(each, False) for each in reversed(structure.flatten(call.inputs))]
    return found


def again(calls, old_inputs, new_inputs, outputs):
    """What the same calls make of other inputs, in the structure of `outputs`."""
    made = dict(zip(structure.flatten(old_inputs), structure.flatten(new_inputs), strict=True))
    for call in calls:
        given = structure.map_structure(lambda tensor: made.get(tensor, tensor), call.inputs)
        results = call.layer(given, **call.settings)
        made.update(zip(structure.flatten(call.outputs), structure.flatten(results), strict=True))
    return structure.map_structure(lambda tensor: made[tensor], outputs)
