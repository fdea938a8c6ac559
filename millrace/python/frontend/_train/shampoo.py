"""ShampooOptimizer: Adagrad with a matrix for each axis of a variable (arXiv 1802.09568)."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import gather, ones, transpose, where, zeros, zeros_like
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.matrices import matrix_diag
from millrace._ops.matrix_solving import svd
from millrace._ops.reductions import reduce_sum
from millrace._state.assignments import scatter_add
from millrace._train.matrix_roots import matrix_inverse_root, matrix_square_root
from millrace._train.optimizer import Optimizer
from millrace._values import dtypes


class ShampooOptimizer(Optimizer):
    """var -= learning_rate * gbar, with each axis of gbar multiplied by the power -alpha / rank of that axis' matrix.

    gbar = gbar_decay * gbar + gbar_weight * gradient, and the matrix of an axis = mat_gbar_decay * it +
    mat_gbar_weight * (the gradient times itself, summed over all other axes). An axis longer than
    max_matrix_size has the diagonal of its matrix alone. A matrix is divided by the axis' length before its
    power is taken.

    Args:
      global_step: the Variable that counts steps, or a number.
      max_matrix_size: the longest axis that has a whole matrix.
      gbar_decay, gbar_weight, mat_gbar_decay, mat_gbar_weight, learning_rate, alpha: numbers, or functions of
        the step (a float32 Tensor, from 1) that give Tensors.
      svd_interval: the power of a matrix is worked out every so many steps; a number, or such a function.
      precond_update_interval: matrices change every so many steps; likewise.
      epsilon: added to a matrix's diagonal before its power is taken.
      use_iterative_root: True to take powers by iteration, not by singular values; alpha is then a number, and
        2 * rank / alpha whole.
      use_locking, name: as for Optimizer.
    """

    def __init__(
        self,
        global_step=0,
        max_matrix_size=768,
        gbar_decay=0.0,
        gbar_weight=1.0,
        mat_gbar_decay=1.0,
        mat_gbar_weight=1.0,
        learning_rate=1.0,
        svd_interval=1,
        precond_update_interval=1,
        epsilon=1e-4,
        alpha=0.5,
        use_iterative_root=False,
        use_locking=False,
        name="Shampoo",
    ):
        super().__init__(use_locking, name)
        self._global_step = global_step
        self._longest = max_matrix_size
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._matrix_decay, self._matrix_weight = mat_gbar_decay, mat_gbar_weight
        self._rate, self._alpha, self._epsilon = learning_rate, alpha, epsilon
        self._root_interval, self._matrix_interval = svd_interval, precond_update_interval
        self._is_iterative = use_iterative_root

    def _create_slots(self, var_list):
        for variable in var_list:
            dtype = variable.dtype.base_dtype
            self._zeros_slot(variable, "gbar", self._name)
            for axis, length in enumerate(_lengths(variable)):
                if length > self._longest:
                    first = zeros([length], dtype)
                else:
                    first = zeros([length, length], dtype)
                    if self._keeps_roots():
                        root = _identity(length, dtype)
                        self._get_or_make_slot(variable, root, f"H_{axis}", self._name)
                self._get_or_make_slot(variable, first, f"Gbar_{axis}", self._name)

    def _keeps_roots(self):
        return callable(self._root_interval) or self._root_interval > 1

    def _prepare(self):
        self._step = cast(convert(self._global_step), dtypes.float32) + 1.0

    def _now(self, parameter, dtype):
        """A number, or the value at this step of a function, in a type."""
        if callable(parameter):
            return cast(parameter(self._step), dtype)
        return parameter

    def _apply_dense(self, grad, var):
        return self._change(grad, var)

    def _resource_apply_dense(self, grad, handle):
        return self._change(grad, handle)

    def _apply_sparse(self, grad, var):
        return self._change_rows(grad.values, grad.indices, var)

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._change_rows(grad, indices, handle)

    def _change_rows(self, values, indices, var):
        if _lengths(var)[0] > self._longest and self._gbar_decay == 0.0:
            if self._matrix_decay != 1.0:
                raise NotImplementedError(
                    f"ShampooOptimizer: variable '{var.op.name}' is changed by rows; mat_gbar_decay= has to be 1"
                )
            return self._change(values, var, indices)
        shape = gen_ops.shape(var.read_value(), out_type=indices.dtype)
        whole = gen_ops.scatter_nd(gen_ops.expand_dims(indices, 1), values, shape)
        return self._change(whole, var)

    def _change(self, grad, var, indices=None):
        dtype, lengths = grad.dtype.base_dtype, _lengths(var)
        weighed = self._now(self._gbar_weight, dtype) * grad
        shaped = grad
        if indices is None:
            shaped = self._faded(self.get_slot(var, "gbar"), self._gbar_decay, weighed)
        for axis, length in enumerate(lengths):
            slot = self.get_slot(var, f"Gbar_{axis}")
            if length <= self._longest:
                root = self._root(var, axis, slot, grad)
                # The axis that is multiplied goes to the end; after all of them the first one is first again.
                shaped = tensordot(shaped, root, axes=[[0], [0]])
            else:
                order = [*range(1, len(lengths)), 0]
                rates = self._diagonal_rates(axis, slot, grad, indices)
                shaped = transpose(shaped, order) * rates
        change = self._now(self._rate, dtype) * shaped
        if indices is not None:
            return scatter_add(var, indices, -change, use_locking=self._use_locking)
        return var.assign_sub(change, use_locking=self._use_locking)

    def _faded(self, slot, decay, added):
        """A slot after this has joined it; `added` itself if nothing stays of what was before."""
        if not callable(decay) and decay == 0.0:
            return added
        if not callable(decay) and decay == 1.0:
            return slot.assign_add(added, use_locking=self._use_locking)
        share = self._now(decay, added.dtype.base_dtype)
        change = (share - 1.0) * slot.read_value() + added
        return slot.assign_add(change, use_locking=self._use_locking)

    def _is_time(self, interval):
        return gen_ops.less(gen_ops.floor_mod(self._step, convert(interval, dtypes.float32)), 1.0)

    def _root(self, var, axis, slot, grad):
        """The matrix that an axis of the gradient is multiplied by."""
        dtype, rank = grad.dtype.base_dtype, grad.shape.ndims
        power = -self._now(self._alpha, dtype) / rank
        interval = self._now(self._matrix_interval, dtype)

        def update():
            others = [each for each in range(rank) if each != axis]
            product = tensordot(grad, grad, axes=[others, others])
            weight = self._now(self._matrix_weight, dtype) * interval
            return gen_ops.identity(self._faded(slot, self._matrix_decay, weight * product))

        if not callable(self._matrix_interval) and self._matrix_interval == 1:
            matrix = update()
        else:
            matrix = cond(
                self._is_time(cast(convert(interval), dtypes.float32)),
                update,
                lambda: gen_ops.identity(slot.read_value()),
            )
        length = _lengths(var)[axis]
        matrix = matrix / float(length)
        if not self._keeps_roots():
            return self._power(matrix, length, power)
        kept = self.get_slot(var, f"H_{axis}")

        def work_out():
            root = self._power(matrix, length, power)
            return gen_ops.identity(kept.assign(root, use_locking=self._use_locking))

        every = self._now(self._root_interval, dtypes.float32)
        return cond(self._is_time(every), work_out, lambda: gen_ops.identity(kept.read_value()))

    def _power(self, matrix, length, power):
        dtype = matrix.dtype.base_dtype
        if length == 1:
            return gen_ops.pow(matrix + self._epsilon, convert(power, dtype))
        identity = _identity(length, dtype)
        if self._is_iterative:
            root = matrix_square_root(matrix, identity, ridge_epsilon=self._epsilon)
            return matrix_inverse_root(root, identity, 2 * power)
        values, left, right = svd(matrix + self._epsilon * identity, full_matrices=True)
        floor = convert(self._epsilon, dtype)
        powers = gen_ops.pow(gen_ops.maximum(values, floor), convert(power, dtype))
        return matmul(right * powers, transpose(left))

    def _diagonal_rates(self, axis, slot, grad, indices):
        """What an axis of the gradient is multiplied by, element by element.

        A gradient of rows, with their `indices`, has no zeros in it to take the mean with: its sums stay sums.
        """
        dtype, rank = grad.dtype.base_dtype, grad.shape.ndims
        squares = grad * grad
        if rank > 1:
            squares = reduce_sum(squares, axis=[each for each in range(rank) if each != axis])
            if indices is None:
                squares = squares / float(slot.shape.as_list()[0])
        added = self._now(self._matrix_weight, dtype) * squares
        if indices is None or axis > 0:
            sums = gen_ops.identity(self._faded(slot, self._matrix_decay, added))
        else:
            sums = gather(scatter_add(slot, indices, added), indices)
        power = -self._now(self._alpha, dtype) / rank
        raised = gen_ops.pow(sums, convert(power, dtype))
        return where(gen_ops.greater(sums, 0), raised, zeros_like(sums))


def _lengths(variable):
    if not variable.shape.is_fully_defined():
        raise ValueError(
            f"ShampooOptimizer: the shape of variable '{variable.op.name}' has to be known, not {variable.shape}"
        )
    return variable.shape.as_list()


def _identity(length, dtype):
    return matrix_diag(ones([length], dtype))
