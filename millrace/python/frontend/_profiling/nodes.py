"""The nodes of a graph, with what is known of each: shapes, types, operations, the place in the program, times."""

import os
import sys
from math import prod

from millrace._profiling import float_ops
from millrace._profiling.messages import FIGURES
from millrace._profiling.options import TRAINABLE_VARIABLES


class Runs:
    """How often a node ran in one step, and how long in all, in microseconds."""

    def __init__(self):
        self.count, self.micros = 0, 0


class ProfiledNode:
    """A node of the graph, or a scope, which has a name and nothing else.

    Attributes:
      name, op: strings; what is a scope alone has an op of its own.
      inputs: names of the nodes that it reads, in order, each once.
      input_shapes: {number of an input: a list of sizes}, where they are known.
      shape: the sizes that its attribute `shape` tells: a variable's, a placeholder's; None if it has none.
      types: strings by which it may be chosen: its op, its devices, those of an OpLogProto.
      devices: where it ran, or is placed.
      operations: floating point operations.
      place: "train.py:12", the line that made it; "" if that is not known.
      runs: {step: Runs}.
    """

    def __init__(self, name, op):
        self.name, self.op = name, op
        self.inputs, self.input_shapes, self.shape = [], {}, None
        self.types, self.devices = {op}, []
        self.operations, self.place = 0, ""
        self.runs = {}

    def figures(self, step):
        """{name: number} of FIGURES, of a step, or the mean of all that it ran in if `step` is negative."""
        made = dict.fromkeys(FIGURES, 0)
        of = [self.runs[step]] if step in self.runs else []
        if step < 0:
            of = list(self.runs.values())
        if of:
            made["run_count"] = sum(runs.count for runs in of) // len(of)
            made["exec_micros"] = made["cpu_exec_micros"] = sum(runs.micros for runs in of) // len(
                of
            )
        if self.shape is not None and all(size >= 0 for size in self.shape):
            made["parameters"] = prod(self.shape)
        made["float_ops"] = self.operations
        return made

    def placed(self, device):
        """Says that it ran on a device."""
        if device and device not in self.devices:
            self.devices.append(device)
            self.types.add(device)


def _sizes(shape):
    """A TensorShape as a list with -1 for what is not known; None of unknown rank."""
    if shape.ndims is None:
        return None
    return [-1 if size is None else size for size in shape.as_list()]


def _node_of(operation, node_def):
    made = ProfiledNode(operation.name, operation.type)
    made.inputs = list(dict.fromkeys(tensor.op.name for tensor in operation.inputs))
    for index, tensor in enumerate(operation.inputs):
        sizes = _sizes(tensor.shape)
        if sizes is not None:
            made.input_shapes[index] = sizes
    if "shape" in node_def.attr:
        made.shape = _sizes(operation.outputs[0].shape)
        if operation.type == "VarHandleOp":
            made.shape = _sizes(operation.get_attr("shape"))
    made.placed(operation.device)
    at = operation.defined_at
    if at is not None:
        made.place = f"{os.path.basename(at[0])}:{at[1]}"
    return made


def nodes_of(graph, op_log=None):
    """{name: ProfiledNode} of a graph. Tells on the error output of how many the operations can't be counted.

    Args:
      graph: a tf.Graph.
      op_log: an OpLogProto with types, and operations for what has none of its own.
    """
    nodes, unknown = {}, 0
    for operation in graph.get_operations():
        node_def = operation.node_def
        node = nodes[operation.name] = _node_of(operation, node_def)
        try:
            stats = float_ops.get_stats_for_node_def(graph, node_def, "flops")
            node.operations = int(stats.value or 0)
        except ValueError:
            unknown += 1
    if unknown:
        print(f"{unknown} ops no flops stats due to incomplete shapes.", file=sys.stderr)
    for variable in graph.get_collection("trainable_variables"):
        if variable.op.name in nodes:
            nodes[variable.op.name].types.add(TRAINABLE_VARIABLES)
    for entry in () if op_log is None else op_log.log_entries:
        node = nodes.get(entry.name)
        if node is not None:
            node.types.update(entry.types)
            node.operations = node.operations or entry.float_ops
    return nodes


def add_step(nodes, step, run_metadata):
    """Adds what a RunMetadata tells of a step. How large a share of the nodes that ran is known, from 0 to 1."""
    ran = known = 0
    for device in run_metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            ran += 1
            node = nodes.get(stats.node_name)
            if node is None:  # what a plan adds: sends, receives
                continue
            known += 1
            node.placed(device.device)
            runs = node.runs.setdefault(step, Runs())
            runs.count += 1
            runs.micros += stats.op_end_rel_micros - stats.op_start_rel_micros
    return known / ran if ran else 0.0
