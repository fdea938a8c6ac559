"""GGTOptimizer: steps shaped by the last few running means of the gradients together (arXiv 1806.02958)."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, ones, reshape, split, transpose, zeros
from millrace._ops.linear_algebra import matmul
from millrace._ops.matrices import matrix_diag
from millrace._ops.matrix_solving import svd
from millrace._ops.reductions import reduce_min
from millrace._state.assignments import scatter_update
from millrace._state.replicated_variables import whole_of
from millrace._train.optimizer import Optimizer
from millrace._values import dtypes


class GGTOptimizer(Optimizer):
    """All variables as one vector: var -= learning_rate * (M M^T)^(-1/2) m, where m is the running mean of the
    gradients and M has the last `window` values of it as columns, over the root of how many there are.

    Args:
      learning_rate: a number, a Tensor, or a function without arguments that gives one.
      beta1: the share of the past in the running mean; likewise.
      use_locking, name: as for Optimizer.
      window: how many values of it are kept; an int above 0.
      eps: directions that M lacks count only while its smallest singular value is above this.
      svd_eps: added to the diagonal of M^T M.
      sigma_eps: added to singular values before they divide.

    Raises:
      ValueError: if window is no int above 0. For slices: NotImplementedError.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        use_locking=False,
        name="GGT",
        window=10,
        eps=1e-4,
        svd_eps=1e-6,
        sigma_eps=1e-2,
    ):
        if not isinstance(window, int) or window < 1:
            raise ValueError(
                f"GGTOptimizer: window is {window!r}; it has to be a whole number above 0"
            )
        super().__init__(use_locking, name)
        self._rate, self._beta1, self._window = learning_rate, beta1, window
        self._eps, self._svd_eps, self._sigma_eps = eps, svd_eps, sigma_eps

    def _create_slots(self, var_list):
        for variable in var_list:
            if not variable.shape.is_fully_defined():
                raise ValueError(
                    f"GGTOptimizer: the shape of variable '{variable.op.name}' has to be known, not "
                    f"{variable.shape}"
                )
        # In an order that does not hang on how the program lists them: what is kept is one vector.
        first = min(var_list, key=lambda variable: variable.name)
        dtype = first.dtype.base_dtype
        total = sum(variable.shape.num_elements() for variable in var_list)
        self._create_non_slot_variable(convert(0.0, dtype), "global_step", first)
        self._create_non_slot_variable(zeros([self._window, total], dtype), "grad_buffer", first)
        self._create_non_slot_variable(zeros([total], dtype), "moment1", first)

    def _prepare(self):
        self._gradients = {}  # by the variable's name: (the gradient as a vector, the variable)

    def _apply_dense(self, grad, var):
        flat = reshape(grad, [-1])
        # Copies of replicas have one gradient, and change together.
        whole = whole_of(var)
        self._gradients[whole.name] = (flat, whole)
        return flat.op

    def _resource_apply_dense(self, grad, handle):
        return self._apply_dense(grad, handle)

    def _finish(self, update_ops, name_scope):
        flats, variables = zip(*(pair for _, pair in sorted(self._gradients.items())))
        graph, dtype = variables[0].graph, variables[0].dtype.base_dtype
        step, kept, mean = (
            self._get_non_slot_variable(name, graph)
            for name in ("global_step", "grad_buffer", "moment1")
        )
        lock = {"use_locking": self._use_locking}
        beta1 = cast(convert(self._call_if_callable(self._beta1)), dtype)
        rate = cast(convert(self._call_if_callable(self._rate)), dtype)
        count = step.assign_add(convert(1.0, dtype), **lock)
        mean = mean.assign(beta1 * mean.read_value() + (1.0 - beta1) * concat(flats, 0), **lock)
        place = gen_ops.floor_mod(cast(count - 1.0, dtypes.int32), self._window)
        kept = scatter_update(kept, place, mean, **lock)
        number = gen_ops.minimum(count, convert(float(self._window), dtype))
        shaped = self._shaped(transpose(kept / gen_ops.sqrt(number)), gen_ops.expand_dims(mean, 1))
        sizes = [variable.shape.num_elements() for variable in variables]
        with control_dependencies(update_ops):
            changed = [
                variable.assign_sub(rate * reshape(part, variable.shape.as_list()), **lock).op
                for variable, part in zip(variables, split(reshape(shaped, [-1]), sizes))
            ]
        return group(*changed, name=name_scope)

    def _shaped(self, columns, mean):
        """(M M^T)^(-1/2) m; M^T M is small, M M^T is as large as the model squared."""
        dtype = columns.dtype.base_dtype
        ridge = matrix_diag(ones([self._window], dtype)) * self._svd_eps
        values, vectors, _ = svd(matmul(columns, columns, transpose_a=True) + ridge)
        roots = gen_ops.sqrt(values)
        smallest = reduce_min(roots)
        inside = matmul(vectors, matmul(columns, mean, transpose_a=True), transpose_a=True)

        def by(weights):
            return matmul(columns, matmul(vectors, gen_ops.expand_dims(weights, 1) * inside))

        known = by(1.0 / gen_ops.pow(roots + self._sigma_eps, convert(3.0, dtype)))
        return cond(
            gen_ops.greater(smallest, convert(self._eps, dtype)),
            lambda: known + (mean - by(1.0 / values)) / smallest,
            lambda: gen_ops.identity(known),
        )
