"""Variables in parts and variable scopes by the functions that programs used before get_variable's own."""

from millrace._state.named_variables import VariableScope, variable_scope
from millrace._values import dtypes


def create_partitioned_variables(
    shape,
    slicing,
    initializer,
    dtype=dtypes.float32,
    trainable=True,
    collections=None,
    name=None,
    reuse=None,
):
    """The parts of a variable that is cut along one axis.

    Args:
      shape: a list of sizes, of the whole.
      slicing: into how many parts each axis is cut; more than one along one axis at most.
      initializer: a function of (shape, dtype), or a Tensor of the whole.
      dtype: the type.
      trainable, collections: as in tf.get_variable.
      name: a variable scope, whose name the variable has; "PartitionedVariable" if None.
      reuse: True to find the parts that were made before.

    Returns:
      a list of Variables.

    Raises:
      ValueError: if shape and slicing differ in length, are empty, or several axes are cut.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if not shape:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        # The variable is called as the scope is, and not something in it.
        around, _, own_name = scope.name.rpartition("/")
        made = VariableScope(around, scope.reuse, use_resource=scope.use_resource).get_variable(
            own_name,
            shape=shape,
            dtype=dtype,
            initializer=scope.initializer if initializer is None else initializer,
            trainable=trainable,
            collections=collections,
            partitioner=lambda **unused: slicing,
        )
        return list(made)


def variable_op_scope(
    values,
    name_or_scope,
    default_name=None,
    initializer=None,
    regularizer=None,
    caching_device=None,
    partitioner=None,
    custom_getter=None,
    reuse=None,
    dtype=None,
    use_resource=None,
    constraint=None,
):
    """tf.variable_scope, whose arguments it has with `values` before all others."""
    return variable_scope(
        name_or_scope,
        default_name=default_name,
        values=values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    )
