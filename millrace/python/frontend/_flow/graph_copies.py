"""Parts of graphs copied, with other inputs, and nodes that read other Tensors (tf.contrib.graph_editor)."""

from millrace._flow.graph_walks import (
    ControlOutputs,
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_intersection_ops,
    make_list_of_op,
    make_list_of_t,
    select_ops,
)
from millrace._graph.graph import Graph
from millrace._graph.op_specs import specs
from millrace._graph.operation import Operation, Tensor
from millrace._ops.arrays import placeholder
from millrace._values import structure
from millrace._values.device_spec import DeviceSpec


class SubGraphView:
    """Some Operations of a graph, with what they read from outside and what is read of them there.

    Args:
      inside_ops: Operations.

    Attributes:
      graph: their Graph, None if there are none.
      ops: a list of them, in the order of the graph.
      inputs, outputs: lists of Tensors: compute_boundary_ts.
    """

    def __init__(self, inside_ops=()):
        ops = make_list_of_op(inside_ops)
        self._ops = sorted(dict.fromkeys(ops), key=lambda op: op.node_id)
        self._inputs, self._outputs, _ = compute_boundary_ts(self._ops)

    @property
    def graph(self):
        return self._ops[0].graph if self._ops else None

    @property
    def ops(self):
        return list(self._ops)

    @property
    def inputs(self):
        return list(self._inputs)

    @property
    def outputs(self):
        return list(self._outputs)

    def input_index(self, t):
        """Which of `inputs` a Tensor is. ValueError for none."""
        return self._inputs.index(t)

    def output_index(self, t):
        """Which of `outputs` a Tensor is. ValueError for none."""
        return self._outputs.index(t)

    def consumers(self):
        """The Operations outside that read the outputs."""
        members = set(self._ops)
        readers = dict.fromkeys(op for tensor in self._outputs for op in tensor.consumers())
        return [op for op in readers if op not in members]

    def is_passthrough(self, t):
        """Whether a Tensor is both an input and an output: never so of nodes."""
        return t in self._inputs and t in self._outputs

    def find_op_by_name(self, op_name):
        """The Operation of that name. ValueError if it is not among them."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not found in subgraph.")

    def __len__(self):
        return len(self._ops)

    def __bool__(self):
        return bool(self._ops)

    def __str__(self):
        parts = [f"SubGraphView of {len(self._ops)} ops:"]
        parts += [f"  {op.name}" for op in self._ops]
        parts += [f"  input {tensor.name}" for tensor in self._inputs]
        parts += [f"  output {tensor.name}" for tensor in self._outputs]
        return "\n".join(parts)


def make_view(*args, **kwargs):
    """The SubGraphView of what select_ops gives; a view as it is."""
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    return SubGraphView(select_ops(*args, **kwargs))


def make_view_from_scope(scope, graph):
    """The SubGraphView of a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))


class TransformerInfo:
    """What became of what was copied.

    Attributes:
      graph, graph_: the Graph of the originals, and of the copies.
      transformed_ops, transformed_ts: {original: copy} of Operations and Tensors.
    """

    def __init__(self, graph, graph_):
        self.graph, self.graph_ = graph, graph_
        self.transformed_ops, self.transformed_ts = {}, {}

    def transformed(self, original, missing_fn=None):
        """The copies of a structure of Operations, Tensors and names; missing_fn(original), or None, for others."""

        def of(item):
            if isinstance(item, str):
                item = self.graph.as_graph_element(item)
            known = self.transformed_ops if isinstance(item, Operation) else self.transformed_ts
            if item in known:
                return known[item]
            return None if missing_fn is None else missing_fn(item)

        return structure.map_structure(of, original)

    def original(self, transformed, missing_fn=None):
        """The other way round."""
        sources = {
            copy: source
            for known in (self.transformed_ops, self.transformed_ts)
            for source, copy in known.items()
        }

        def of(item):
            if isinstance(item, str):
                item = self.graph_.as_graph_element(item)
            if item in sources:
                return sources[item]
            return None if missing_fn is None else missing_fn(item)

        return structure.map_structure(of, transformed)


