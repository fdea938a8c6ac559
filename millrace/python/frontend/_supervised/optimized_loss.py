"""tf.contrib.layers.optimize_loss: an optimizer by name, with what is done to its gradients, and summaries."""

import functools

from millrace import _gen as gen_ops
from millrace._flow.control_flow import with_dependencies
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import get_collection
from millrace._graph.operation import Tensor
from millrace._ops.arithmetic import cast
from millrace._ops.clipping import global_norm
from millrace._ops.random_values import truncated_normal
from millrace._state.initializers import constant_initializer, zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.variable_groups import trainable_variables
from millrace._summaries import building as summary
from millrace._supervised.train_ops import multiply_gradients, values_of, with_values
from millrace._train.accumulating import AdagradOptimizer, FtrlOptimizer
from millrace._train.averaging import AdamOptimizer, RMSPropOptimizer
from millrace._train.descents import GradientDescentOptimizer, MomentumOptimizer
from millrace._train.global_steps import assert_or_get_global_step
from millrace._train.layerwise import clip_gradients_by_global_norm
from millrace._train.moving_averages import assign_moving_average
from millrace._train.optimizer import Optimizer
from millrace._values import dtypes

OPTIMIZER_CLS_NAMES = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": functools.partial(MomentumOptimizer, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]


def optimize_loss(
    loss,
    global_step,
    learning_rate,
    optimizer,
    gradient_noise_scale=None,
    gradient_multipliers=None,
    clip_gradients=None,
    learning_rate_decay_fn=None,
    update_ops=None,
    variables=None,
    name=None,
    summaries=None,
    colocate_gradients_with_ops=False,
    increment_global_step=True,
):
    """The loss, which is there once the variables have been changed to make it smaller.

    Args:
      loss: a scalar Tensor.
      global_step: the Variable that counts steps; the graph's, if it has one, if None.
      learning_rate: a number, which becomes a variable `learning_rate`; a scalar Tensor; or None.
      optimizer: a key of OPTIMIZER_CLS_NAMES, a class, an Optimizer, or a function of the learning rate (of
        nothing, without one) that gives an Optimizer.
      gradient_noise_scale: how much noise to add to gradients; None for none.
      gradient_multipliers: numbers by Variable or by the name of a variable's node.
      clip_gradients: the global norm above which gradients are scaled down, or a function of the pairs of
        gradient and variable that gives other pairs, such as adaptive_clipping_fn makes.
      learning_rate_decay_fn: a function of the learning rate and the global step that gives another rate.
      update_ops: nodes that run before the loss; those in the collection UPDATE_OPS if None.
      variables: what to train; all that is trainable if None.
      name: the variable scope; "OptimizeLoss" by default.
      summaries: some of OPTIMIZER_SUMMARIES; the loss, the global norm and a rate that decays if None.
      colocate_gradients_with_ops: as in Optimizer.compute_gradients.
      increment_global_step: False to count nothing.

    Raises:
      ValueError: for an optimizer, rate, summary or clip_gradients that is none of these, a rate that decays
        without a global step, or if no variable has a gradient.
    """
    loss = convert(loss)
    if loss.shape.ndims not in (None, 0):
        raise ValueError(f"Expected scalar shape for {loss.name}, saw shape: {loss.shape}.")
    global_step = assert_or_get_global_step(global_step_tensor=global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = get_collection(GraphKeys.UPDATE_OPS)
        if update_ops:
            loss = with_dependencies(list(dict.fromkeys(update_ops)), loss)
        summaries = _wanted(summaries)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in summaries:
                summary.scalar("learning_rate", rate)
        chosen = _chosen(optimizer, rate)
        pairs = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            pairs = [_with_noise(pair, gradient_noise_scale) for pair in pairs]
        if gradient_multipliers is not None:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        has_norm = not {"global_gradient_norm", "gradient_norm"}.isdisjoint(summaries)
        if has_norm:
            summary.scalar("global_norm/gradient_norm", _norm(pairs))
        pairs = _clipped(pairs, clip_gradients)
        if "loss" in summaries:
            summary.scalar("loss", loss)
        _summarize(pairs, summaries)
        if has_norm and clip_gradients is not None:
            summary.scalar("global_norm/clipped_gradient_norm", _norm(pairs))
        step = global_step if increment_global_step else None
        return with_dependencies([chosen.apply_gradients(pairs, step, name="train")], loss)


def _wanted(summaries):
    if summaries is None:
        return ["loss", "learning_rate", "global_gradient_norm"]
    for each in summaries:
        if each not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {each}."
            )
    return summaries


