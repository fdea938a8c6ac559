"""An Estimator's model as replicas of a strategy: their input, and what they make together."""

from millrace._estimators.features import InitializerHook, argument_names
from millrace._flow.control_flow import group
from millrace._state.replica_contexts import ReduceOp, loss_reduction
from millrace._supervised.distribution.per_replica import PerReplica
from millrace._supervised.distribution.strategy import Strategy
from millrace._supervised.replica_group import EqualVariablesHook


def checked_strategy(value, name):
    """A Strategy or None as it is. TypeError for anything else."""
    if value is not None and not isinstance(value, Strategy):
        raise TypeError(f"{name} must be a tf.distribute.Strategy, but is {value!r}")
    return value


def replica_input(strategy, input_fn, known):
    """(features, labels or None, hooks) of an input_fn, with a PerReplica at each leaf; replicas take turns.

    Args:
      strategy: the Strategy.
      input_fn: gives a Dataset of batches for a replica; may name `input_context`.
      known: {argument: value} that it may name, too.

    Raises:
      ValueError: if it gives no Dataset.
    """
    names = argument_names(input_fn)

    def called(context):
        given = {**known, "input_context": context}
        made = input_fn(**{name: value for name, value in given.items() if name in names})
        if not hasattr(made, "make_initializable_iterator"):
            raise ValueError(
                f"input_fn must return a tf.data.Dataset when a tf.distribute.Strategy trains, not {made!r}"
            )
        return made

    iterator = strategy.make_input_fn_iterator(called)
    element = iterator.get_next()
    hooks = [InitializerHook(iterator)]
    if isinstance(element, tuple):
        if len(element) != 2:
            raise ValueError(
                f"input_fn's elements must be (features, labels) or features alone, not {len(element)} things"
            )
        return (*element, hooks)
    return element, None, hooks


def trained_together(strategy, make_spec, features, labels):
    """The EstimatorSpec of all replicas of a model in training.

    Args:
      strategy: the Strategy, whose scope the program is in.
      make_spec: gives a replica's EstimatorSpec for its features and labels.
      features, labels: with PerReplicas.

    Returns:
      the first replica's, with the loss of all (their mean, or the sum if losses are sums) and an Operation
      that trains all.
    """
    with strategy.loss_scaling():
        specs = strategy.run_each(make_spec, (features, labels))
        is_mean = strategy.num_replicas_in_sync > 1 and loss_reduction() == ReduceOp.MEAN
    loss = strategy.reduce(
        ReduceOp.MEAN if is_mean else ReduceOp.SUM, PerReplica([spec.loss for spec in specs])
    )
    return specs[0]._replace(loss=loss, train_op=group(*[spec.train_op for spec in specs]))


def session_hooks(strategy):
    """The hooks by which the tasks of a strategy begin each session with the same values."""
    extended = strategy.extended
    if extended.replica_group is None:
        return []
    return [EqualVariablesHook(extended.replica_group, extended.worker == 0)]
