"""tf.profiler: tables of what a graph's nodes cost, from the graph and from traces of its steps."""

from millrace._files import paths
from millrace._graph.graph import get_default_graph
from millrace._profiling import text
from millrace._profiling.groups import profile_groups
from millrace._profiling.messages import AdviceProto, Checker
from millrace._profiling.nodes import add_step, nodes_of
from millrace._profiling.options import ProfileOptionBuilder, checked_options
from millrace._profiling.trees import graph_tree, profile_tree, scope_tree
from millrace._run.timeline import Timeline
from millrace._values import errors

ALL_ADVICE = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "OperationChecker": {},
}
_DEFAULT = 0  # stands for options that nobody gave, as in TensorFlow
_NAMED = 3  # ops, and nodes, that advice names
_OUTPUTS = ("stdout", "none", "file", "timeline", "pprof")


class Profiler:
    """Profiles of several steps of one graph.

        profiler = tf.profiler.Profiler(session.graph)
        session.run(train, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        profiler.add_step(step, metadata)
        profiler.profile_operations(tf.profiler.ProfileOptionBuilder.time_and_memory())

    Traces tell when nodes ran, not how much memory they took: bytes are 0, and hide nothing.

    Args:
      graph: a tf.Graph; the default one if None.
      op_log: a tf.profiler.OpLogProto: types of nodes, and operations of those that have none.
    """

    def __init__(self, graph=None, op_log=None):
        self._graph = graph if graph is not None else get_default_graph()
        self._op_log = op_log
        self._steps = {}  # step: its RunMetadata, as many as were added
        self._nodes, self._version = {}, None
        self._look()

    def _look(self):
        """Looks at the graph anew if it has grown."""
        if self._version == self._graph.version:
            return
        self._version = self._graph.version
        self._nodes = nodes_of(self._graph, self._op_log)
        for step, traces in self._steps.items():
            for metadata in traces:
                add_step(self._nodes, step, metadata)

    def add_step(self, step, run_meta):
        """Adds a trace; those with the same number are one step.

        Args:
          step: an int, not negative.
          run_meta: the tf.RunMetadata of a run with RunOptions.FULL_TRACE.

        Returns:
          the share of what ran that is of the graph, from 0 to 1.
        """
        if step < 0:
            raise ValueError(f"step is {step}; it has to be 0 or more")
        self._look()
        self._steps.setdefault(step, []).append(run_meta)
        return add_step(self._nodes, step, run_meta)

    def profile_name_scope(self, options):
        """A GraphNodeProto: nodes below their scopes. See tf.profiler.profile."""
        return self._profile("scope", options)

    def profile_graph(self, options):
        """A GraphNodeProto: nodes above what they read. See tf.profiler.profile."""
        return self._profile("graph", options)

    def profile_operations(self, options):
        """A MultiGraphNodeProto: ops, with their nodes. See tf.profiler.profile."""
        return self._profile("op", options)

    def profile_python(self, options):
        """A MultiGraphNodeProto: lines of the program, with the nodes that they made. See tf.profiler.profile."""
        return self._profile("code", options)

    def advise(self, options=None):
        """What takes the most time, as an AdviceProto. See tf.profiler.advise."""
        self._look()
        chosen = ALL_ADVICE if options is None else options
        unknown = [name for name in chosen if name not in ALL_ADVICE]
        if unknown:
            raise errors.InvalidArgumentError(
                None, None, f"advise: there is no {unknown[0]}; there are {', '.join(ALL_ADVICE)}"
            )
        made = AdviceProto()
        for name in chosen:
            found = _expensive(self._nodes) if name == "ExpensiveOperationChecker" else []
            made.checkers[name] = Checker(reports=found)
        return made

    def serialize_to_string(self):
        """TensorFlow's own format of profiles is not written here: UnimplementedError."""
        raise errors.UnimplementedError(
            None,
            None,
            "TensorFlow's ProfileProto is not written; keep what the profile_… methods give, which are "
            "messages, or the RunMetadata of the steps",
        )

    def _profile(self, view, options):
        self._look()
        options = checked_options(options)
        kind, path = _parsed_output(options["output"])
        if options["step"] >= 0 and options["step"] not in self._steps:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"profile: step {options['step']} was not added; there are {sorted(self._steps)}",
            )
        nodes = self._nodes
        if view == "scope":
            table, made = profile_tree(scope_tree(nodes), options, True)
        elif view == "graph":
            table, made = profile_tree(graph_tree(nodes), options, False)
        else:
            name_of = _op_of if view == "op" else _place_of
            table, made = profile_groups(nodes.values(), name_of, options)
        if kind == "stdout":
            print("\n==================Model Analysis Report======================")
            print(table, end="")
            print("\n======================End of Report==========================", flush=True)
        elif kind == "file":
            paths.write_whole(path, table.encode())
        elif kind == "timeline":
            self._write_timelines(path, options["step"])
        return made

    def _write_timelines(self, path, step):
        if not self._steps:
            raise errors.InvalidArgumentError(
                None, None, "profile: a timeline is of steps that were traced, and there is none"
            )
        for each in sorted(self._steps) if step < 0 else [step]:
            trace = Timeline(self._steps[each][-1].step_stats).generate_chrome_trace_format()
            paths.write_whole(f"{path}_{each}", trace.encode())