def _rate(learning_rate):
    if (
        learning_rate is None
        or isinstance(learning_rate, Tensor)
        and learning_rate.shape.ndims == 0
    ):
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type "
            f"{type(learning_rate)}"
        )
    if learning_rate < 0:
        raise ValueError(f"Invalid learning_rate {learning_rate}.")
    return get_variable(
        "learning_rate", [], trainable=False, initializer=constant_initializer(learning_rate)
    )


def _chosen(optimizer, rate):
    """The Optimizer that a name, a class, or a function stands for."""
    is_class = isinstance(optimizer, type) and issubclass(optimizer, Optimizer)
    if isinstance(optimizer, str) or is_class:
        if rate is None:
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is {optimizer}."
            )
        if is_class:
            return optimizer(learning_rate=rate)
        if optimizer not in OPTIMIZER_CLS_NAMES:
            names = ", ".join(OPTIMIZER_CLS_NAMES)
            raise ValueError(
                f"Optimizer name should be one of [{names}], you provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if callable(optimizer) and not isinstance(optimizer, Optimizer):
        optimizer = optimizer() if rate is None else optimizer(rate)
    if not isinstance(optimizer, Optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of "
            f"Optimizer or function with one argument. Got {optimizer}."
        )
    return optimizer


def _with_noise(pair, scale):
    gradient, variable = pair
    if gradient is None:
        return pair
    values = values_of(gradient)
    noise = truncated_normal(gen_ops.shape(values), dtype=values.dtype) * scale
    return with_values(gradient, values + noise), variable


def _norm(pairs):
    return global_norm([gradient for gradient, _ in pairs])


def _clipped(pairs, clip_gradients):
    if clip_gradients is None:
        return pairs
    if isinstance(clip_gradients, float):
        clipped, _ = clip_gradients_by_global_norm(pairs, clip_gradients)
        return clipped
    if callable(clip_gradients):
        return clip_gradients(pairs)
    raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")


def _summarize(pairs, summaries):
    for gradient, variable in pairs:
        if gradient is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            summary.histogram(f"gradients/{name}", values_of(gradient))
        if "gradient_norm" in summaries:
            summary.scalar(f"gradient_norm/{name}", global_norm([values_of(gradient)]))


def adaptive_clipping_fn(
    std_factor=2.0,
    decay=0.95,
    static_max_norm=None,
    global_step=None,
    report_summary=False,
    epsilon=1e-8,
    name=None,
):
    """A function for clip_gradients that scales down gradients whose norm is unusual (arXiv 1412.1602).

    The logarithms of global norms have a moving average and deviation. Gradients whose norm is above
    exp(average + std_factor * deviation) are scaled so that it is exp(average).

    Args:
      std_factor: a number or scalar Tensor.
      decay: how much of the averages stays at each step.
      static_max_norm: a norm that is never exceeded; None for none.
      global_step: the Tensor that counts steps, for averages that move faster at the beginning.
      report_summary: True for summaries of the norm at which gradients are clipped.
      epsilon: a small number under the logarithm.
      name: the variable scope; "AdaptiveMaxNorm" by default. Variables are `mean` and `sq_mean`.
    """

    def clip(pairs):
        norm = _norm(pairs)
        highest, log_mean = _adaptive_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", highest)
        factor = gen_ops.select(
            gen_ops.less(norm, highest), gen_ops.ones_like(norm), gen_ops.exp(log_mean) / norm
        )
        if static_max_norm is not None:
            factor = gen_ops.minimum(static_max_norm / norm, factor)
        return [
            (
                None if gradient is None else with_values(gradient, values_of(gradient) * factor),
                variable,
            )
            for gradient, variable in pairs
        ]

    return clip


def _adaptive_norm(norm, std_factor, decay, global_step, epsilon, name):
    """(the norm from which gradients are clipped, the average logarithm of norms)."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        log_norm = gen_ops.log(norm + epsilon)
        if global_step is not None:
            steps = cast(global_step, dtypes.float32)
            decay = gen_ops.minimum(convert(decay, dtypes.float32), steps / (steps + 1.0))

        def averaged(kind, value):
            average = get_variable(
                kind, value.shape, value.dtype, initializer=zeros_initializer(), trainable=False
            )
            return assign_moving_average(average, value, decay, zero_debias=False)

        mean = averaged("mean", log_norm)
        variance = averaged("sq_mean", gen_ops.square(log_norm)) - gen_ops.square(mean)
        deviation = gen_ops.sqrt(gen_ops.maximum(variance, epsilon))
        return gen_ops.exp(mean + std_factor * deviation), mean
