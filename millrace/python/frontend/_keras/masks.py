"""Masks: for Tensors of sequences, which of their times are there."""

from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._values import structure


class _Masks:
    """The masks of one graph, by Tensor."""

    def __init__(self):
        self.by_tensor = {}


def mask_of(tensor):
    """The mask of one Tensor, bools of shape [batch, time], or None."""
    return get_default_graph().own(_Masks).by_tensor.get(tensor)


def masks_of(inputs):
    """The mask of a Tensor, or a list of them (None among it) for a list; None if there are none."""
    if not isinstance(inputs, (list, tuple)):
        return mask_of(inputs) if isinstance(inputs, Tensor) else None
    found = [masks_of(each) for each in inputs]
    return found if any(each is not None for each in found) else None


def give(outputs, masks):
    """Notes masks, one or a list of them, of one Tensor or a list."""
    made = structure.flatten(outputs)
    given = list(masks) if isinstance(masks, (list, tuple)) else [masks] * len(made)
    by_tensor = get_default_graph().own(_Masks).by_tensor
    for tensor, mask in zip(made, given):
        if mask is not None:
            by_tensor[tensor] = mask
