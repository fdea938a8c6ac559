"""Conditionals and loops read from the messages of a MetaGraph, whose nodes are in the default graph."""

from millrace._flow.cond_context import CondContext
from millrace._flow.context_messages import CondContextDef, WhileContextDef
from millrace._flow.while_context import WhileContext
from millrace._graph.collection_protos import register_proto_function
from millrace._graph.collections import GraphKeys
from millrace._graph.graph import get_default_graph


class _Names:
    """The elements of the default graph by the names that a message has for them."""

    def __init__(self, import_scope):
        self._prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
        self._graph = get_default_graph()

    def scope_of(self, context_name):
        """The name scope that a region was made in."""
        return self._prefix + context_name.rpartition("/")[0]

    def tensor(self, name):
        return self._graph.get_tensor_by_name(self._prefix + name)

    def fill(self, context, message):
        """Gives a region its nodes, its entrances and the regions inside it."""
        graph, values = self._graph, message.values_def
        outside = values.external_values
        context.take((self.tensor(key), self.tensor(value)) for key, value in outside.items())
        for name in {name.partition(":")[0] for name in values.values if name not in outside}:
            graph.move_into_context(graph.get_operation_by_name(self._prefix + name), context)
        before = graph.enter_context(context)
        try:
            for nested in message.nested_contexts:
                if nested.HasField("while_ctxt"):
                    self.loop(nested.while_ctxt)
                else:
                    self.branch(nested.cond_ctxt)
        finally:
            graph.leave_context(before)
        return context

    def branch(self, message):
        predicate, pivot = self.tensor(message.pred_name), self.tensor(message.pivot_name)
        context = CondContext(self.scope_of(message.context_name), predicate, pivot, message.branch)
        return self.fill(context, message)

    def loop(self, message):
        context = WhileContext(self.scope_of(message.context_name), message.parallel_iterations)
        context.back_prop, context.swap_memory = message.back_prop, message.swap_memory
        context.proceed = self.tensor(message.pivot_name)
        context.first_merged = self.tensor(message.pivot_for_pred_name)
        context.first_current = self.tensor(message.pivot_for_body_name)
        context.pivot = context.first_current.op
        context.exits = [self.tensor(name) for name in message.loop_exit_names]
        context.entered = [self.tensor(name) for name in message.loop_enter_names]
        return self.fill(context, message)


register_proto_function(
    GraphKeys.COND_CONTEXT, CondContextDef, lambda message, scope: _Names(scope).branch(message)
)
register_proto_function(
    GraphKeys.WHILE_CONTEXT, WhileContextDef, lambda message, scope: _Names(scope).loop(message)
)
