"""What a program asks of the strategy that it is in, if it is in one."""

import functools

from millrace._graph.graph import get_default_graph
from millrace._state import replica_contexts
from millrace._supervised.distribution.places import OnDevices
from millrace._supervised.distribution.replica_context import ReplicaContext
from millrace._supervised.distribution.extended import StrategyExtended
from millrace._supervised.distribution.strategy import Strategy


class _Anywhere(OnDevices):
    """Variables as they are without a strategy."""

    def make(self, next_creator, kwargs):
        return next_creator(**kwargs)


class _NoStrategy(Strategy):
    """What stands for a strategy where there is none: one replica, and everything where the program says."""

    def __init__(self):
        super().__init__(StrategyExtended([None], _Anywhere([])))

    def scope(self):
        """A `with` block that changes nothing."""
        return replica_contexts.entered(None)

    def run(self, fn, args=(), kwargs=None):
        """What the function gives."""
        return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run


@functools.cache
def _none():
    return _NoStrategy()


def get_strategy():
    """The Strategy that the default graph is in; one of a single replica outside of all."""
    return replica_contexts.current_strategy() or _none()


def has_strategy():
    """Whether the default graph is in a strategy's scope."""
    return replica_contexts.current_strategy() is not None


def get_replica_context():
    """The ReplicaContext of the replica at work; None above all replicas."""
    if has_strategy():
        return replica_contexts.current_replica()

    def alone(merge_fn, args, kwargs, barrier):
        return merge_fn(_none(), *args, **kwargs)

    return ReplicaContext(_none(), 0, alone)


def in_cross_replica_context():
    """Whether the default graph is in a strategy's scope, above all its replicas."""
    return has_strategy() and replica_contexts.current_replica() is None


def get_cross_replica_context():
    """The Strategy where the default graph is above all its replicas; None elsewhere."""
    return replica_contexts.current_strategy() if in_cross_replica_context() else None


def require_replica_context(replica_ctx):
    """RuntimeError unless `replica_ctx` is the context of the replica at work."""
    current = replica_contexts.current_replica()
    if current is not replica_ctx:
        raise RuntimeError(f"{replica_ctx!r} is not the replica at work, which is {current!r}")


class _Set:
    """The scope that experimental_set_strategy entered in a graph."""

    def __init__(self):
        self.scope = None


def experimental_set_strategy(strategy):
    """Enters a strategy's scope in the default graph, until another strategy or None is set.

    Raises:
      RuntimeError: inside the scope of another strategy.
    """
    known = get_default_graph().own(_Set)
    if known.scope is not None:
        known.scope.__exit__(None, None, None)
        known.scope = None
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        known.scope = scope


def get_loss_reduction():
    """ReduceOp.MEAN where an optimizer divides a replica's loss by the number of replicas, else SUM."""
    return replica_contexts.loss_reduction()
