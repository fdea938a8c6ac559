"""Which call of which layer made a Tensor: by this a model finds the layers between two Tensors."""

from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._values import structure


class Call:
    """One call of a layer.

    Attributes:
      layer: the layer; that of a model's input has no inputs of its own.
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


def call_of(tensor):
    """The call that gave a Tensor of any graph, or None."""
    return tensor.graph.own(_Calls).by_tensor.get(tensor) if isinstance(tensor, Tensor) else None


def is_remembered(tensor):
    """Whether a layer, or Input, gave it."""
    return call_of(tensor) is not None


def between(inputs, outputs):
    """The calls that lead from some Tensors to others, in an order in which they can be made again.

    Raises:
      ValueError: if an output comes from elsewhere, with the Tensor at which the way ends.
    """
    found, waiting = [], [(tensor, False) for tensor in reversed(structure.flatten(outputs))]
    begun, begin = set(), set(structure.flatten(inputs))
    while waiting:
        tensor, is_due = waiting.pop()
        call = None if tensor in begin else call_of(tensor)
        if tensor in begin or is_due and call in found:
            continue
        if call is None or not structure.flatten(call.inputs):
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


def layers_of(path, inputs, outputs):
    """The layers of `between`'s calls and those of the inputs, as Keras has them in `layers`: those that are
    the farthest from the outputs first, alike ones as they are met on the way from the outputs back.

    Args:
      path: what `between` gave for the inputs and outputs, structures of Tensors.
    """
    kept, met, waiting = set(path), {}, list(reversed(structure.flatten(outputs)))
    begun = {call_of(tensor) for tensor in structure.flatten(inputs)} - {None}
    kept |= {call for call in begun if not structure.flatten(call.inputs)}
    seen = set()
    while waiting:
        call = call_of(waiting.pop())
        if call not in kept or call in seen:
            continue
        seen.add(call)
        met.setdefault(call.layer, len(met))
        waiting += reversed(structure.flatten(call.inputs))
    depth, of_layer = {}, {}
    inputs_last = [*path[::-1], *(kept - set(path))]
    for call in inputs_last:
        mine = max(depth.get(call, 0), of_layer.get(call.layer, 0))
        depth[call] = of_layer[call.layer] = mine
        for tensor in structure.flatten(call.inputs):
            before = call_of(tensor)
            depth[before] = max(depth.get(before, 0), mine + 1)
    return sorted(of_layer, key=lambda layer: (-of_layer[layer], met.get(layer, len(met))))


def get_source_inputs(tensor, layer=None, node_index=None):
    """The model inputs that a Tensor was made of by layers, a list; itself if none made it.

    Args:
      layer, node_index: accepted: a Tensor knows which call made it.
    """
    found, waiting, seen = [], [tensor], set()
    while waiting:
        current = waiting.pop()
        call = call_of(current)
        given = [] if call is None else structure.flatten(call.inputs)
        if not given and not any(current is each for each in found):
            found.append(current)
        if call not in seen:
            seen.add(call)
            waiting += reversed(given)
    return found


def again(calls, old_inputs, new_inputs, outputs, layer_of=lambda layer: layer, training=None):
    """What the same calls make of other inputs, in the structure of `outputs`.

    Args:
      layer_of: gives what is called in place of a layer.
      training: whether they train, for calls that were not told; None if they are not told now either.
    """
    made = dict(zip(structure.flatten(old_inputs), structure.flatten(new_inputs), strict=True))
    for call in calls:
        given = structure.map_structure(lambda tensor: made.get(tensor, tensor), call.inputs)
        layer, settings = layer_of(call.layer), told(call.layer, training, call.settings)
        results = layer(given, **settings)
        made.update(zip(structure.flatten(call.outputs), structure.flatten(results), strict=True))
    return structure.map_structure(lambda tensor: made[tensor], outputs)


def told(layer, training, settings):
    """The arguments for a call of a layer: whether it trains too, if it takes that and was not told."""
    if training is None or not layer.takes_training or settings.get("training") is not None:
        return settings
    return {**settings, "training": training}