def _op_of(node):
    return node.op


def _place_of(node):
    """The line that made it. What a gradient is made of has none."""
    return node.place or "(no line)"


def _parsed_output(output):
    """(kind, path) of "file:outfile=PATH". InvalidArgumentError for what is none, and for pprof."""
    kind, _, rest = output.partition(":")
    path = rest.removeprefix("outfile=")
    if kind not in _OUTPUTS or (kind in ("file", "timeline") and (path == rest or not path)):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"profile: output is {output!r}; it has to be stdout, none, file:outfile=PATH or "
            "timeline:outfile=PATH",
        )
    if kind == "pprof":
        raise errors.UnimplementedError(
            None, None, "profile: files for pprof are not written; a timeline shows the same steps"
        )
    return kind, path


def profile(graph=None, run_meta=None, op_log=None, cmd="scope", options=_DEFAULT):
    """A table of what nodes cost, printed unless the options say otherwise.

        tf.profiler.profile(graph, options=tf.profiler.ProfileOptionBuilder.float_operation())

    Args:
      graph: a tf.Graph; the default one if None.
      run_meta: the tf.RunMetadata of a run with RunOptions.FULL_TRACE, for times.
      op_log: a tf.profiler.OpLogProto: types of nodes, and operations of those that have none.
      cmd: how nodes are put in order: "scope" (by their names), "graph" (by what they read), "op", or "code" (by
        the line of the program that made them).
      options: a dictionary, from a ProfileOptionBuilder; by default the parameters of variables that are trained.

    Returns:
      a GraphNodeProto for "scope" and "graph", a MultiGraphNodeProto for "op" and "code": total_parameters,
      total_float_ops, total_exec_micros, children. Bytes are 0: traces do not tell of memory.

    Raises:
      tf.errors.InvalidArgumentError: for another cmd, and for options that there are not.
      tf.errors.UnimplementedError: for a file for pprof.
    """
    if cmd not in ("scope", "graph", "op", "code"):
        raise errors.InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    if options == _DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    profiler = Profiler(graph, op_log)
    if run_meta is not None:
        profiler.add_step(0, run_meta)
    views = {
        "scope": profiler.profile_name_scope,
        "graph": profiler.profile_graph,
        "op": profiler.profile_operations,
        "code": profiler.profile_python,
    }
    return views[cmd](options)


def advise(graph=None, run_meta=None, options=_DEFAULT):
    """What takes the most time in a step, printed and as an AdviceProto.

    Args:
      graph: a tf.Graph; the default one if None.
      run_meta: the tf.RunMetadata of a run with RunOptions.FULL_TRACE.
      options: {kind of advice: {}}; by default all kinds. Those on accelerators have nothing to say here.
    """
    profiler = Profiler(graph)
    if run_meta is not None:
        profiler.add_step(0, run_meta)
    made = profiler.advise(None if options == _DEFAULT else options)
    for name, checker in made.checkers.items():
        print(f"\n{name}:", *checker.reports, sep="\n", flush=True)
    return made


def _expensive(nodes):
    """The ops and nodes that take the longest, as sentences."""
    by_op, by_node = {}, {}
    for node in nodes.values():
        micros = node.figures(-1)["exec_micros"]
        by_op[node.op] = by_op.get(node.op, 0) + micros
        by_node[node.name] = micros
    whole = sum(by_op.values())
    if whole == 0:
        return ["Missing run_meta for ExpensiveOperationChecker"]
    reports = []
    for what, micros_of in (("operation type", by_op), ("graph node", by_node)):
        longest = sorted(micros_of.items(), key=lambda each: -each[1])[:_NAMED]
        for at, (name, micros) in enumerate(longest, 1):
            told = f"cpu: {text.duration(micros)}, accelerator: {text.duration(0)}"
            share = f"{100 * micros / whole:.2f}%"
            reports.append(
                f"top {at} {what}: {name}, {told}, total: {text.duration(micros)} ({share})"
            )
    return reports
