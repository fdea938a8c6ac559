"""Accumulators: gradients of several workers, summed up on a task until somebody takes them.

A gradient comes with the step at which its worker began; what is older than the accumulator's own step
is dropped without a word. Taking moves that step on by one.
"""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cast
from millrace._ops.gradients import IndexedSlices
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape, unknown_shape


def _step(value):
    """Programs also count steps in 32 bits; accumulators have 64."""
    return cast(convert(value, hint=dtypes.int64), dtypes.int64)


class ConditionalAccumulatorBase:
    """What dense and sparse accumulators have in common.

    Attributes:
      accumulator_ref: the Tensor that refers to the accumulator.
      name, dtype: of it.
    """

    def __init__(self, dtype, shape, accumulator_ref):
        self._dtype = dtype
        self._shape = unknown_shape() if shape is None else TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name

    @property
    def accumulator_ref(self):
        return self._accumulator_ref

    @property
    def name(self):
        return self._name

    @property
    def dtype(self):
        return self._dtype

    def num_accumulated(self, name=None):
        """An int32 Tensor: how many gradients came since the last were taken."""
        return self._num_accumulated(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step, name=None):
        """An Operation that sets the step (an integer) before which gradients are stale."""
        return self._set_global_step(
            self._accumulator_ref,
            _step(new_global_step),
            name=name or f"{self._name}_SetGlobalStep",
        )


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients.

    Args:
      dtype: of the gradients.
      shape: their shape, as far as it is known.
      shared_name: by which several programs find one accumulator on its device.
      name: a name for the node.
      reduction_type: "MEAN" or "SUM", what is taken.

    Raises:
      ValueError: for another reduction_type.
    """

    _num_accumulated = staticmethod(gen_ops.resource_accumulator_num_accumulated)
    _set_global_step = staticmethod(gen_ops.resource_accumulator_set_global_step)

    def __init__(
        self,
        dtype,
        shape=None,
        shared_name=None,
        name="conditional_accumulator",
        reduction_type="MEAN",
    ):
        dtype = dtypes.as_dtype(dtype)
        accumulator_ref = gen_ops.resource_conditional_accumulator(
            dtype,
            shape=None if shape is None else TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, accumulator_ref)

    def apply_grad(self, grad, local_step=0, name=None):
        """An Operation that adds a gradient, unless `local_step` is before the accumulator's step.

        Args:
          grad: a Tensor of the accumulator's type and shape.
          local_step: an integer, the step at which the computing of it began.
          name: a name for the node.

        Raises:
          ValueError: if the shapes do not agree.
        """
        grad = convert(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        return gen_ops.resource_accumulator_apply_gradient(
            self._accumulator_ref, _step(local_step), grad, name=name
        )

    def take_grad(self, num_required, name=None):
        """The mean (or sum) of the gradients, once `num_required` have come; it waits for them."""
        taken = gen_ops.resource_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        taken.set_shape(self._shape)
        return taken


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of gradients that are rows with their indices.

    The mean of a row is over the gradients that had it.

    Args:
      dtype, shape, shared_name, name, reduction_type: as for ConditionalAccumulator; `shape` is that of
        the whole, not of the rows that come.
    """

    _num_accumulated = staticmethod(gen_ops.accumulator_num_accumulated)
    _set_global_step = staticmethod(gen_ops.accumulator_set_global_step)

    def __init__(
        self,
        dtype,
        shape=None,
        shared_name=None,
        name="sparse_conditional_accumulator",
        reduction_type="MEAN",
    ):
        dtype = dtypes.as_dtype(dtype)
        accumulator_ref = gen_ops.sparse_conditional_accumulator(
            dtype,
            shape=None if shape is None else TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, accumulator_ref)

    def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
        """An Operation that adds the rows of an IndexedSlices."""
        return self.apply_grad(
            grad_indices=grad.indices,
            grad_values=grad.values,
            grad_shape=grad.dense_shape,
            local_step=local_step,
            name=name,
        )

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
        """An Operation that adds rows, unless `local_step` is before the accumulator's step.

        Args:
          grad_indices: an int64 vector, which rows they are, in ascending order.
          grad_values: a Tensor with the rows.
          grad_shape: the shape of the whole; None if nobody knows it.
          local_step: an integer, the step at which the computing of them began.
          name: a name for the node.
        """
        return gen_ops.sparse_accumulator_apply_gradient(
            self._accumulator_ref,
            _step(local_step),
            cast(grad_indices, dtypes.int64),
            convert(grad_values, self._dtype),
            convert([], dtypes.int64) if grad_shape is None else cast(grad_shape, dtypes.int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required, name=None):
        """(indices, values, shape) of the mean (or sum), once `num_required` gradients have come."""
        return gen_ops.sparse_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required, name=None):
        """The same as an IndexedSlices."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(taken.values, taken.indices, taken.shape)
