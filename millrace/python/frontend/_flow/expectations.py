"""tf.contrib.framework's looks at tensors while a graph is built, and checks of shapes in its steps."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert, case
from millrace._flow.smart_cond import known_truth
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Operation, Tensor
from millrace._ops.arithmetic import add_n
from millrace._ops.reductions import reduce_all, reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def assert_scalar(tensor, name=None):
    """The Tensor, which is a scalar. ValueError if it is known to be none."""
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = convert(tensor)
        if tensor.shape.ndims not in (None, 0):
            raise ValueError(f"Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


def assert_scalar_int(tensor, name=None):
    """The Tensor, which is an integer scalar. ValueError if it is known to be none."""
    with name_scope(name, "assert_scalar_int", [tensor]):
        tensor = convert(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(
                f"Expected integer type for {tensor.name}, received type: {tensor.dtype}."
            )
        return assert_scalar(tensor)


def with_shape(expected_shape, tensor):
    """The Tensor, once it has this shape.

    Args:
      expected_shape: a TensorShape, a list, or an integer vector.
      tensor: a Tensor.

    Raises:
      ValueError: if shapes are known to differ. A step in which they turn out to fails.
    """
    tensor = convert(tensor)
    if not isinstance(expected_shape, Tensor):
        expected = TensorShape(expected_shape)
        if not tensor.shape.is_compatible_with(expected):
            raise ValueError(
                f"Invalid shape for tensor {tensor.name}, expected {expected}, got {tensor.shape}."
            )
        if tensor.shape.is_fully_defined() or not expected.is_fully_defined():
            return tensor
        expected_shape = convert(expected.as_list(), dtypes.int32)
    else:
        expected = TensorShape(None)
    found = gen_ops.shape(tensor, out_type=expected_shape.dtype)
    same_rank = gen_ops.equal(gen_ops.size(found), gen_ops.size(expected_shape))
    # Shapes of other ranks may not broadcast: that is no error of the comparison.
    same = reduce_all(gen_ops.equal(found, expected_shape, incompatible_shape_error=False))
    told = [f"Wrong shape for {tensor.name} [expected] [actual].", expected_shape, found]
    with control_dependencies([Assert(gen_ops.logical_and(same_rank, same), told)]):
        made = gen_ops.identity(tensor)
    made.set_shape(tensor.shape.merge_with(expected))
    return made


def with_same_shape(expected_tensor, tensor):
    """The second Tensor, once it has the shape of the first; errors as for with_shape."""
    with name_scope(f"{convert(tensor).op.name.rpartition('/')[2]}/"):
        expected = convert(expected_tensor)
        shape = expected.shape
        return with_shape(
            shape if shape.is_fully_defined() else gen_ops.shape(expected, name="shape"), tensor
        )


def reduce_sum_n(tensors, name=None):
    """The sum of all elements of several Tensors, a scalar. ValueError if there are none."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [reduce_sum(tensor) for tensor in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


def smart_case(pred_fn_pairs, default=None, exclusive=False, name="smart_case"):
    """tf.case, of which one function alone is called if it is known which.

    Args: as for tf.case.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    known = [known_truth(pred) for pred, _ in pairs]
    if None in known:
        return case(pairs, default=default, exclusive=exclusive, name=name)
    chosen = [function for truth, (_, function) in zip(known, pairs) if truth]
    if exclusive and len(chosen) > 1:
        raise ValueError(f"smart_case: {len(chosen)} predicates are true, of which one may be")
    if not chosen and default is None:
        raise ValueError("smart_case: no predicate is true, and there is no default")
    return (chosen[0] if chosen else default)()


def get_placeholders(graph):
    """The outputs of all placeholders of a Graph, or of a function's. TypeError for something else."""
    if not hasattr(graph, "get_operations"):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [each.outputs[0] for each in graph.get_operations() if each.type == "Placeholder"]


def get_graph_from_inputs(op_input_list, graph=None):
    """The Graph of Tensors and Operations: `graph` if it is given, else theirs, else the default one.

    Raises:
      ValueError: if they are of several graphs.
    """
    for each in op_input_list:
        own = getattr(each, "graph", None) if isinstance(each, (Tensor, Operation)) else None
        if own is None:
            continue
        if graph is None:
            graph = own
        if own is not graph:
            raise ValueError(f"{each} must be from the same graph as the others.")
    return graph or get_default_graph()


def get_name_scope():
    """The name scope that is open: "" at the root, else "a/b"."""
    return get_default_graph().get_name_scope()


def _mark(name):
    """What an input or a colocation has before the name of a node: "^", "loc:@" or nothing."""
    return next((mark for mark in ("^", "loc:@") if name.startswith(mark)), "")


def prepend_name_scope(name, import_scope):
    """A node's name, with what its input begins with, below a scope."""
    if not import_scope:
        return name
    mark = _mark(name)
    return f"{mark}{import_scope.rstrip('/')}/{name.removeprefix(mark)}"


def strip_name_scope(name, export_scope):
    """A node's name, with what its input begins with, without a scope that it is below."""
    if not export_scope:
        return name
    mark = _mark(name)
    return mark + name.removeprefix(mark).removeprefix(f"{export_scope.rstrip('/')}/")
