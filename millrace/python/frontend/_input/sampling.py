"""Examples drawn from a stream of them: by a chance, so that classes are as frequent as is wanted, by weights."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._input.batching import batch, maybe_batch
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import gather, one_hot, squeeze, stop_gradient, where, zeros_like
from millrace._ops.broadcasting import repeat
from millrace._ops.random_values import random_poisson, random_uniform
from millrace._ops.reductions import reduce_all, reduce_max, reduce_mean, reduce_sum
from millrace._state.named_variables import get_local_variable, variable_scope
from millrace._state.variables import Variable
from millrace._train.moving_averages import assign_moving_average
from millrace._values import dtypes

_SEEN_BEFORE = 10  # how often each class is taken to have been seen at first
_TOLERANCE = 1e-6


def rejection_sample(
    tensors,
    accept_prob_fn,
    batch_size,
    queue_threads=1,
    enqueue_many=False,
    prebatch_capacity=16,
    prebatch_threads=1,
    runtime_checks=False,
    name=None,
):
    """Batches of examples, each of which is taken by a chance.

    Args:
      tensors: a list of Tensors, an example.
      accept_prob_fn: a function of such a list that gives a scalar: the probability that it is taken.
      batch_size: how many examples a batch has.
      queue_threads: how many threads fill the queue of batches.
      enqueue_many: True if `tensors` are of several examples, along their first axis; prebatch_capacity and
        prebatch_threads are of the queue that they go through one by one.
      runtime_checks: True to check, when it runs, that probabilities are in [0, 1].
      name: the variable scope.

    Returns:
      a list of Tensors, as many as there were, with an axis for the batch.

    Raises:
      ValueError: if there are several numbers of examples.
    """
    with variable_scope(name, "rejection_sample", list(tensors)):
        example = [convert(each) for each in tensors]
        if enqueue_many:
            example = _one_by_one(example, prebatch_threads, prebatch_capacity)
        probability = accept_prob_fn(example)
        if runtime_checks:
            inside = gen_ops.logical_and(
                gen_ops.less_equal(0.0, probability), gen_ops.less_equal(probability, 1.0)
            )
            told = ["accept_prob_fn gave no probability", probability]
            with control_dependencies([Assert(inside, told)]):
                probability = gen_ops.identity(probability)
        return _kept(example, probability, batch_size, queue_threads)


def _one_by_one(tensors, threads, capacity):
    """The next example of several."""
    first = tensors[0].shape.with_rank_at_least(1)
    for tensor in tensors:
        tensor.shape.with_rank_at_least(1)[:1].assert_is_compatible_with(first[:1])
    taken = batch(tensors, 1, num_threads=threads, capacity=capacity, enqueue_many=True)
    taken = taken if isinstance(taken, (list, tuple)) else [taken]
    return [squeeze(each, [0]) for each in taken]


def _kept(example, probability, batch_size, threads):
    """Batches of the examples that chance keeps."""
    keeps = gen_ops.less(random_uniform([]), cast(probability, dtypes.float32))
    made = maybe_batch(example, keeps, batch_size, num_threads=threads)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def stratified_sample(
    tensors,
    labels,
    target_probs,
    batch_size,
    init_probs=None,
    enqueue_many=False,
    queue_capacity=16,
    threads_per_queue=1,
    name=None,
):
    """Batches of examples, left out by chance so that classes become as frequent as is wanted.

    Args:
      tensors: a list of Tensors, an example.
      labels: its class, an integer scalar from 0 on.
      target_probs: how frequent each class is to be: shares, a vector of known length.
      batch_size: how many examples a batch has.
      init_probs: how frequent each is; None to count while examples go by.
      enqueue_many: True if `tensors` and `labels` are of several examples, along their first axis.
      queue_capacity, threads_per_queue: of the queue that examples go through one by one.
      name: the name scope.

    Returns:
      (a list of Tensors with an axis for the batch, their labels).

    Raises:
      ValueError: if the length of a distribution is not known, or both differ. InvalidArgumentError when it runs,
      if one is none, a class that never comes is wanted, or a label is none.
    """
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        example, labels = [convert(each) for each in tensors], convert(labels)
        target = convert(target_probs, dtypes.float32)
        if not enqueue_many:
            example = [gen_ops.expand_dims(each, 0) for each in example]
            labels = gen_ops.expand_dims(labels, 0)
        count = target.shape.num_elements() if target.shape.ndims == 1 else None
        if count is None:
            raise ValueError(
                f"stratified_sample: target_probs is a vector of known length, not {target.shape}"
            )
        labels = _checked_labels(labels, count)
        initial = _counted(labels, count) if init_probs is None else init_probs
        initial = convert(initial, dtypes.float32)
        initial.shape.assert_is_compatible_with(target.shape)
        initial, target = _shares(initial, "init_probs"), _shares(target, "target_probs")
        never = gen_ops.logical_and(gen_ops.equal(initial, 0.0), gen_ops.greater(target, 0.0))
        told = ["classes that never come are wanted: init_probs, target_probs", initial, target]
        possible = Assert(gen_ops.logical_not(reduce_max(cast(never, dtypes.int32)) > 0), told)
        with control_dependencies([possible]):
            ratio = where(gen_ops.greater(initial, 0.0), target / initial, zeros_like(target))
            accepted = ratio / reduce_max(ratio)
        *one, label = _one_by_one([*example, labels], threads_per_queue, queue_capacity)
        chosen = _kept([*one, label], gather(accepted, label), batch_size, threads_per_queue)
        return chosen[:-1], chosen[-1]


def _checked_labels(labels, count):
    inside = gen_ops.logical_and(
        gen_ops.greater_equal(labels, 0), gen_ops.less(labels, cast(count, labels.dtype))
    )
    told = [f"a label is not in [0, {count})", labels]
    with control_dependencies([Assert(reduce_all(inside), told)]):
        return gen_ops.identity(labels)


def _shares(probabilities, name):
    """A distribution, once it is one."""
    total = reduce_sum(probabilities)
    fits = gen_ops.logical_and(
        reduce_all(gen_ops.greater_equal(probabilities, 0.0)),
        gen_ops.less(gen_ops.abs(total - 1.0), 10 * _TOLERANCE),
    )
    told = [f"{name} is no distribution", probabilities]
    with control_dependencies([Assert(fits, told)]):
        return gen_ops.identity(probabilities)


def _counted(labels, count):
    """How frequent classes have been so far."""
    seen = Variable([_SEEN_BEFORE] * count, trainable=False, name="class_count", dtype=dtypes.int64)
    now = reduce_sum(one_hot(labels, count, dtype=dtypes.int64), 0)
    # As one value: other threads count meanwhile.
    numbers = cast(seen.assign_add(now) + 0, dtypes.float32)
    return numbers / reduce_sum(numbers)


def resample_at_rate(inputs, rates, scope=None, seed=None, back_prop=False):
    """Examples, each as often as a Poisson distribution with its rate says.

    Args:
      inputs: a list of Tensors of several examples, along their first axis.
      rates: floats, a vector with one for each example.
      scope: the name scope.
      seed: a seed for what is drawn.
      back_prop: True to let gradients go through what was drawn.

    Returns:
      a list of Tensors with the drawn examples.
    """
    with name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = convert(rates, name="rates")
        counts = cast(random_poisson(rates, (), rates.dtype, seed=seed), dtypes.int32)
        places = repeat(gen_ops.range(0, gen_ops.size(counts), 1), counts)
        if not back_prop:
            places = stop_gradient(places)
        return [gather(each, places) for each in inputs]


def weighted_resample(inputs, weights, overall_rate, scope=None, mean_decay=0.999, seed=None):
    """resample_at_rate with rates in proportion to weights, whose running mean has the rate `overall_rate`.

    Args:
      inputs, seed: as there.
      weights: floats, a vector with one for each example.
      overall_rate: how often an example of mean weight comes, on average.
      scope: the name scope.
      mean_decay: how slowly the mean of weights, a local variable, follows.

    Returns:
      (a list of Tensors with the drawn examples, the rates of these).
    """
    with name_scope(scope, "weighted_resample", list(inputs)):
        weights = convert(weights)
        with variable_scope(scope, "estimate_mean", list(inputs)):
            estimated = get_local_variable(
                "estimated_mean", initializer=cast(0.0, weights.dtype), dtype=weights.dtype
            )
            mean = assign_moving_average(estimated, reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        found = resample_at_rate([rates, *inputs], rates, seed=seed)
        return found[1:], found[0]
