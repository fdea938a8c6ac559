"""Which parameter server has which variable, for tf.train.replica_device_setter(ps_strategy=)."""

from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class GreedyLoadBalancingStrategy:
    """Gives each variable to the task that has least so far, the first of several.

    Args:
      num_tasks: how many tasks there are.
      load_fn: a function of an Operation that gives what it weighs; byte_size_load_fn, mostly.
    """

    def __init__(self, num_tasks, load_fn):
        self._load = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op):
        """The number of the task for a variable's Operation."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load(op)
        return task


def byte_size_load_fn(op):
    """The bytes of a variable, by its Operation. ValueError if its shape is not known."""
    shape = TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    return shape.num_elements() * dtypes.as_dtype(op.get_attr("dtype")).size
