"""What a profile tells, as TensorFlow's messages: the numbers of their fields are TensorFlow's."""

from millrace._saving.graph_messages import TensorShapeProto
from millrace._values.messages import Message, by_name, many

# What is counted of a node: its field in a GraphNodeProto and that of the sum with what is below it; the same in
# a MultiGraphNodeProto, which counts no runs.
FIGURES = {
    "run_count": (21, 22, None, None),
    "exec_micros": (2, 6, 2, 6),
    "accelerator_exec_micros": (17, 19, 12, 14),
    "cpu_exec_micros": (18, 20, 13, 15),
    "requested_bytes": (3, 7, 3, 7),
    "peak_bytes": (24, 27, 16, 19),
    "residual_bytes": (25, 28, 17, 20),
    "output_bytes": (26, 29, 18, 21),
    "parameters": (4, 8, 4, 8),
    "float_ops": (13, 14, 5, 9),
}


def _numbered(own, total):
    """The fields of figures: `own` and `total` say which of the four numbers."""
    fields = {}
    for name, numbers in FIGURES.items():
        if numbers[own] is not None:
            fields[name] = (numbers[own], int)
            fields[f"total_{name}"] = (numbers[total], int)
    return fields


class InputShape(Message):
    """The shape of the input with this number."""

    _fields = {"key": (1, int), "value": (2, TensorShapeProto)}


class GraphNodeProto(Message):
    """A node of a graph, or a scope: what it costs, and what all costs that is shown below it."""

    _fields = {
        "name": (1, str),
        **_numbered(0, 1),
        "devices": (10, many(str)),
        "shapes": (11, many(TensorShapeProto)),
        "input_shapes": (16, many(InputShape)),
        "total_definition_count": (23, int),
    }


GraphNodeProto._fields["children"] = (12, many(GraphNodeProto))


class MultiGraphNodeProto(Message):
    """The nodes of one op, or those that one line of the program made."""

    _fields = {
        "name": (1, str),
        **_numbered(2, 3),
        "graph_nodes": (10, many(GraphNodeProto)),
    }


MultiGraphNodeProto._fields["children"] = (11, many(MultiGraphNodeProto))


class Checker(Message):
    """What one kind of advice found."""

    _fields = {"reports": (2, many(str))}


class AdviceProto(Message):
    """What was found, by the kind of advice."""

    _fields = {"checkers": (1, by_name(Checker))}
    Checker = Checker


class Trace(Message):
    """A line of a program; texts by their number in the OpLogProto."""

    _fields = {
        "lineno": (2, int),
        "func_start_line": (5, int),
        "file_id": (6, int),
        "function_id": (7, int),
        "line_id": (8, int),
    }


class CodeDef(Message):
    _fields = {"traces": (1, many(Trace))}
    Trace = Trace


class OpLogEntry(Message):
    """What is known of a node beside its graph: types by which it may be chosen, operations, where it was made."""

    _fields = {
        "name": (1, str),
        "float_ops": (2, int),
        "types": (3, many(str)),
        "code_def": (4, CodeDef),
    }


class IdToString(Message):
    """The text with this number."""

    _fields = {"key": (1, int), "value": (2, str)}


class OpLogProto(Message):
    """What is known of nodes beside their graph."""

    _fields = {"log_entries": (1, many(OpLogEntry)), "id_to_string": (2, many(IdToString))}