def copy(sgv, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Copies Operations; in their own graph they read what the originals read, in another one placeholders.

    Args:
      sgv: a SubGraphView, or what make_view takes.
      dst_graph: the Graph for the copies; their own if None.
      dst_scope: the name scope for them; src_scope: the beginning of the originals' names that it takes the place
        of.
      reuse_dst_scope: True to use the scope even if it is there already; else "_1" and so on is added to it.

    Returns:
      (the SubGraphView of the copies, a TransformerInfo).

    Raises:
      TypeError: if dst_graph is no Graph; ValueError: if an original is not in src_scope, or reads what is made of
      its own outputs. NotImplementedError: for what is inside a cond or a while_loop.
    """
    return copy_with_input_replacements(sgv, {}, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv, replacement_ts, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False
):
    """`copy`, with other Tensors in the place of some that are read from outside.

    Args:
      replacement_ts: {Tensor that is read: Tensor of dst_graph to read}.
      the others, and errors: as for copy.
    """
    view = make_view(sgv)
    if not view:
        raise ValueError("there are no Operations to copy")
    target = view.graph if dst_graph is None else dst_graph
    if not isinstance(target, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
    info = TransformerInfo(view.graph, target)
    with target.as_default(), target.device(None):
        prefix = _scope_for(target, dst_scope, reuse_dst_scope)
        for op in _makers_first(view.ops):
            _copy_op(op, info, replacement_ts, prefix, src_scope)
        for op, made in info.transformed_ops.items():
            for before in op.control_inputs:
                waited = info.transformed_ops.get(before)
                if waited is None and target is info.graph:
                    waited = before
                if waited is not None:
                    target.add_control_input(made, waited)
    return SubGraphView(list(info.transformed_ops.values())), info


def _makers_first(ops):
    """Operations outside of loops, each behind those of them that it reads of: a node that was made to read another
    one may be older than that."""
    for op in ops:
        if op.control_context is not None:
            raise NotImplementedError(
                f"Operation '{op.name}' is inside a cond or a while_loop, of which copies would be no part; build the "
                "part again with other inputs"
            )
    members, ordered, opened, path = set(ops), {}, set(), ops[::-1]
    while path:
        op = path[-1]
        makers = [read.op for read in op.inputs if read.op in members and read.op not in ordered]
        if not makers:
            ordered[path.pop()] = True
        elif op in opened:
            raise ValueError(f"Operation '{op.name}' reads what is made of its own outputs")
        else:
            opened.add(op)
            path.extend(makers)
    return list(ordered)


def _scope_for(graph, scope, reuses):
    scope = scope.removesuffix("/")
    if not scope:
        return ""
    return (scope if reuses else graph.unique_name(scope)) + "/"


def _copy_op(op, info, replacement_ts, prefix, src_scope):
    name = op.name
    if src_scope:
        start = src_scope.removesuffix("/") + "/"
        if not name.startswith(start):
            raise ValueError(f"{name} does not start with {src_scope}")
        name = name.removeprefix(start)
    inputs = []
    for tensor in op.inputs:
        if tensor in info.transformed_ts:
            inputs.append(info.transformed_ts[tensor])
        elif tensor in replacement_ts:
            inputs.append(replacement_ts[tensor])
        elif info.graph_ is info.graph:
            inputs.append(tensor)
        else:
            info.transformed_ts[tensor] = make_placeholder_from_tensor(tensor, prefix)
            inputs.append(info.transformed_ts[tensor])
    made = op_like(op, info.graph_, inputs, prefix + name)
    info.transformed_ops[op] = made
    info.transformed_ts.update(zip(op.outputs, made.outputs))


def op_like(op, graph, inputs, name):
    """A new Operation that does what another one does, maybe in another Graph.

    Args:
      op: the Operation.
      graph: the Graph for the new one; its device scopes fill in what `op` leaves open.
      inputs: Tensors of that graph, in slot order.
      name: its name in the current name scope of that graph.

    Raises:
      as Graph.create_op.
    """
    spec = specs[op.type]
    attrs = {key: op.get_attr(key) for key in op.node_def.attr if key in spec.attrs}
    made = graph.create_op(op.type, inputs, attrs=attrs, name=name)
    if op.device:
        around = DeviceSpec.from_string(made.device)
        graph.set_device(made, around.make_merged_spec(DeviceSpec.from_string(op.device)))
    return made


def graph_replace(target_ts, replacement_ts, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Tensors as they were if others were in the place of some: what lies between is copied.

    Args:
      target_ts: a structure of Tensors.
      replacement_ts: {Tensor: Tensor in its place}.
      dst_scope, src_scope, reuse_dst_scope: as for copy.

    Returns:
      the same structure; a Tensor that does not depend on any that is replaced is itself.

    Raises:
      ValueError: if no target depends on what is replaced; and as copy.
    """
    targets = make_list_of_t(structure.flatten(target_ts), allow_graph=False)
    controls = ControlOutputs(targets[0].graph)
    ops = get_walks_intersection_ops(list(replacement_ts), targets, control_ios=controls)
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(
        ops, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope
    )
    return info.transformed(target_ts, lambda tensor: tensor)


def placeholder_name(t=None, scope=None, prefix="geph"):
    """A name for a placeholder that stands for a Tensor (None: for anything) in a scope."""
    if t is not None and not isinstance(t, Tensor):
        raise TypeError(f"Expected a tf.Tensor, got: {type(t)}")
    own = prefix if t is None else t.op.name.rpartition("/")[2]
    if t is not None and not own.startswith(f"{prefix}__"):
        own = f"{prefix}__{own}_{t.value_index}"
    if scope is None:
        scope = t.op.name.rpartition("/")[0] if t is not None else ""
    return f"{scope.removesuffix('/')}/{own}" if scope else own


def make_placeholder_from_tensor(t, scope=None, prefix="geph"):
    """A placeholder of a Tensor's type and shape, in the default graph."""
    return placeholder(t.dtype.base_dtype, t.shape, name=placeholder_name(t, scope, prefix))


def make_placeholder_from_dtype_and_shape(dtype, shape=None, scope=None, prefix="geph"):
    """A placeholder of a type and shape, in the default graph."""
    return placeholder(dtype, shape, name=placeholder_name(None, scope, prefix))


def reroute_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Lets all that reads ts1[i] read ts0[i].

    Args:
      ts0, ts1: Tensors, or lists of them, of one length.
      can_modify: the Operations that may be changed; cannot_modify: those that may not.

    Returns:
      how many inputs were changed.

    Raises:
      ValueError: if lengths, types or shapes differ, or both arguments are given; RuntimeError: if a session
      runs one already.
    """
    pairs = _pairs(ts0, ts1)
    return sum(_rerouted(new, old, can_modify, cannot_modify) for new, old in pairs)


def swap_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Lets all that reads ts0[i] read ts1[i], and the other way round; the rest as for reroute_ts."""
    changed = 0
    for first, second in _pairs(ts0, ts1):
        of_first = _places(first, can_modify, cannot_modify)
        changed += _rerouted(first, second, can_modify, cannot_modify)
        for op, slot in of_first:
            op.graph.set_input(op, slot, second)
        changed += len(of_first)
    return changed


def _pairs(ts0, ts1):
    ts0, ts1 = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(ts0) != len(ts1):
        raise ValueError(f"there are {len(ts0)} Tensors and {len(ts1)} others")
    for new, old in zip(ts0, ts1):
        if new.graph is not old.graph:
            raise ValueError(f"{new.name} and {old.name} are in different graphs")
        if new.dtype != old.dtype or not new.shape.is_compatible_with(old.shape):
            raise ValueError(f"{new} can't be read in the place of {old}")
    return list(zip(ts0, ts1))


def _places(tensor, can_modify, cannot_modify):
    """[(Operation that reads a Tensor and may be changed, which of its inputs that is)]."""
    if can_modify is not None and cannot_modify is not None:
        raise ValueError("either can_modify or cannot_modify can be given, not both")
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    refused = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))
    return [
        (op, slot)
        for op in dict.fromkeys(tensor.consumers())
        if op not in refused and (allowed is None or op in allowed)
        for slot, read in enumerate(op.inputs)
        if read == tensor
    ]


def _rerouted(new, old, can_modify, cannot_modify):
    places = _places(old, can_modify, cannot_modify)
    for op, slot in places:
        op.graph.set_input(op, slot, new)
    return len(places)


def add_control_inputs(op, cops):
    """Makes an Operation wait for others.

    Raises:
      TypeError: for what is no Operation; ValueError: if it waits for one already.
    """
    if not isinstance(op, Operation):
        raise TypeError(f"Expected a tf.Operation, got: {type(op)}")
    for before in make_list_of_op(cops, allow_graph=False):
        if before in op.control_inputs:
            raise ValueError(f"{before.name} is already a control_input of {op.name}")
        op.graph.add_control_input(op, before)
