"""tf.switch_case: one of several functions, by a number."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._values import dtypes


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """The result of the function that a number names; of the default for any other number.

    Args:
      branch_index: an int32 scalar.
      branch_fns: a list of functions, or a dictionary or list of pairs of numbers, from 0 on, and
        functions, which all give structures of the same types.
      default: the function for all other numbers; None for the last one of branch_fns.
      name: the name scope.

    Raises:
      TypeError: if a function can't be called, or a number is none.
      ValueError: if there are no functions, or the numbers are not 0, 1, 2 and so on.
    """
    branches = _in_order(branch_fns)
    if default is not None and not callable(default):
        raise TypeError(f"default must be callable: {default!r}")
    with name_scope(name, "switch_case", [branch_index]):
        index = convert(branch_index, dtypes.int32, "branch_index")
        otherwise = branches[-1] if default is None else default
        cases = branches[:-1] if default is None else branches
        for number, function in reversed(list(enumerate(cases))):
            otherwise = _chosen(gen_ops.equal(index, number), function, otherwise)
        return otherwise()


def _chosen(is_it, function, otherwise):
    return lambda: cond(is_it, function, otherwise)


def _in_order(branch_fns):
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError(f"branch_fns must be a list, tuple, or dict, got {type(branch_fns)}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    elif all(callable(function) for function in branch_fns):
        pairs = list(enumerate(branch_fns))
    else:
        pairs = list(branch_fns)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in branch_fns must be a 2-tuple, got {pair!r}")
        number, function = pair
        if not isinstance(number, int):
            raise TypeError(f"key must be a Python `int`, got {number!r}")
        if not callable(function):
            raise TypeError(f"fn for key {number} must be callable: {function!r}")
    made = dict(pairs)
    if sorted(made) != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{{{', '.join(map(str, sorted(made)))}}}"
        )
    return [made[number] for number in range(len(pairs))]
