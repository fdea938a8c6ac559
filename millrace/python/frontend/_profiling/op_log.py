"""tf.profiler.write_op_log: what is known of nodes beside their graph, as a file."""

from millrace._files import paths
from millrace._graph.graph import get_default_graph
from millrace._profiling.messages import IdToString, OpLogEntry, OpLogProto, Trace
from millrace._profiling.nodes import nodes_of
from millrace._profiling.options import TRAINABLE_VARIABLES


class _Numbers:
    """Numbers of texts, from those of an OpLogProto on."""

    def __init__(self, known):
        self._numbers = {each.value: each.key for each in known} or {"none": 0}

    def of(self, string):
        return self._numbers.setdefault(string, max(self._numbers.values()) + 1)

    def messages(self):
        return [IdToString(key=key, value=value) for value, key in self._numbers.items()]


def write_op_log(graph, log_dir, op_log=None, run_meta=None, add_trace=True):
    """Writes an OpLogProto as log_dir/tfprof_log: operations, types, and the lines of the program.

    Args:
      graph: a tf.Graph; the default one if None.
      log_dir: a folder that is there.
      op_log: an OpLogProto to add to; it is not changed.
      run_meta: accepted; traces tell of no shapes.
      add_trace: whether to tell the lines.
    """
    graph = graph if graph is not None else get_default_graph()
    made = OpLogProto() if op_log is None else OpLogProto.FromString(op_log.SerializeToString())
    entries = {entry.name: entry for entry in made.log_entries}
    numbers = _Numbers(made.id_to_string)
    for name, node in nodes_of(graph).items():
        at = graph.get_operation_by_name(name).defined_at if add_trace else None
        is_trained = TRAINABLE_VARIABLES in node.types
        if name not in entries and not (node.operations or is_trained or at):
            continue
        entry = entries.get(name)
        if entry is None:
            entry = OpLogEntry(name=name)
            made.log_entries.append(entry)
        if is_trained and TRAINABLE_VARIABLES not in entry.types:
            entry.types.append(TRAINABLE_VARIABLES)
        if node.operations and not entry.float_ops:
            entry.float_ops = node.operations
        if at and not entry.code_def.traces:
            entry.code_def.traces.append(Trace(file_id=numbers.of(at[0]), lineno=at[1]))
    made.id_to_string = numbers.messages()
    paths.write_whole(paths.join(log_dir, "tfprof_log"), made.SerializeToString())
