"""Seeing values while a graph runs."""

from millrace import _gen as gen_ops


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """`input_`, and prints `data` on the standard error of the task each time it is computed.

    Args:
      input_: a Tensor.
      data: a list of Tensors to print.
      message: a text to print before them.
      first_n: how often; None for always.
      summarize: how many elements of each.
      name: a name for the node.
    """
    return gen_ops.print(
        input_,
        list(data),
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )
