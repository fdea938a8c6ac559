"""Powers of symmetric matrices by products alone, for optimizers that shape gradients by them."""

from millrace import _gen as gen_ops
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import convert
from millrace._ops.linear_algebra import matmul
from millrace._ops.reductions import reduce_max, reduce_sum


def matrix_square_root(matrix, identity, iter_count=100, ridge_epsilon=1e-4):
    """The root of matrix + ridge_epsilon * identity, by the coupled iteration of Newton and Schulz.

    It ends when a turn brings it no nearer, or after iter_count turns.

    Args:
      matrix: a Tensor, symmetric, with no eigenvalue below 0.
      identity: a Tensor of its size and type.
      iter_count: an int.
      ridge_epsilon: a number.
    """
    matrix = matrix + ridge_epsilon * identity
    norm = gen_ops.sqrt(reduce_sum(matrix * matrix))

    def goes_on(turn, root, before, inverse, error, error_before):
        return gen_ops.logical_and(
            gen_ops.less(turn, iter_count), gen_ops.less(error, error_before)
        )

    def refine(turn, root, before, inverse, error, error_before):
        factor = 0.5 * (3.0 * identity - matmul(inverse, root))
        nearer = matmul(root, factor)
        left = matrix - matmul(nearer, nearer) * norm
        wrong = gen_ops.sqrt(reduce_sum(left * left)) / norm
        return turn + 1, nearer, root, matmul(factor, inverse), wrong, error

    first = matrix / norm
    found = while_loop(goes_on, refine, [convert(0), first, first, identity, norm, norm + 1.0])
    # The last turn made it no better: the one before it counts.
    return found[2] * gen_ops.sqrt(norm)


def matrix_inverse_root(matrix, identity, power, iter_count=100, epsilon=1e-6):
    """matrix^power for a power of -1/p, p a whole number, by the iteration of Schur and Newton.

    Args:
      matrix: a Tensor, symmetric, with eigenvalues above 0.
      identity: a Tensor of its size and type.
      power: a number, -1/p.
      iter_count: an int; the most turns.
      epsilon: it ends when no element is further from where it leads.

    Raises:
      ValueError: if -1 / power is no whole number above 0.
    """
    order = round(-1.0 / power)
    if order < 1 or abs(order + 1.0 / power) > 1e-6:
        raise ValueError(f"the power {power} of a matrix is not -1 by a whole number")

    def goes_on(turn, rest, root):
        far = gen_ops.greater(reduce_max(gen_ops.abs(rest - identity)), epsilon)
        return gen_ops.logical_and(gen_ops.less(turn, iter_count), far)

    def refine(turn, rest, root):
        factor = (1 - power) * identity + power * rest
        return turn + 1, matmul(_whole_power(factor, order), rest), matmul(root, factor)

    scale = (1 - 1 / power) / (2 * gen_ops.sqrt(reduce_sum(matrix * matrix)))
    first = identity * gen_ops.pow(scale, convert(-power, scale.dtype))
    return while_loop(goes_on, refine, [convert(0), matrix * scale, first])[2]


def _whole_power(matrix, exponent):
    """A matrix multiplied with itself so often; the exponent is at least 1."""
    power = None
    while exponent:
        if exponent % 2:
            power = matrix if power is None else matmul(matrix, power)
        exponent //= 2
        if exponent:
            matrix = matmul(matrix, matrix)
    return power
