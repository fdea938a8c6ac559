"""MovingAverageOptimizer: another optimizer's variables have averages, which checkpoints can hold in their place."""

from millrace._flow.control_flow import group
from millrace._graph.default_graph import control_dependencies
from millrace._saving.saver import Saver
from millrace._state.variable_groups import global_variables
from millrace._supervised.wrapped_optimizer import WrappedOptimizer
from millrace._train.moving_averages import ExponentialMovingAverage


class MovingAverageOptimizer(WrappedOptimizer):
    """Keeps moving averages of the variables that an optimizer trains.

    Args:
      opt: the Optimizer.
      average_decay, num_updates: as for tf.train.ExponentialMovingAverage.
      sequential_update: False to average at any time in the step, not after its updates.
    """

    def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
        super().__init__(opt, False, "MovingAverage")
        self._averages = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._is_sequential = sequential_update
        self._other = None  # until apply_gradients: the other one of variable and average, by name

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As the optimizer's own, and averages afterwards."""
        pairs = list(grads_and_vars)
        trained = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        with control_dependencies([trained] if self._is_sequential else []):
            averaged = self._averages.apply(variables)
        self._other = {}
        for variable in variables:
            average = self._averages.average(variable)
            self._other[variable.op.name] = average
            self._other[average.op.name] = variable
        return group(trained, averaged, name="train_with_avg")

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """A Saver for training: averages are saved under the names of variables, and the other way round.

        A model for evaluation that has no averages loads them so as its variables.

        Args:
          var_list: a list of Variables, or a dictionary of them; all if None.
          name: of the saver.
          **kwargs: as for tf.train.Saver.

        Raises:
          RuntimeError: before apply_gradients or minimize.
        """
        if self._other is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        if var_list is None:
            var_list = global_variables()
        if not isinstance(var_list, dict):
            var_list = {variable.op.name: variable for variable in var_list}
        swapped = {
            key: self._other.get(variable.op.name, variable) for key, variable in var_list.items()
        }
        return Saver(swapped, name=name, **kwargs)
