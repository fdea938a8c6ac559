"""Doing one thing or another, one after another, or again: tf.group, tf.cond, tf.while_loop ..."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Operation
from millrace._ops.arithmetic import cast
from millrace._ops.gradients import IndexedSlices
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes, structure

__all__ = ["Assert", "case", "cond", "group", "no_op", "tuple", "while_loop", "with_dependencies"]


def no_op(name=None):
    """An Operation that does nothing; control inputs make it wait."""
    return gen_ops.no_op(name=name)


def _operation(item):
    element = getattr(item, "_as_graph_element", lambda: item)()
    element = getattr(element, "op", element)
    if not isinstance(element, Operation):
        raise TypeError(
            f"Expected tf.Operation, tf.Tensor or tf.Variable in tf.group, got {item!r}"
        )
    return element


def group(*inputs, name=None, **unknown):
    """An Operation that is done when all inputs are.

    Args:
      *inputs: Operations, Tensors, Variables, or nested lists of them.
      name: a name for the node.
    """
    if unknown:
        raise ValueError(f"Unknown keyword arguments: {', '.join(unknown)}")
    operations = [_operation(item) for item in structure.flatten(list(inputs)) if item is not None]
    with name_scope(name, "group_deps", operations) as scope:
        by_device = {}
        for operation in operations:
            by_device.setdefault(operation.device, []).append(operation)
        if len(by_device) <= 1:
            device, members = next(iter(by_device.items()), ("", []))
            return _waiting_for(members, device, scope)
        # One node per device, so that the last one waits for few.
        parts = [
            _waiting_for(members, device, None) for device, members in sorted(by_device.items())
        ]
        return _waiting_for(parts, None, scope)


def _waiting_for(operations, device, name):
    graph = get_default_graph()
    with graph.control_dependencies(operations):
        if not device:
            return no_op(name=name)
        with graph.device(device):
            return no_op(name=name)


def tuple(tensors, name=None, control_inputs=None):
    """The same Tensors, each available only when all of them are.

    Args:
      tensors: a list of Tensors; None stays None.
      name: a name for the nodes.
      control_inputs: more to wait for.
    """
    with name_scope(name, "tuple", tensors):
        waited = [_operation(tensor) for tensor in tensors if tensor is not None]
        waited += [_operation(item) for item in control_inputs or []]
        if not waited:
            raise ValueError("Must have at least one Tensor")
        gate = group(*waited)
        return [
            tensor if tensor is None else with_dependencies([gate], tensor) for tensor in tensors
        ]


def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor`, available only when the dependencies have run. Slices stay slices."""
    if isinstance(output_tensor, IndexedSlices):
        values = with_dependencies(dependencies, output_tensor.values, name)
        return IndexedSlices(values, output_tensor.indices, output_tensor.dense_shape)
    with name_scope(name, "control_dependency", [output_tensor]) as scope:
        with get_default_graph().control_dependencies(dependencies):
            return gen_ops.identity(convert(output_tensor), name=scope)


def Assert(condition, data, summarize=None, name=None):
    """An Operation that fails with InvalidArgumentError, showing `data`, unless `condition` holds.

    Args:
      condition: a bool scalar.
      data: a list of Tensors to show.
      summarize: how many elements of each.
      name: a name for the nodes.
    """
    with name_scope(name, "Assert", [condition]) as scope:
        return gen_ops.assert_(
            condition, list(data), summarize=3 if summarize is None else summarize, name=scope
        )


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """The result of the first function whose predicate is true.

    Args:
      pred_fn_pairs: a dictionary or list of (bool scalar, function).
      default: called if none is true; without it that is an error.
      exclusive: True to fail if several are true.
      strict: True to keep a result of one as a list.
      name: a name for the nodes.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        raise ValueError("case() needs at least one (predicate, function) pair")
    with name_scope(name, "case", [predicate for predicate, _ in pairs]):
        predicates = gen_ops.pack([predicate for predicate, _ in pairs], axis=0)
        checks = []
        if exclusive:
            count = reduce_sum(cast(predicates, dtypes.int32))
            checks.append(
                Assert(gen_ops.less_equal(count, 1), ["case: several are true", predicates])
            )
        if default is None:
            default = _failing(pairs[0][1], predicates)
        with get_default_graph().control_dependencies(checks):
            chosen = default
            for predicate, function in reversed(pairs):
                chosen = _else(predicate, function, chosen, strict)
            return chosen()


def _else(predicate, function, otherwise, strict):
    return lambda: cond(predicate, function, otherwise, strict=strict)


def _failing(function, predicates):
    """A branch of the shape of `function` that fails when it is taken."""

    def fail():
        check = Assert(False, ["case: None of conditions evaluated as True", predicates])
        with get_default_graph().control_dependencies([check]):
            return function()

    return fail
