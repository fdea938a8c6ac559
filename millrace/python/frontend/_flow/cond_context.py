"""tf.cond: one of two branches, as Switch and Merge nodes."""

from millrace import _gen as gen_ops
from millrace._flow.context_messages import cond_message, is_outside, strip_scope
from millrace._flow.control_context import ControlContext
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Operation
from millrace._values import dtypes, structure


class CondContext(ControlContext):
    """One branch: what comes in through the output of a Switch that is alive if the branch is taken."""

    kind = "cond"

    def __init__(self, name, predicate, pivot, branch):
        super().__init__(name)
        self.predicate = predicate
        self.branch = branch  # 0: false, 1: true
        self.pivot_tensor = pivot
        self.pivot = pivot.op
        self._imported[predicate] = predicate

    def to_proto(self, export_scope=None, inside=None):
        """A CondContextDef; None if it is not in the name scope `export_scope`."""
        if is_outside(self.name, export_scope):
            return None
        return cond_message(self, inside or strip_scope(export_scope))

    def _import(self, tensor):
        switch = gen_ops.ref_switch if tensor.dtype.is_reference else gen_ops.switch
        graph = self.graph
        with graph.plumbing(self), graph.colocate_with(tensor.op, ignore_existing=True):
            return switch(tensor, self.predicate)[self.branch]

    def build(self, function):
        """(the structure that `function` returned, its leaves as Tensors of this branch)."""
        with self:
            returned = function()
            leaves = [self._leaf(leaf) for leaf in structure.flatten(returned)]
        return returned, leaves

    def _leaf(self, leaf):
        if leaf is None:
            return self.pivot_tensor
        if isinstance(leaf, Operation):
            # The branch is done when the operation is: the pivot stands for it.
            with self.graph.control_dependencies([leaf]):
                return gen_ops.identity(self.pivot_tensor)
        return self.bring(convert(leaf))


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """The result of `true_fn()` if `pred` is true, else that of `false_fn()`.

    Both functions are called once, to build both branches; only one of them runs in a step. Nodes that
    are made outside of the functions run in any case.

    Args:
      pred: a bool scalar.
      true_fn: a function without arguments that returns Tensors, or nested lists of them; an
        Operation or None stands for "done".
      false_fn: likewise, with results of the same structure and types.
      strict: True to keep lists of one element as lists.
      name: a name for the nodes.
      fn1, fn2: the older names of the functions.

    Raises:
      TypeError: if a function cannot be called or the types differ; ValueError: if the structures do.
    """
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("true_fn and false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond", [pred]) as scope:
        predicate = convert(pred, dtypes.bool, "pred")
        dead_if = gen_ops.switch(predicate, predicate)
        pivots = [
            gen_ops.identity(dead_if[0], name="switch_f"),
            gen_ops.identity(dead_if[1], name="switch_t"),
        ]
        predicate = gen_ops.identity(predicate, name="pred_id")
        branches = []
        for branch, function in ((1, true_fn), (0, false_fn)):
            context = CondContext(scope[:-1], predicate, pivots[branch], branch)
            branches.append(context.build(function))
            if context.outer is None:
                context.graph.add_to_collection(GraphKeys.COND_CONTEXT, context)
        (if_true, true_leaves), (if_false, false_leaves) = branches
        structure.assert_same_structure(if_true, if_false, "branches of tf.cond")
        graph = predicate.graph
        with graph.plumbing(graph.context):
            merged = [_merged(pair) for pair in zip(false_leaves, true_leaves)]
        result = structure.pack(if_true, merged)
    if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
        return result[0]
    return result


def _merged(pair):
    if_false, if_true = pair
    if if_false.dtype.base_dtype != if_true.dtype.base_dtype:
        raise TypeError(
            f"Outputs of true_fn and false_fn must have the same type: {if_true.dtype.name}, "
            f"{if_false.dtype.name}"
        )
    if all(leaf.dtype.is_reference for leaf in pair):
        return gen_ops.ref_merge(list(pair))[0]
    return gen_ops.merge(list(pair))[0]
