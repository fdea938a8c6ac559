"""What a graph or a list of variables is made of, counted and printed."""


def tensor_description(var):
    """Type and sizes of a Tensor or Variable, "(float32 3x4)"."""
    return f"({var.dtype.base_dtype.name} {'x'.join(map(_size, var.shape.as_list()))})"


def _size(size):
    return "?" if size is None else str(size)


def _count(shape):
    return shape.num_elements() or 0


def analyze_ops(graph, print_info=False):
    """The number of elements of all outputs of a graph's nodes, as far as they are known.

    Args:
      graph: a Graph.
      print_info: True to print each node with it.
    """
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    total = 0
    for operation in graph.get_operations():
        size = sum(_count(output.shape) for output in operation.outputs)
        shapes = [tensor_description(each) for each in operation.outputs if each.shape.ndims]
        if print_info:
            print(operation.name, "\t->", ", ".join(shapes), f"[{size}]")
        total += size
    return total


def analyze_vars(variables, print_info=False):
    """(the number of elements, the number of bytes) of variables.

    Args:
      variables: a list of them.
      print_info: True to print each with it.
    """
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    total = total_bytes = 0
    for variable in variables:
        size = _count(variable.shape)
        size_in_bytes = size * variable.dtype.size
        total, total_bytes = total + size, total_bytes + size_in_bytes
        if print_info:
            print(variable.name, tensor_description(variable), f"[{size}, bytes: {size_in_bytes}]")
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes
