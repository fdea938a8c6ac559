"""tf.custom_gradient: a function of Tensors that says what its own gradient is."""

import functools
import inspect
import itertools

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.graph import get_default_graph
from millrace._ops.gradients import register_in_graph
from millrace._state.variable_groups import trainable_variables
from millrace._state.variables import ResourceVariable
from millrace._values import structure

_numbers = itertools.count()


def custom_gradient(f):
    """A decorator for a function that returns (result, grad_fn).

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.log(1 + e), lambda arriving: arriving * (1 - 1 / (1 + e))

    Args:
      f: called with Tensors. Its result is a Tensor or a nested structure of them; grad_fn is called
        with what arrives at each and returns what goes to each argument. If f reads trainable
        variables, grad_fn must take `variables=`, a list of them, and return (what goes to the
        arguments, a list of what goes to the variables).

    Raises (when the function is called):
      ValueError: for arguments by name; TypeError: if grad_fn does not take variables that are read,
        or they are reference variables.
    """

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                f"eager execution is enabled: {', '.join(kwargs)}"
            )
        return _applied(f, [convert(arg) for arg in args])

    return decorated


def _applied(f, args):
    graph = get_default_graph()
    first = graph.version
    args = [gen_ops.identity(arg) for arg in args]
    result, grad_fn = f(*args)
    results = [convert(each) for each in structure.flatten(result)]
    variables = _read_since(graph, first)
    if variables:
        _check_takes_variables(grad_fn, variables)

    def gradient(op, *arriving):
        arriving = arriving[: len(results)]
        if not variables:
            return [None] * len(results) + _as_list(grad_fn(*arriving))
        by_args, by_variables = grad_fn(*arriving, variables=variables)
        if len(by_variables) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn: "
                f"{len(by_variables)} for {len(variables)} variables"
            )
        return [None] * len(results) + _as_list(by_args) + list(by_variables)

    name = f"CustomGradient-{next(_numbers)}"
    register_in_graph(graph, name, gradient)
    # The arguments are inputs by which gradients leave; the results come out as they went in.
    inputs = [*results, *args, *(variable.handle for variable in variables)]
    with graph.gradient_override_map({"IdentityN": name}):
        outputs = gen_ops.identity_n(inputs)
    return structure.pack(result, outputs[: len(results)])


def _read_since(graph, first):
    """The trainable variables that nodes from number `first` on read."""
    read = set()
    for node_id in range(first, graph.version):
        read.update(tuple(endpoint) for endpoint in graph.core.inputs(node_id))
    return [
        variable
        for variable in dict.fromkeys(trainable_variables())
        if not read.isdisjoint(_endpoints(variable))
    ]


def _endpoints(variable):
    """The outputs by which nodes read a variable."""
    if isinstance(variable, ResourceVariable):
        return [tuple(variable.handle.endpoint)]
    return [tuple(convert(variable, as_ref=ref).endpoint) for ref in (False, True)]


def _check_takes_variables(grad_fn, variables):
    if not all(isinstance(variable, ResourceVariable) for variable in variables):
        raise TypeError(
            "All variables used by `f` wrapped in @custom_gradient must be `ResourceVariable`s. "
            "Ensure that no `variable_scope` is created with `use_resource=False`."
        )
    parameters = inspect.signature(grad_fn).parameters.values()
    if not any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must "
            "accept a 'variables' keyword argument."
        )


def _as_list(values):
    return list(values) if isinstance(values, (list, tuple)) else [values]
