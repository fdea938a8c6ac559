"""Models as drawings of graphs: model_to_dot and plot_model."""

import os
from importlib import import_module

from millrace._keras import calls
from millrace._values import structure


def _pydot():
    for name in ("pydot", "pydotplus", "pydot_ng"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(
        "Failed to import pydot. You must install pydot and graphviz for `model_to_dot` and `plot_model` to "
        "work; `model.summary()` needs neither."
    )


def _label(layer, show_shapes):
    label = f"{layer.name}: {type(layer).__name__}"
    if not show_shapes:
        return label
    try:
        before, after = layer.input_shape, layer.output_shape
    except AttributeError:
        before = after = "multiple"
    return f"{label}\n|{{input:|output:}}|{{{{{before}}}|{{{after}}}}}"


def model_to_dot(
    model,
    show_shapes=False,
    show_layer_names=True,
    rankdir="TB",
    expand_nested=False,
    dpi=96,
    subgraph=False,
):
    """A drawing of a model, a pydot.Dot: a box for each layer, an arrow for each of its inputs.

    Args:
      model: a Model whose inputs are known.
      show_shapes: whether boxes have shapes; show_layer_names: whether the name, not the class alone.
      rankdir: "TB" from top to bottom, "LR" from left to right.
      expand_nested, subgraph: must be False: a model inside is one box.
      dpi: dots per inch.

    Raises:
      ImportError: without pydot; ValueError: if the model has no inputs yet; NotImplementedError: for others.
    """
    if expand_nested or subgraph:
        raise NotImplementedError("expand_nested: models inside a model are drawn as one box")
    pydot = _pydot()
    if not model.inputs:
        raise ValueError(f"Model {model.name} has no inputs yet: build it, or call it, first.")
    dot = pydot.Dot()
    for name, value in (("rankdir", rankdir), ("concentrate", True), ("dpi", dpi)):
        dot.set(name, value)
    dot.set_node_defaults(shape="record")
    path = calls.between(model.inputs, model.outputs)
    layers = calls.layers_of(path, model.inputs, model.outputs)
    for layer in layers:
        label = _label(layer, show_shapes) if show_layer_names else type(layer).__name__
        dot.add_node(pydot.Node(str(id(layer)), label=label))
    for call in path:
        for tensor in structure.flatten(call.inputs):
            before = calls.call_of(tensor).layer
            if before in layers:
                dot.add_edge(pydot.Edge(str(id(before)), str(id(call.layer))))
    return dot


def plot_model(model, to_file="model.png", **options):
    """Draws a model into a file, whose ending says the format; options: as for model_to_dot, and it raises so."""
    dot = model_to_dot(model, **options)
    kind = os.path.splitext(os.fspath(to_file))[1].lstrip(".") or "png"
    name = to_file if os.path.splitext(os.fspath(to_file))[1] else f"{to_file}.png"
    dot.write(name, format=kind)
