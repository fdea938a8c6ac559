"""Training ops as tf.contrib.training and slim make them: gradients changed on their way, a loss that comes last."""

import logging

from millrace import _gen as gen_ops
from millrace._flow.control_flow import no_op, with_dependencies
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import (
    add_to_collection,
    control_dependencies,
    get_collection,
    get_collection_ref,
    name_scope,
)
from millrace._ops.clipping import clip_by_norm, global_norm
from millrace._ops.gradients import IndexedSlices
from millrace._state.variable_groups import trainable_variables
from millrace._summaries import building as summary
from millrace._train.global_steps import get_or_create_global_step
from millrace._train.optimizer import Optimizer

_log = logging.getLogger("millrace")
USE_GLOBAL_STEP = 0


def values_of(gradient):
    """A gradient's numbers: those of its slices, if it has any."""
    return gradient.values if isinstance(gradient, IndexedSlices) else gradient


def with_values(gradient, values):
    """A gradient of the same slices with other numbers."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return values


def multiply_gradients(grads_and_vars, gradient_multipliers):
    """Gradients of which some are multiplied.

    Args:
      grads_and_vars: what compute_gradients gave.
      gradient_multipliers: numbers or scalar Tensors, by Variable or by the name of a variable's node.

    Raises:
      ValueError: if grads_and_vars or the multipliers are of another type, there are no multipliers, or a
        variable of one has no gradient.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    multiplied = []
    for gradient, variable in grads_and_vars:
        by = _of_variable(gradient_multipliers, variable)
        if by is not None:
            if gradient is None:
                raise ValueError(f"Requested multiple of `None` gradient of {variable.op.name}.")
            values = values_of(gradient)
            gradient = with_values(gradient, values * convert(by, values.dtype))
        multiplied.append((gradient, variable))
    return multiplied


def _of_variable(multipliers, variable):
    for key, by in multipliers.items():
        if key is variable or isinstance(key, str) and key in (variable.op.name, variable.name):
            return by
    return None


def clip_gradient_norms(gradients_to_variables, max_norm):
    """Gradients scaled down, each by itself, so that no norm is above `max_norm`.

    Args:
      gradients_to_variables: what compute_gradients gave; a gradient may be None.
      max_norm: a number or scalar Tensor.
    """
    return [
        (
            (
                None
                if gradient is None
                else with_values(gradient, clip_by_norm(values_of(gradient), max_norm))
            ),
            variable,
        )
        for gradient, variable in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm):
    """clip_gradient_norms to this norm, as a function of gradients for create_train_op."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def add_gradients_summaries(grads_and_vars):
    """The summaries of gradients: of each a histogram and the norm. A list of Tensors."""
    made = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            _log.info("Var %s has no gradient", variable.op.name)
            continue
        values = values_of(gradient)
        made.append(summary.histogram(f"{variable.op.name}_gradient", values))
        made.append(summary.scalar(f"{variable.op.name}_gradient_norm", global_norm([values])))
    return made


def create_train_op(
    total_loss,
    optimizer,
    global_step=USE_GLOBAL_STEP,
    update_ops=None,
    variables_to_train=None,
    transform_grads_fn=None,
    summarize_gradients=False,
    gate_gradients=Optimizer.GATE_OP,
    aggregation_method=None,
    colocate_gradients_with_ops=False,
    check_numerics=True,
):
    """The loss, which is there once the variables have been changed to make it smaller.

    It joins the collection TRAIN_OP.

    Args:
      total_loss: a scalar Tensor.
      optimizer: a tf.train.Optimizer.
      global_step: the Variable that counts steps; by default the graph's, made if there is none; None to
        count nothing.
      update_ops: nodes that run before the loss; those in the collection UPDATE_OPS if None.
      variables_to_train: all that are trainable if None.
      transform_grads_fn: a function of a list of (gradient, variable) that gives such a list.
      summarize_gradients: True to add summaries of them.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: as in Optimizer.compute_gradients.
      check_numerics: False to have a loss that is no number or infinite go unnoticed.

    Raises:
      ValueError: if there are no variables to train, or some are not trainable.
    """
    if global_step is USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    total_loss = _after_updates(total_loss, update_ops)
    trainable = trainable_variables()
    if variables_to_train is None:
        variables_to_train = trainable
    for variable in variables_to_train:
        if not any(variable is other for other in trainable):
            raise ValueError(f"variables_to_train: {variable.op.name} is not trainable")
    if not variables_to_train:
        raise ValueError("create_train_op: the graph has no trainable variables")
    pairs = optimizer.compute_gradients(
        total_loss,
        variables_to_train,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    updates = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = gen_ops.check_numerics(total_loss, "LossTensor is inf or nan")
        made = with_dependencies([updates], total_loss)
    if not any(made is other for other in get_collection_ref(GraphKeys.TRAIN_OP)):
        add_to_collection(GraphKeys.TRAIN_OP, made)
    return made


def _after_updates(loss, update_ops):
    """The loss, after nodes that update what a step does not train."""
    all_updates = get_collection(GraphKeys.UPDATE_OPS)
    if update_ops is None:
        update_ops = all_updates
    elif not set(all_updates) <= set(update_ops):
        _log.warning(
            "update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS"
        )
    if not update_ops:
        return loss
    # Each once, in their order: a graph is to be the same in each process that builds it.
    with control_dependencies(list(dict.fromkeys(update_ops))):
        barrier = no_op(name="update_barrier")
    return with_dependencies([barrier], loss)


def slim_train_op(
    total_loss,
    optimizer,
    global_step=USE_GLOBAL_STEP,
    update_ops=None,
    variables_to_train=None,
    clip_gradient_norm=0,
    summarize_gradients=False,
    gate_gradients=Optimizer.GATE_OP,
    aggregation_method=None,
    colocate_gradients_with_ops=False,
    gradient_multipliers=None,
    check_numerics=True,
):
    """create_train_op with gradients that are multiplied, then clipped.

    Args:
      clip_gradient_norm: as clip_gradient_norms has it; 0 for no clipping.
      gradient_multipliers: as multiply_gradients has them; None for none.
      Others, and errors: as for create_train_op.
    """

    def transformed(pairs):
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transformed,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )


slim_train_op.__name__ = slim_train_op.__qualname__ = "create_train_op"
