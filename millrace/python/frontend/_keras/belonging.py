"""Which losses and updates of layers are a model's: its layers may be called elsewhere too."""

from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor


class Belonging:
    """What hangs on a model's inputs, or on no input at all.

    Args:
      inputs: the model's inputs, a list of Tensors.
    """

    def __init__(self, inputs):
        self._begins = {tensor.op.node_id for tensor in inputs}
        self._known = {}  # number of a node -> (whether it hangs on these inputs, on others)

    def of(self, values):
        """Those of some Tensors and Operations that belong to the model."""
        return [each for each in values if self._belongs(each)]

    def _belongs(self, value):
        node = (value.op if isinstance(value, Tensor) else value).node_id
        if node not in self._known:
            self._look()
        is_ours, is_others = self._known[node]
        return is_ours or not is_others

    def _look(self):
        """Goes through the graph once: a node comes behind those that it reads, but for those that go around
        a loop, whose first round says the same."""
        graph = get_default_graph()
        core = graph.core
        for op in graph.get_operations():
            node = op.node_id
            if node in self._known:
                continue
            if node in self._begins:
                self._known[node] = (True, False)
                continue
            before = [n for n, _ in core.inputs(node)] + list(core.control_inputs(node))
            found = [self._known[each] for each in before if each in self._known]
            self._known[node] = (
                any(is_ours for is_ours, _ in found),
                core.type(node) == "Placeholder" or any(is_others for _, is_others in found),
            )
