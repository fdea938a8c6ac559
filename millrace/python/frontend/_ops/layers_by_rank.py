"""Pools and transposed convolutions over lines, images or volumes, whichever their input is."""

from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.convolutions import conv1d_transpose, conv2d_transpose
from millrace._ops.pools import avg_pool, avg_pool1d, max_pool, max_pool1d
from millrace._ops.volumes import avg_pool3d, conv3d_transpose, max_pool3d

_FORMATS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}


def _of_rank(input, data_format, *others):
    """(the input as a Tensor, its rank as it or the format tells it, the format)."""
    input = convert(input, name="input")
    ranks = (data_format and len(data_format), input.shape.ndims, *others)
    rank = next((each for each in ranks if each), None)
    if rank not in _FORMATS:
        raise ValueError(
            f"input must be of rank 3, 4 or 5, for lines, images or volumes, and is {input.shape}"
        )
    return input, rank, data_format or _FORMATS[rank]


def _pool(kind, functions):
    def pool(input, ksize, strides, padding, data_format=None, name=None):
        with name_scope(name, f"{kind}_pool_v2", [input]):
            input, rank, layout = _of_rank(input, data_format)
            return functions[rank](input, ksize, strides, padding, layout)

    pool.__name__ = pool.__qualname__ = f"{kind}_pool_v2"
    pool.__doc__ = f"""{'The mean' if kind == 'avg' else 'The largest'} of each window over lines, images or volumes.

    Args:
      input: a Tensor of 3 to 5 axes.
      ksize, strides: the size of windows and how far one is from the next: a number, one for each axis
        that windows move along, or one for each axis.
      padding: "SAME" or "VALID".
      data_format: "NWC", "NCW", "NHWC", "NCHW", "NDHWC" or "NCDHW"; None for channels in the last axis.
      name: the name scope.

    Raises:
      ValueError: for another or an unknown rank, or if no window fits.
    """
    return pool


avg_pool_v2 = _pool("avg", {3: avg_pool1d, 4: avg_pool, 5: avg_pool3d})
max_pool_v2 = _pool("max", {3: max_pool1d, 4: max_pool, 5: max_pool3d})

_TRANSPOSED = {3: conv1d_transpose, 4: conv2d_transpose, 5: conv3d_transpose}


def conv_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format=None,
    dilations=None,
    name=None,
):
    """conv1d_transpose, conv2d_transpose or conv3d_transpose, by the rank of the input.

    Args:
      input: a Tensor of 3 to 5 axes.
      filters: [..., outputs, channels].
      output_shape: the shape of the result.
      strides, padding, data_format, dilations: of the convolution whose gradient it is.
      name: the name scope.

    Raises:
      ValueError: for another or an unknown rank, or if sizes do not fit each other.
    """
    with name_scope(name, "conv_transpose", [input]) as scope:
        filters = convert(filters, name="filters")
        input, rank, layout = _of_rank(input, data_format, filters.shape.ndims)
        return _TRANSPOSED[rank](
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=layout,
            dilations=dilations,
            name=scope,
        )
