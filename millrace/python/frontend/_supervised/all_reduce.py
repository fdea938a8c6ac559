"""AllReduceOptimizer: replicas with variables of their own that stay equal, without parameter servers.

Each replica computes gradients of its own input; the mean of all of them comes to every replica by an
all-reduce, and each changes its own variables by it. A hook makes the variables equal at the start, and
again when a member was lost and has come back.
"""

import zlib

from millrace._graph.default_graph import name_scope
from millrace._supervised.replica_group import EqualVariablesHook, ReplicaGroup
from millrace._supervised.wrapped_optimizer import WrappedOptimizer


class AllReduceOptimizer(WrappedOptimizer):
    """Makes an optimizer use the mean of the gradients of all replicas.

        optimizer = tf.train.AllReduceOptimizer(tf.train.AdamOptimizer(), num_replicas=4)
        train = optimizer.minimize(loss, global_step)
        hook = optimizer.make_session_run_hook(is_chief)

    Every replica builds the same graph, with variables on its own task, and takes as many steps. A step
    waits for all others'; a replica that is lost, or whose step fails, ends the others' step with an error
    that a MonitoredSession takes as a reason to begin again.

    Args:
      opt: the Optimizer.
      num_replicas: how many replicas there are.
      timeout: seconds that a step waits for another replica's; 0: as long as that lives.
      bucket_bytes: gradients go in groups of one type and about this size: few large messages are
        quicker than many small ones.
      group_key: an int that names the group of replicas; from `name` if None.
      name: a name for the nodes.

    Raises:
      ValueError: if num_replicas is not positive.
    """

    def __init__(
        self,
        opt,
        num_replicas,
        timeout=0,
        bucket_bytes=4 << 20,
        group_key=None,
        name="all_reduce",
    ):
        super().__init__(opt, False, name)
        key = zlib.crc32(name.encode()) >> 1 if group_key is None else group_key
        self._group = ReplicaGroup(num_replicas, key, timeout, bucket_bytes)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation that waits for all replicas' gradients and changes variables by their mean.

        Args:
          grads_and_vars: what compute_gradients gave; an IndexedSlices becomes a Tensor of all rows.
          global_step, name: as the optimizer's own.

        Raises:
          ValueError: for a gradient whose variable's shape is not known.
        """
        pairs = list(grads_and_vars)
        with name_scope(name, self._name):
            means = self.means([gradient for gradient, _ in pairs], [v for _, v in pairs])
        return self._opt.apply_gradients(
            [(mean, variable) for mean, (_, variable) in zip(means, pairs)], global_step, name
        )

    def means(self, gradients, variables):
        """The mean over all replicas of each gradient; None where there is none.

        Args:
          gradients: Tensors, IndexedSlices or Nones.
          variables: what each is the gradient of.
        """
        return self._group.all_reduce_gradients(gradients, variables, "Div")

    def all_reduce(self, tensor, merge_op="Add", final_op="Id"):
        """What all replicas' tensors make together, as `all_reduce` of collective_ops.

        For what else replicas must agree on, the end say: in the group of the gradients, so that a replica
        that is lost ends both. Groups of their own for the same replicas could wait for each other.

        Args:
          tensor: a Tensor of one type and shape on all replicas.
          merge_op: "Add", "Mul", "Max" or "Min".
          final_op: "Id", or "Div" to divide by the number of replicas.
        """
        return self._group.all_reduce(tensor, merge_op, final_op)

    def make_session_run_hook(self, is_chief):
        """The hook that makes all replicas' variables equal to the chief's, in each new session.

        Args:
          is_chief: True for the one replica whose values, maybe from a checkpoint, count.
        """
        return EqualVariablesHook(self._group, is_chief)

    def broadcast_variables(self, is_chief, variables=None):
        """An Operation that gives the chief's values of the variables to all other replicas.

        Args:
          is_chief: as for make_session_run_hook.
          variables: all global ones if None; the same on every replica.

        Raises:
          ValueError: for a variable without a known shape.
        """
        return self._group.broadcast_variables(is_chief, variables)
