"""Parts of graphs that a program picks: by names, by what leads to them and from them (tf.contrib.graph_editor)."""

import re

from millrace._graph.graph import Graph
from millrace._graph.operation import Operation, Tensor


def make_list_of_op(ops, check_graph=True, allow_graph=True, ignore_ts=False):
    """A list of Operations.

    Args:
      ops: an Operation, a list of them, or a Graph.
      check_graph: True to refuse those of several graphs.
      allow_graph: False to refuse a Graph.
      ignore_ts: True to leave out Tensors that are among them.

    Raises:
      TypeError: for anything else; ValueError: for those of several graphs.
    """
    if isinstance(ops, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return ops.get_operations()
    return _of_kind(ops, Operation, Tensor if ignore_ts else None, check_graph)


def make_list_of_t(ts, check_graph=True, allow_graph=True, ignore_ops=False):
    """A list of Tensors; arguments and errors as for make_list_of_op."""
    if isinstance(ts, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return [tensor for op in ts.get_operations() for tensor in op.outputs]
    return _of_kind(ts, Tensor, Operation if ignore_ops else None, check_graph)


def _of_kind(items, kind, ignored, check_graph):
    items = list(items) if isinstance(items, (list, tuple, set, frozenset, dict)) else [items]
    found = [item for item in items if ignored is None or not isinstance(item, ignored)]
    for item in found:
        if not isinstance(item, kind):
            raise TypeError(f"Expected an object of type {kind.__name__}, got {item!r}")
    if check_graph and len({id(item.graph) for item in found}) > 1:
        raise ValueError(f"they belong to several graphs: {found}")
    return found


def get_tensors(graph):
    """All Tensors of a Graph. TypeError for what is none."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return make_list_of_t(graph)


def get_generating_ops(ts):
    """The Operations whose outputs these Tensors are, one for each."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts):
    """The Operations that read any of these Tensors."""
    found = {}
    for tensor in make_list_of_t(ts, allow_graph=False):
        found.update(dict.fromkeys(tensor.consumers()))
    return list(found)


class ControlOutputs:
    """Who waits for whom in a graph, by the one waited for.

    Args:
      graph: a Graph. TypeError for what is none.
    """

    def __init__(self, graph):
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        self._graph, self._waiting, self._version = graph, {}, 0
        self.update()

    @property
    def graph(self):
        return self._graph

    def update(self):
        """Looks again, at nodes that are new. Gives itself."""
        if self._version != self._graph.version:
            self._waiting, self._version = {}, self._graph.version
            for op in self._graph.get_operations():
                for before in op.control_inputs:
                    self._waiting.setdefault(before, []).append(op)
        return self

    def get_all(self):
        """{Operation: those that wait for it}."""
        return self._waiting

    def get(self, op):
        """Those that wait for an Operation."""
        return self._waiting.get(op, [])


def can_be_regex(obj):
    """Whether it is a text or a pattern."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj):
    """The pattern of a text. ValueError for what is neither."""
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def tensors_of(ops):
    """(the Tensors that Operations read, each once; those that they make)."""
    ops = make_list_of_op(ops)
    read = dict.fromkeys(tensor for op in ops for tensor in op.inputs)
    return list(read), [tensor for op in ops for tensor in op.outputs]


def filter_ts(ops, positive_filter):
    """The Tensors of Operations (or a Graph) for which a function is true; all if it is True."""
    read, made = tensors_of(ops)
    found = list(dict.fromkeys([*read, *made]))
    return found if positive_filter is True else [t for t in found if positive_filter(t)]


def filter_ts_from_regex(ops, regex):
    """The Tensors of Operations (or a Graph) in whose names a pattern is found."""
    return filter_ts(ops, lambda tensor: make_regex(regex).search(tensor.name))


def filter_ops(ops, positive_filter):
    """The Operations for which a function is true; all if it is True."""
    ops = make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if positive_filter(op)]


def filter_ops_from_regex(ops, regex):
    """The Operations in whose names a pattern is found."""
    return filter_ops(ops, lambda op: make_regex(regex).search(op.name))


def get_name_scope_ops(ops, scope):
    """The Operations in a name scope."""
    scope = re.escape(scope.removesuffix("/"))
    return filter_ops_from_regex(ops, f"^{scope}(/.*)?$")


def compute_boundary_ts(ops):
    """(Tensors that Operations read from outside, those that are read outside or by nobody, those that they
    read of each other)."""
    ops = make_list_of_op(ops)
    read, made = tensors_of(ops)
    own, members = set(made), set(ops)
    inside = [tensor for tensor in read if tensor in own]
    hidden = {tensor for tensor in inside if members.issuperset(tensor.consumers())}
    return (
        [tensor for tensor in read if tensor not in own],
        [tensor for tensor in made if tensor not in hidden],
        inside,
    )


def _controls(control_inputs, control_outputs, control_ios):
    """(whether to go along control inputs, the ControlOutputs to go along or None)."""
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios.")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None:
        if not isinstance(control_outputs, ControlOutputs):
            raise TypeError(f"Expected a ControlOutputs, got: {type(control_outputs)}")
        control_outputs.update()
    return control_inputs, control_outputs


def get_ops_ios(ops, control_inputs=False, control_outputs=None, control_ios=None):
    """The Operations next to some.

    Args:
      ops: Operations.
      control_inputs: True for those that they wait for, too.
      control_outputs: a ControlOutputs for those that wait for them, too.
      control_ios: a ControlOutputs for both.
    """
    control_inputs, control_outputs = _controls(control_inputs, control_outputs, control_ios)
    found = {}
    for op in make_list_of_op(ops):
        near = [tensor.op for tensor in op.inputs]
        near += [reader for tensor in op.outputs for reader in tensor.consumers()]
        near += control_outputs.get(op) if control_outputs is not None else []
        near += op.control_inputs if control_inputs else []
        found.update(dict.fromkeys(near))
    return list(found)


def get_within_boundary_ops(
    ops,
    seed_ops,
    boundary_ops=(),
    inclusive=True,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """Those of `ops` that are reached from seed_ops, in any direction, without going through boundary_ops.

    Args:
      inclusive: whether the boundary itself belongs to it.
      control_inputs, control_outputs, control_ios: as for get_ops_ios.

    Raises:
      ValueError: if a seed is on the boundary.
    """
    controls = _controls(control_inputs, control_outputs, control_ios)
    found = set(make_list_of_op(seed_ops, allow_graph=False))
    edge = set(make_list_of_op(boundary_ops))
    if edge & found:
        raise ValueError("Boundary is intersecting with the seeds.")
    wave = list(found)
    while wave:
        near = [op for op in get_ops_ios(wave, *controls) if op not in found]
        found.update(op for op in near if inclusive or op not in edge)
        wave = [op for op in near if op not in edge]
    return [op for op in make_list_of_op(ops) if op in found]


def _walked(seeds, following, inclusive, within_ops, within_ops_fn):
    """Operations that are reached from seeds, the seeds first, as a list."""
    within = None if within_ops is None else set(make_list_of_op(within_ops, allow_graph=False))
    if within is not None:
        seeds = [op for op in seeds if op in within]
    found = dict.fromkeys(seeds)
    wave = list(found)
    while wave:
        reached = dict.fromkeys(op for each in wave for op in following(each))
        wave = [
            op
            for op in reached
            if op not in found
            and (within is None or op in within)
            and (within_ops_fn is None or within_ops_fn(op))
        ]
        found.update(dict.fromkeys(wave))
    first = set(seeds)
    return [op for op in found if inclusive or op not in first]


def _seeds(given, of_tensors):
    """The Operations to begin with, of a list of Operations or of Tensors."""
    given = list(given) if isinstance(given, (list, tuple, set, frozenset, dict)) else [given]
    if given and isinstance(given[0], Tensor):
        return of_tensors(given)
    return make_list_of_op(given, allow_graph=False)


def get_forward_walk_ops(
    seed_ops,
    inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    stop_at_ts=(),
    control_outputs=None,
):
    """The Operations that follow from some, however far.

    Args:
      seed_ops: Operations, or Tensors for those that read them.
      inclusive: whether the first ones belong to it.
      within_ops: the only Operations to go through; within_ops_fn: a function that tells of one.
      stop_at_ts: Tensors that are not gone along.
      control_outputs: a ControlOutputs to go along, too.
    """
    _, controls = _controls(False, control_outputs, None)
    stops = set(make_list_of_t(stop_at_ts))

    def following(op):
        for tensor in op.outputs:
            if tensor not in stops:
                yield from tensor.consumers()
        if controls is not None:
            yield from controls.get(op)

    seeds = _seeds(seed_ops, get_consuming_ops)
    return _walked(seeds, following, inclusive, within_ops, within_ops_fn)


def get_backward_walk_ops(
    seed_ops,
    inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    stop_at_ts=(),
    control_inputs=False,
):
    """The Operations that lead to some, from however far.

    Args:
      seed_ops: Operations, or Tensors for those that make them.
      control_inputs: True to go along control inputs, too.
      the others: as for get_forward_walk_ops.
    """
    stops = set(make_list_of_t(stop_at_ts))

    def following(op):
        for tensor in op.inputs:
            if tensor not in stops:
                yield tensor.op
        if control_inputs:
            yield from op.control_inputs

    def makers(tensors):
        return list(dict.fromkeys(get_generating_ops(tensors)))

    seeds = _seeds(seed_ops, makers)
    return _walked(seeds, following, inclusive, within_ops, within_ops_fn)


def _both_walks(
    forward_seed_ops,
    backward_seed_ops,
    forward_inclusive=True,
    backward_inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    control_inputs, control_outputs = _controls(control_inputs, control_outputs, control_ios)
    within = {"within_ops": within_ops, "within_ops_fn": within_ops_fn}
    forward = get_forward_walk_ops(
        forward_seed_ops, forward_inclusive, control_outputs=control_outputs, **within
    )
    backward = get_backward_walk_ops(
        backward_seed_ops, backward_inclusive, control_inputs=control_inputs, **within
    )
    return forward, backward


def get_walks_intersection_ops(forward_seed_ops, backward_seed_ops, *args, **kwargs):
    """The Operations that follow from some and lead to others.

    Args:
      forward_seed_ops: as for get_forward_walk_ops; backward_seed_ops: as for get_backward_walk_ops.
      forward_inclusive, backward_inclusive, within_ops, within_ops_fn, control_inputs, control_outputs,
        control_ios: as for both, and get_ops_ios.
    """
    forward, backward = _both_walks(forward_seed_ops, backward_seed_ops, *args, **kwargs)
    both = set(backward)
    return [op for op in forward if op in both]


def get_walks_union_ops(forward_seed_ops, backward_seed_ops, *args, **kwargs):
    """The Operations that follow from some or lead to others; arguments as for get_walks_intersection_ops."""
    forward, backward = _both_walks(forward_seed_ops, backward_seed_ops, *args, **kwargs)
    return list(dict.fromkeys([*forward, *backward]))


def _selected(args, graph, positive_filter, by_regex, listed, mark, other_mark, is_marked):
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    found = {}
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            pattern = make_regex(arg).pattern
            if pattern.startswith(other_mark) or is_marked and not pattern.startswith(mark):
                continue
            # What marks it is a comment, but not where the pattern has to begin.
            items = by_regex(graph, arg)
        else:
            items = listed(arg)
        found.update(dict.fromkeys(items))
    return [item for item in found if positive_filter is None or positive_filter(item)]


def select_ops(*args, graph=None, positive_filter=None, restrict_ops_regex=False):
    """Operations: lists of them, and patterns that are found in their names.

    Args:
      *args: Operations, lists of them (Tensors among them are left out), Graphs, and texts or patterns. One
        that begins with "(?#ts)" is of Tensors alone.
      graph: where patterns are looked for.
      positive_filter: a function of an Operation; those for which it is false are left out.
      restrict_ops_regex: True to take only patterns that begin with "(?#ops)".

    Raises:
      ValueError: for a pattern without a graph; TypeError for what is none of these.
    """

    def listed(arg):
        return make_list_of_op(arg, ignore_ts=True)

    marks = "(?#ops)", "(?#ts)", restrict_ops_regex
    return _selected(args, graph, positive_filter, filter_ops_from_regex, listed, *marks)


def select_ts(*args, graph=None, positive_filter=None, restrict_ts_regex=False):
    """Tensors, as select_ops does Operations; a pattern that begins with "(?#ops)" is not of them."""

    def listed(arg):
        return make_list_of_t(arg, ignore_ops=True)

    marks = "(?#ts)", "(?#ops)", restrict_ts_regex
    return _selected(args, graph, positive_filter, filter_ts_from_regex, listed, *marks)


def select_ops_and_ts(*args, **kwargs):
    """(select_ops, select_ts) of the same; patterns of Tensors begin with "(?#ts)"."""
    return select_ops(*args, **kwargs), select_ts(*args, restrict_ts_regex=True, **kwargs)
