"""Objects that have variables, and objects that have those: what a checkpoint of objects saves, by which names.

A variable's name is the way to it from the root, by the fewest attributes: "layer/kernel", and at the end
"/.ATTRIBUTES/VARIABLE_VALUE". What an optimizer keeps for a variable is named after both.
"""

from millrace._layers.layer import Layer
from millrace._saving.object_messages import (
    BoolValue,
    ObjectReference,
    SerializedTensor,
    SlotVariableReference,
    TrackableObject,
    TrackableObjectGraph,
)
from millrace._state.variables import Variable
from millrace._train.optimizer import Optimizer

_VALUE = "VARIABLE_VALUE"


class Trackable:
    """An object whose attributes are saved with it."""

    def tracked(self):
        """(name, object) of its attributes that can be saved, in the order in which they were set."""
        return [
            (name, value)
            for name, value in vars(self).items()
            if name[:1] != "_" and is_tracked(value)
        ]


def is_tracked(value):
    """Whether something is, or may have, what can be saved."""
    return isinstance(value, (Trackable, Variable, Optimizer, Layer, list, tuple, dict))


def children(value, graph):
    """(name, object) of what an object has; of optimizers and layers, what is in a graph."""
    if isinstance(value, Trackable):
        return value.tracked()
    if isinstance(value, Optimizer):
        return sorted(value.non_slot_variables(graph).items())
    if isinstance(value, Layer):
        found = {v.op.name.rpartition("/")[2]: v for v in value.weights if v.graph is graph}
        for name, item in vars(value).items():
            if name[:1] != "_" and isinstance(item, (Trackable, Layer)):
                found[name] = item
        return list(found.items())
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return []
    return [(str(name), item) for name, item in items if is_tracked(item)]


def _escaped(name):
    """An attribute's name as a part of a path."""
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """The objects below a root, each once, the nearer ones first.

    Args:
      root: the object.
      graph: the tf.Graph whose variables count.

    Attributes:
      objects: the objects; the root is the first.
      edges: for each, [(name, number of the object)].
      keys: {name in the checkpoint: Variable}.
      slots: [(number of the optimizer, number of the variable, slot, number of the slot's variable)].
    """

    def __init__(self, root, graph):
        self.objects, self.edges, self._paths = [root], [], [""]
        self._numbers = {id(root): 0}
        for path, item in zip(self._paths, self.objects):  # both grow meanwhile
            self.edges.append([])
            for name, child in children(item, graph):
                below = f"{path}/{_escaped(name)}" if path else _escaped(name)
                self.edges[-1].append((name, self._add(child, below)))
        self.slots = []
        self._add_slots()
        self.keys = {
            self.key_of(number): item
            for number, item in enumerate(self.objects)
            if isinstance(item, Variable) and item.graph is graph
        }

    def _add(self, item, path):
        number = self._numbers.setdefault(id(item), len(self.objects))
        if number == len(self.objects):
            self.objects.append(item)
            self._paths.append(path)
        return number

    def _add_slots(self):
        found = list(enumerate(self.objects))
        for number, optimizer in found:
            if not isinstance(optimizer, Optimizer):
                continue
            for slot in optimizer.get_slot_names():
                for original, variable in found:
                    kept = isinstance(variable, Variable) and optimizer.get_slot(variable, slot)
                    if not isinstance(kept, Variable):
                        continue
                    path = (
                        f"{self._paths[original]}/.OPTIMIZER_SLOT/{self._paths[number]}/"
                        f"{_escaped(slot)}"
                    )
                    count = len(self.objects)
                    added = self._add(kept, path)
                    if added == count:
                        self.edges.append([])
                    self.slots.append((number, original, slot, added))

    def key_of(self, number):
        """The name in the checkpoint of the variable with this number."""
        path = self._paths[number]
        return f"{path}/.ATTRIBUTES/{_VALUE}" if path else f".ATTRIBUTES/{_VALUE}"

    def message(self):
        """The TrackableObjectGraph."""
        made = TrackableObjectGraph()
        for number, (item, edges) in enumerate(zip(self.objects, self.edges)):
            node = TrackableObject(
                children=[ObjectReference(node_id=child, local_name=name) for name, child in edges]
            )
            if isinstance(item, Variable) and self.key_of(number) in self.keys:
                node.attributes.append(
                    SerializedTensor(
                        name=_VALUE, full_name=item.op.name, checkpoint_key=self.key_of(number)
                    )
                )
                node.has_checkpoint_values = BoolValue(value=True)
            made.nodes.append(node)
        for optimizer, original, slot, kept in self.slots:
            made.nodes[optimizer].slot_variables.append(
                SlotVariableReference(
                    original_variable_node_id=original,
                    slot_name=slot,
                    slot_variable_node_id=kept,
                )
            )
        return made


class Matches:
    """Objects of a program and those of a checkpoint, one beside the other from their roots on.

    Args:
      root, graph: as for ObjectGraph.
      message: the TrackableObjectGraph of the checkpoint.

    Attributes:
      keys: {name in the checkpoint: Variable} of what both have.
      unused: [(number of the object, name in the checkpoint)] of tensors that the program has no
        variable for.
      unmatched: Variables that the checkpoint has no tensor for.
    """

    def __init__(self, root, graph, message):
        self._nodes = message.nodes
        self._graph = graph
        self._found = {}  # number in the checkpoint -> object
        self._above = _above(message.nodes)
        self._pair(0, root)
        self._pair_slots()
        self.keys, self.unused = {}, []
        for number, node in enumerate(self._nodes):
            for attribute in node.attributes:
                item = self._found.get(number)
                if isinstance(item, Variable) and attribute.name == _VALUE:
                    self.keys[attribute.checkpoint_key] = item
                else:
                    self.unused.append((number, attribute.checkpoint_key))
        own = ObjectGraph(root, graph)
        matched = {id(item) for item in self.keys.values()}
        self.variables = list(own.keys.values())
        self.unmatched = [item for item in self.variables if id(item) not in matched]

    def way(self, number):
        """How to come to an object of the checkpoint from the root, as a person writes it."""
        if number not in self._above:
            return f"object {number}"
        steps = []
        while self._above[number] is not None:
            number, step = self._above[number]
            steps.append(step)
        return "".join(["(root)", *reversed(steps)])

    def _pair(self, number, item):
        waiting = [(number, item)]
        for number, item in waiting:
            if number in self._found or number >= len(self._nodes):
                continue
            self._found[number] = item
            own = dict(children(item, self._graph))
            for reference in self._nodes[number].children:
                if reference.local_name in own:
                    waiting.append((reference.node_id, own[reference.local_name]))

    def _pair_slots(self):
        for number, item in list(self._found.items()):
            for slot in self._nodes[number].slot_variables:
                variable = self._found.get(slot.original_variable_node_id)
                if isinstance(item, Optimizer) and isinstance(variable, Variable):
                    kept = item.get_slot(variable, slot.slot_name)
                    if isinstance(kept, Variable):
                        self._found[slot.slot_variable_node_id] = kept


def _above(nodes):
    """{number: (that of an object that has it, how this one writes it)} of what the root leads to."""
    above = {0: None}
    for number in (waiting := [0]):
        for reference in nodes[number].children if number < len(nodes) else ():
            if reference.node_id not in above:
                above[reference.node_id] = number, f".{reference.local_name}"
                waiting.append(reference.node_id)
    for number, node in enumerate(nodes):
        for slot in node.slot_variables if number in above else ():
            above.setdefault(slot.slot_variable_node_id, (number, f"'s {slot.slot_name}"))
    return above
