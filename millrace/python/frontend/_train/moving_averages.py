"""Averages of variables over the steps that change them."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import (
    add_to_collection,
    colocate_with,
    init_scope,
    name_scope,
)
from millrace._graph.graph import get_default_graph
from millrace._graph.node_counts import count_more
from millrace._ops.arithmetic import cast
from millrace._state.initializers import Zeros
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.replica_contexts import ReduceOp, current_replica
from millrace._state.replicated_variables import is_of_all_replicas
from millrace._state.variable_groups import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from millrace._state.variables import Variable
from millrace._train.slots import create_slot, create_zeros_slot
from millrace._values import dtypes

_FLOATING = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)
_VARIABLE_OPS = ("Variable", "VariableV2", "VarHandleOp")


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """A node that sets `variable` to decay * variable + (1 - decay) * value.

    Args:
      variable: the Variable that is the average.
      value: a Tensor or Variable of its shape.
      decay: a number or scalar Tensor below 1.
      zero_debias: True to correct for a beginning at 0, with two more variables in the scope of
        `variable`: "biased" and "local_step".
      name: the name of the node.

    In a replica all come together, and the value counts that is the mean of theirs; unless each has an average
    of its own, as of a variable that is ON_READ.
    """
    replica = current_replica()
    if replica is not None and is_of_all_replicas(variable):

        def together(strategy, variable, value, decay):
            mean = strategy.extended.reduce_to(ReduceOp.MEAN, value, variable)
            decay = strategy.extended.of_first_replica(decay)
            return _moved(variable, mean, decay, zero_debias, name)

        return replica.merge_call(together, args=(variable, _now(value), decay))
    return _moved(variable, value, decay, zero_debias, name)


def _moved(variable, value, decay, zero_debias, name):
    """assign_moving_average for the value that counts."""
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        dtype = variable.dtype.base_dtype
        share = cast(convert(1.0 - decay, name="decay"), dtype)
        value = _now(value)
        if not zero_debias:
            return variable.assign_sub((_now(variable) - value) * share, name=scope)
        return _assign_debiased(variable, value, share, scope)


def _now(value):
    """The value, read where control dependencies put it: after an update, if it is told so."""
    return value.read_value() if isinstance(value, Variable) else convert(value)


def _assign_debiased(variable, value, share, name):
    with variable_scope(variable.op.name, values=[variable, value, share]):
        with colocate_with(variable):
            biased = _beside(variable, "biased", variable.shape)
            steps = _beside(variable, "local_step", [])
        average = biased.assign_sub((_now(biased) - value) * share)
        number = steps.assign_add(convert(1, variable.dtype.base_dtype))
        return variable.assign(average / (1 - gen_ops.pow(1.0 - share, number)), name=name)


def _beside(variable, name, shape):
    return get_variable(
        name, shape=shape, dtype=variable.dtype.base_dtype, initializer=Zeros(), trainable=False
    )


class ExponentialMovingAverage:
    """Keeps averages of variables that follow them slowly: average -= (1 - decay) * (average - value).

    Args:
      decay: a number below 1, near 1.
      num_updates: how many updates there were, a number or Tensor; the decay is then at most
        (1 + num_updates) / (10 + num_updates), so that early averages follow faster.
      zero_debias: True to correct averages of Tensors for their beginning at 0.
      name: the name of the averages' variables, after that of what they average.
    """

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages = {}  # by variable or Tensor
        self._debiased = set()

    @property
    def name(self):
        return self._name

    def apply(self, var_list=None):
        """An Operation that updates the averages of these variables or Tensors.

        Args:
          var_list: what to average; all trainable variables if None. What is new to this object gets
            an average: of a variable it begins with its initial value, of a Tensor with 0.

        Raises:
          TypeError: if one is not of a floating type.
        """
        var_list = trainable_variables() if var_list is None else var_list
        for variable in var_list:
            if variable.dtype.base_dtype not in _FLOATING:
                raise TypeError(f"The variables must be half, float, or double: {variable.name}")
            if variable not in self._averages:
                with init_scope():
                    self._averages[variable] = self._made(variable)
        with name_scope(self._name) as scope:
            decay = self._current_decay()
            for variable in var_list:  # TensorFlow does not read anew what it subtracts
                count_more(-2 if isinstance(variable, Variable) else -1)
            updates = [
                assign_moving_average(
                    self._averages[variable], variable, decay, variable in self._debiased
                )
                for variable in var_list
            ]
            return group(*updates, name=scope)

    def _made(self, variable):
        if isinstance(variable, Variable):
            made = create_slot(variable, variable.initialized_value(), self._name)
            count_more(12)  # TensorFlow guards the first value once more
            add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
            return made
        if self._zero_debias:
            self._debiased.add(variable)
        return create_zeros_slot(
            variable, self._name, colocate_with_primary=variable.op.type in _VARIABLE_OPS
        )

    def _current_decay(self):
        decay = convert(self._decay, dtypes.float32, name="decay")
        if self._num_updates is None:
            return decay
        number = cast(self._num_updates, dtypes.float32, name="num_updates")
        return gen_ops.minimum(decay, (1.0 + number) / (10.0 + number))

    def average(self, var):
        """The Variable with the average of `var`, or None if there is none."""
        return self._averages.get(var)

    def average_name(self, var):
        """The name that the average of `var` has, or would have."""
        if var in self._averages:
            return self._averages[var].op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables=None):
        """A dictionary from names to variables, by which a restored model begins with its averages.

        Args:
          moving_avg_variables: the variables that are read from their averages; if None, trainable
            ones and those that have one.
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        by_name = {self.average_name(v): v for v in dict.fromkeys(moving_avg_variables)}
        averaged = set(moving_avg_variables)
        for variable in dict.fromkeys(global_variables()):
            if variable not in averaged:
                by_name.setdefault(variable.op.name, variable)
        return by_name
