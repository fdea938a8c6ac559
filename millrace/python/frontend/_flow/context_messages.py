"""Conditionals and loops as messages: which nodes belong to each, and what comes in by which entrance.

MetaGraphs carry them, so that a program that reads one knows what is inside of what.
"""

from millrace._values.messages import Message, by_name, many


class ValuesDef(Message):
    """The Tensors inside, and for each one outside that comes in the one inside that stands for it."""

    _fields = {"values": (1, many(str)), "external_values": (2, by_name(str))}


class ControlFlowContextDef(Message):
    """One of the two."""


class CondContextDef(Message):
    """A branch of a conditional."""

    _fields = {
        "context_name": (1, str),
        "pred_name": (2, str),
        "pivot_name": (3, str),
        "branch": (4, int),
        "values_def": (5, ValuesDef),
        "nested_contexts": (6, many(ControlFlowContextDef)),
    }


class WhileContextDef(Message):
    """A loop."""

    _fields = {
        "context_name": (1, str),
        "parallel_iterations": (2, int),
        "back_prop": (3, bool),
        "swap_memory": (4, bool),
        "pivot_name": (5, str),
        "pivot_for_pred_name": (6, str),
        "pivot_for_body_name": (7, str),
        "loop_exit_names": (8, many(str)),
        "values_def": (9, ValuesDef),
        "loop_enter_names": (10, many(str)),
        "maximum_iterations_name": (11, str),
        "nested_contexts": (12, many(ControlFlowContextDef)),
    }


ControlFlowContextDef._fields = {
    "cond_ctxt": (1, CondContextDef),
    "while_ctxt": (2, WhileContextDef),
}


def _common(context, kind, inside, own):
    """A message of class `kind` with what both have.

    Args:
      inside: a function of a name that gives it as it is in the scope that is exported.
      own: Tensors that belong to the region, beside the outputs of its nodes.
    """
    graph = context.graph
    values = {tensor.name for tensor in own}
    for node in context.nodes:
        values.update(tensor.name for tensor in graph.outputs(node))
    made = kind(context_name=inside(context.full_name))
    for outside, entrance in context.entrances():
        values.update((outside.name, entrance.name))
        made.values_def.external_values[inside(outside.name)] = inside(entrance.name)
    made.values_def.values = sorted(map(inside, values))
    for inner in context.inner:
        field = "while_ctxt" if inner.is_loop else "cond_ctxt"
        nested = ControlFlowContextDef()
        setattr(nested, field, inner.to_proto(inside=inside))
        made.nested_contexts.append(nested)
    return made


def strip_scope(export_scope):
    """A function that takes a name scope off names."""
    prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
    return lambda name: name.removeprefix(prefix)


def is_outside(name, export_scope):
    """Whether a name is not in a name scope; None is the scope of all."""
    return bool(export_scope) and not name.startswith(export_scope)


def cond_message(context, inside):
    """The CondContextDef of a CondContext."""
    made = _common(context, CondContextDef, inside, [context.predicate, context.pivot_tensor])
    made.pred_name = inside(context.predicate.name)
    made.pivot_name = inside(context.pivot_tensor.name)
    made.branch = context.branch
    return made


def while_message(context, inside):
    """The WhileContextDef of a WhileContext."""
    made = _common(context, WhileContextDef, inside, context.exits)
    made.parallel_iterations = context.parallel_iterations
    made.back_prop = context.back_prop
    made.swap_memory = context.swap_memory
    made.pivot_name = inside(context.proceed.name)
    made.pivot_for_pred_name = inside(context.first_merged.name)
    made.pivot_for_body_name = inside(context.first_current.name)
    made.loop_exit_names = [inside(tensor.name) for tensor in context.exits]
    made.loop_enter_names = [inside(tensor.name) for tensor in context.entered]
    return made
