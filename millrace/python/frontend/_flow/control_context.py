"""What tf.cond and tf.while_loop have in common: a region of the graph with entrances of its own.

A value from outside enters a region through one node (a Switch, or an Enter), which the region
remembers. Nodes that read no value of the region hang on its pivot, so that they run only when it does.
"""

from millrace._graph.graph import get_default_graph


class ControlContext:
    """One region. Inside `with context:` new nodes belong to it.

    Attributes:
      outer: the region around it, or None.
      pivot: an Operation that runs whenever the region does.
      is_loop: True if nodes inside run in iterations.
      kind: how messages call it.
    """

    is_loop = False
    kind = ""

    def __init__(self, name):
        self.graph = get_default_graph()
        self.name = name
        self.outer = self.graph.context
        self.inner = []  # the regions right inside this one
        self.nodes = []  # the numbers of its own nodes
        self.pivot = None
        self._imported = {}  # Tensor outside -> Tensor inside
        self.came_in = set()  # the Tensors inside
        if self.outer is not None:
            self.outer.inner.append(self)

    @property
    def full_name(self):
        """The name by which messages tell it from the name scope it was made in."""
        return f"{self.name}/{'while_context' if self.is_loop else 'cond_text'}"

    def entrances(self):
        """(Tensor outside, the Tensor inside that stands for it) of all that came in."""
        return list(self._imported.items())

    def take(self, pairs):
        """Takes these for what came in: for a region that was read from a message."""
        self._imported.update(pairs)
        self.came_in.update(self._imported.values())

    def __enter__(self):
        self._before = self.graph.enter_context(self)
        return self

    def __exit__(self, *unused):
        self.graph.leave_context(self._before)

    def contains(self, context):
        """True if `context` is this region or one inside it."""
        while context is not None:
            if context is self:
                return True
            context = context.outer
        return False

    def bring(self, tensor):
        """The Tensor by which nodes of this region read `tensor`.

        Raises:
          ValueError: if it is made in a region that is not around this one.
        """
        context = self.graph.context_of(tensor.node_id)
        if context is self:
            return tensor
        known = self._imported.get(tensor)
        if known is not None:
            return known
        if context is self.outer:
            outside = tensor
        elif self.outer is not None and not self.contains(context):
            outside = self.outer.bring(tensor)
        else:
            raise ValueError(
                f"Cannot use '{tensor.name}' here: it is made inside the {context.kind} "
                f"'{context.name}'; return it from there."
            )
        made = self._imported[tensor] = self._import(outside)
        self.came_in.add(made)
        return made

    def _import(self, tensor):
        """Makes the node through which a Tensor of the outer region comes in."""
        raise NotImplementedError

    def admit(self, inputs, control_inputs):
        """Inputs and the numbers of control inputs for a node that the program makes inside."""
        inputs = [self.bring(tensor) for tensor in inputs]
        control_inputs = [node for node in control_inputs if self.graph.context_of(node) is self]
        if not control_inputs and self.pivot is not None and self.is_free(inputs):
            control_inputs = [self.pivot.node_id]
        return inputs, control_inputs

    def is_free(self, inputs):
        """True if a node that reads these Tensors of the region would not wait for the region to run."""
        return not inputs
