"""tf.contrib.framework's variables: those of a model, on a device, in collections."""

import contextlib

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import device as on_device
from millrace._graph.default_graph import get_collection_ref
from millrace._layers.arg_scopes import add_arg_scope
from millrace._state.named_variables import get_variable
from millrace._state.variables import Variable


@add_arg_scope
def variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=None,
    aggregation=None,
):
    """The variable of this name in the current scope, an existing or a new one.

    Args:
      device: where to place it: a name, or a function of its node; where the scope says if None.
      synchronization, aggregation: accepted.
      Others, and errors: as for tf.get_variable.
    """
    with on_device(device) if device is not None else contextlib.nullcontext():
        return get_variable(
            name,
            shape,
            dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=(
                [GraphKeys.GLOBAL_VARIABLES]
                if collections is None
                else list(dict.fromkeys(collections))
            ),
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=custom_getter,
            use_resource=use_resource,
        )


@add_arg_scope
def model_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=None,
    aggregation=None,
):
    """`variable` in GLOBAL_VARIABLES and MODEL_VARIABLES, and in `collections`; args as there."""
    return variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable,
        [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES],
        caching_device,
        device,
        partitioner,
        custom_getter,
        use_resource,
    )


def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """A Variable in GLOBAL_VARIABLES that is not trainable; args as for tf.Variable."""
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def add_model_variable(var):
    """Adds a Variable to MODEL_VARIABLES, unless it is there."""
    held = get_collection_ref(GraphKeys.MODEL_VARIABLES)
    if not any(var is other for other in held):
        held.append(var)
