"""Scaffold: the Operations that initialize, check, summarize and save a model, gathered or made."""

import logging

from millrace._flow.control_flow import group
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection, get_collection
from millrace._graph.graph import get_default_graph
from millrace._saving.graph_savers import default_saver
from millrace._state.tables import tables_initializer
from millrace._state.variable_groups import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from millrace._summaries.building import merge_all

_log = logging.getLogger("millrace")

_FIELDS = (
    "init_op",
    "init_feed_dict",
    "ready_op",
    "ready_for_local_init_op",
    "local_init_op",
    "summary_op",
    "saver",
    "local_init_feed_dict",
)


class Scaffold:
    """What a session needs of a model beside the model; what is not given is made by `finalize`.

    Args:
      init_op: initializes the model; all global variables if None.
      init_feed_dict: feeds for it.
      init_fn: a function of (scaffold, session), called after it.
      ready_op: gives the names of variables without a value.
      ready_for_local_init_op: likewise before local_init_op.
      local_init_op: initializes local variables and tables.
      summary_op: all summaries together.
      saver: a tf.train.Saver.
      copy_from_scaffold: another one, for what is not given.
      local_init_feed_dict: feeds for local_init_op.

    Attributes:
      The arguments; what is made joins the collections of tf.GraphKeys, and is taken from there if it is
      there already. init_fn takes the session alone.
    """

    def __init__(
        self,
        init_op=None,
        init_feed_dict=None,
        init_fn=None,
        ready_op=None,
        ready_for_local_init_op=None,
        local_init_op=None,
        summary_op=None,
        saver=None,
        copy_from_scaffold=None,
        local_init_feed_dict=None,
    ):
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        given = (
            init_op,
            init_feed_dict,
            ready_op,
            ready_for_local_init_op,
            local_init_op,
            summary_op,
            saver,
            local_init_feed_dict,
        )
        for name, value in zip(_FIELDS, given):
            if value is None and other is not None:
                value = getattr(other, name)
            setattr(self, name, value)
        self.given_init_fn = init_fn or (other.given_init_fn if other is not None else None)

    @property
    def init_fn(self):
        """A function of the session; None if there is none."""
        if self.given_init_fn is None:
            return None
        return lambda session: self.given_init_fn(self, session)

    def finalize(self):
        """Makes what is missing, and the graph read-only. Returns itself."""
        for name, collection, make in (
            ("init_op", GraphKeys.INIT_OP, default_init_op),
            ("ready_op", GraphKeys.READY_OP, report_uninitialized_variables),
            (
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            ),
            ("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op),
            ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
        ):
            if getattr(self, name) is None:
                setattr(self, name, self.get_or_default(name, collection, make))
        if self.saver is None:
            self.saver = default_saver()
        self.saver.build()
        graph = get_default_graph()
        if not graph.finalized:
            graph.finalize()
            _log.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        """The only item of a collection; if it is empty, a new one that joins it.

        Raises:
          RuntimeError: if it has several.
        """
        found = get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one '
                "to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op():
        """Initializes local variables and tables."""
        return group(local_variables_initializer(), tables_initializer())


def default_init_op():
    """Initializes all global variables."""
    return group(global_variables_initializer())
