"""Defun: functions with types, and gradients of their own."""

import functools

from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import identity
from millrace._state.custom_gradient import custom_gradient
from millrace._values import dtypes


class Defun:
    """A decorator for a function of Tensors of given types.

        @function.Defun(tf.float32, tf.float32)
        def hypotenuse(x, y):
            return tf.sqrt(x * x + y * y)

    Its body takes the place of each call, as Millrace does with all functions before it runs them; in
    TensorFlow a call is a node.

    Args:
      *input_types: a type for each argument.
      func_name: the name scope of calls; the function's name if None.
      grad_func: another Defun, of the arguments and what arrives at the results, that gives what goes to
        the arguments.
      python_grad_func: a function of (op, what arrives at each result) that does; `op.inputs` are
        the arguments and `op.outputs` the results.
      out_names, noinline, capture_by_value, capture_resource_var_by_value, shape_func,
        experimental_api_implements: accepted.

    Raises:
      ValueError: if there are two gradients. When called: if there are more or fewer arguments than
        types. TypeError: if one is of another type.
    """

    def __init__(self, *input_types, **kwargs):
        self._types = [dtypes.as_dtype(each) for each in input_types]
        self._name = kwargs.get("func_name")
        self._grad_func = kwargs.get("grad_func")
        self._python_grad_func = kwargs.get("python_grad_func")
        if self._grad_func is not None and self._python_grad_func is not None:
            raise ValueError("Gradient defined twice for function")

    def __call__(self, function):
        types = self._types

        @functools.wraps(function)
        def called(*args, name=None, **options):
            if types and len(args) != len(types):
                raise ValueError(
                    f"Expected number of arguments: {len(types)}, received: {len(args)} (the function "
                    f"is {called.name})"
                )
            with name_scope(name, called.name):
                given = [convert(arg, types[i] if types else None) for i, arg in enumerate(args)]
                return self._applied(function, given)

        called.name = self._name or function.__name__
        called.declared_input_types = types
        return called

    def _applied(self, function, args):
        if self._grad_func is None and self._python_grad_func is None:
            return function(*args)

        def with_gradient(*inputs):
            results = function(*inputs)
            flat = list(results) if isinstance(results, (list, tuple)) else [results]

            def gradient(*arriving):
                if self._grad_func is not None:
                    return self._grad_func(*inputs, *arriving)
                return self._python_grad_func(_Called(inputs, flat), *arriving)

            return results, gradient

        return custom_gradient(with_gradient)(*map(identity, args))


class _Called:
    """A call, as gradient functions see it."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = list(inputs), list(outputs)
