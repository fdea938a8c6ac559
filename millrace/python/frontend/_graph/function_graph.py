"""FunctionGraph: the graph of a function that nodes of another graph name, while a program writes it."""

import itertools
import re

from millrace._graph.graph import Graph

__all__ = ["FunctionGraph", "define_by_value"]


class _Names:
    """The functions of one graph, counted."""

    def __init__(self):
        self._numbers = itertools.count()

    def new(self, graph, wanted):
        wanted = re.sub(r"[^A-Za-z0-9_]", "_", wanted)
        while True:
            name = f"{wanted}_{next(self._numbers)}"
            if not graph.core.has_function(name):
                return name


class FunctionGraph(Graph):
    """A graph whose nodes may read Tensors of the graphs around it: they become arguments.

    Made while `outer_graph` is the default graph. What belongs to a graph as a whole (functions of
    Python, stores of variables) is that of the outermost one.

    Attributes:
      outer_graph: the graph whose nodes will name the function.
      captured: the Tensors of it that the function reads, in the order of their arguments.
    """

    def __init__(self, outer_graph):
        super().__init__()
        self.outer_graph = outer_graph
        self.captured = []
        self.seed = outer_graph.seed
        self._arguments = []
        self._stands_for = {}  # Tensor of the outer graph -> argument

    @property
    def outermost(self):
        graph = self.outer_graph
        while graph.outer_graph is not None:
            graph = graph.outer_graph
        return graph

    def own(self, kind):
        return self.outermost.own(kind)

    def takes_from(self, graph):
        """Whether Tensors of `graph` may be read here."""
        around = self.outer_graph
        while around is not None and around is not graph:
            around = around.outer_graph
        return around is not None

    def add_argument(self, dtype, shape, name="argument"):
        """A Tensor that stands for an argument of the function, of a DType and a TensorShape."""
        attrs = {"dtype": dtype.base_dtype.as_datatype_enum, "shape": shape.plain}
        node = super().add_node("Placeholder", [], attrs, self.op_name(name, "Placeholder"))
        tensor = self.tensor(node, 0)
        self._arguments.append(tensor)
        return tensor

    def capture(self, tensor):
        """The Tensor of this graph that has the value of a Tensor of one around it.

        Raises:
          ValueError: if it is of another graph.
        """
        if tensor.graph is self:
            return tensor
        if not self.takes_from(tensor.graph):
            raise ValueError(
                f"{tensor!r} must be from the same graph as the function that reads it."
            )
        outer = tensor
        if outer.graph is not self.outer_graph:
            outer = self.outer_graph.capture(outer)
        if outer not in self._stands_for:
            with self.outside():
                self._stands_for[outer] = self.add_argument(outer.dtype, outer.shape, "captured")
            self.captured.append(outer)
        return self._stands_for[outer]

    def outside(self):
        """A block whose nodes wait for nothing of the function's: arguments."""
        return self.control_dependencies(None)

    def add_node(self, op_type, inputs, attrs, name):
        inputs = [self.capture(tensor) for tensor in inputs]
        return super().add_node(op_type, inputs, attrs, name)

    def colocate_with(self, op, ignore_existing=False):
        """Nodes of a function run where it is called: places of the graph around it don't count."""
        op = getattr(op, "op", op)
        if op is not None and op.graph is not self:
            op = None
        return super().colocate_with(op, ignore_existing)

    def control_dependencies(self, control_inputs):
        """What is outside of the function has run when it is called."""
        if isinstance(control_inputs, (list, tuple)):
            control_inputs = [
                each
                for each in control_inputs
                if not self.takes_from(getattr(each, "graph", None) or self)
            ]
        return super().control_dependencies(control_inputs)

    def define(self, name, results, effects=()):
        """Writes the function down in the outermost graph.

        Args:
          name: how its name is to begin.
          results: Tensors that it gives, of this graph or one around it.
          effects: Operations of this graph that run with each call.

        Returns:
          its name. Nodes that name it give it `captured` behind its other arguments.
        """
        results = [self.capture(tensor) for tensor in results]
        outermost = self.outermost
        name = outermost.own(_Names).new(outermost, name)
        self.core.define_function(
            name,
            [argument.op.node_id for argument in self._in_order()],
            [tensor.endpoint for tensor in results],
            [operation.node_id for operation in effects],
            outermost.core,
        )
        return name

    def _in_order(self):
        """Its arguments, those that stand for captured Tensors last."""
        captured = [self._stands_for[tensor] for tensor in self.captured]
        return [each for each in self._arguments if each not in captured] + captured


def define_by_value(tensor, name):
    """The name of a function that gives what a Tensor of a graph stands for now.

    Raises:
      ValueError: if that needs a placeholder, or has state.
    """
    graph = tensor.graph
    name = graph.own(_Names).new(graph, name)
    graph.core.define_by_value(name, [tensor.endpoint])
    return name
