"""Who is at work in a graph: one replica of a model, or what stands above all of them.

A strategy (`tf.distribute`) notes here what it runs, so that variables and optimizers, which know nothing of
strategies, can ask whose node they are about to make.
"""

import contextlib
import enum

from millrace._graph.graph import get_default_graph


class ReduceOp(enum.Enum):
    """How the values of several replicas become one: their sum, or their mean."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def of(value):
        """The ReduceOp of one, or of its name in any case. ValueError for anything else."""
        try:
            return ReduceOp(getattr(value, "value", value).upper())
        except (AttributeError, ValueError):
            raise ValueError(f"reduce_op must be SUM or MEAN, but is {value!r}") from None


class _Stack:
    """The (strategy, replica's context or None) that one graph is in, the innermost last."""

    def __init__(self):
        self.entries = []
        self.is_loss_summed = False


def _entries():
    return get_default_graph().own(_Stack).entries


@contextlib.contextmanager
def entered(strategy, replica=None):
    """A `with` block of the default graph that belongs to a strategy.

    Args:
      strategy: the strategy.
      replica: the context of the replica that is at work; None for what stands above all.
    """
    entries = _entries()
    entries.append((strategy, replica))
    try:
        yield
    finally:
        entries.pop()


def current_strategy():
    """The strategy that the default graph is in; None outside of all."""
    entries = _entries()
    return entries[-1][0] if entries else None


def current_replica():
    """The context of the replica at work; None above all replicas, and outside of strategies."""
    entries = _entries()
    return entries[-1][1] if entries else None


def contexts_of(graph):
    """What a graph is in, for put_contexts."""
    return list(graph.own(_Stack).entries)


def put_contexts(graph, contexts):
    """Has a graph be in what contexts_of gave."""
    graph.own(_Stack).entries[:] = contexts


def note_loss_reduction(is_mean):
    """Told of each loss that is made: whether it is, or is about to become, a mean over a batch, and no sum."""
    get_default_graph().own(_Stack).is_loss_summed = not is_mean


def loss_reduction():
    """How the losses of replicas become the loss of all, and so how their gradients do.

    MEAN where an Estimator trains by a strategy of several replicas, unless the last loss that was made is a
    sum; SUM everywhere else: who runs replicas by hand divides losses by the size of the whole batch.
    """
    strategy = current_strategy()
    if strategy is None or not strategy.scales_losses or strategy.num_replicas_in_sync < 2:
        return ReduceOp.SUM
    return ReduceOp.SUM if get_default_graph().own(_Stack).is_loss_summed else ReduceOp.MEAN
