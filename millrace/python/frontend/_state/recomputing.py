"""Functions whose gradients are not what follows from their nodes: passed through, or computed once more."""

import functools

from millrace._graph.default_graph import control_dependencies
from millrace._ops.arrays import identity
from millrace._ops.gradients import gradients
from millrace._state.custom_gradient import custom_gradient
from millrace._state.named_variables import get_variable_scope, variable_scope
from millrace._values import structure


def grad_pass_through(f):
    """A function like `f` whose gradient by each argument is what arrives at the result.

    Args:
      f: a function of Tensors whose result is of the shape of its argument, for one argument.

    Variables that it reads, which must be resource variables, get no gradient.
    """

    @custom_gradient
    def passing(*args):
        def through(*arriving, variables=None):
            by_args = [arriving[0]] * len(args) if len(arriving) == 1 else list(arriving)
            return by_args if variables is None else (by_args, [None] * len(variables))

        return f(*args), through

    return functools.wraps(f)(lambda *args, **kwargs: passing(*args, **kwargs))


def recompute_grad(f):
    """A function like `f` that is computed once more for its gradient, which saves memory between.

    Args:
      f: a function of Tensors, whose result is a Tensor or a structure of them. It may read resource
        variables; those that it makes by tf.get_variable it finds again.
    """

    @functools.wraps(f)
    def recomputing(*args, **kwargs):
        return _recomputed(functools.partial(f, **kwargs), args)

    return recomputing


def _recomputed(f, args):
    scope = get_variable_scope()

    @custom_gradient
    def twice(*args):
        def gradient(*arriving, variables=None):
            # What arrives comes first: or the second computation would run along with the first.
            with control_dependencies(list(arriving)), variable_scope(scope, reuse=True):
                again = [identity(arg) for arg in args]
                results = structure.flatten(f(*again))
            targets = again + list(variables or [])
            found = gradients(results, targets, list(arriving))
            by_args = found[: len(again)]
            return by_args if variables is None else (by_args, found[len(again) :])

        return f(*args), gradient

    return twice(*args)
