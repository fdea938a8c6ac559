"""Images bent by a flow of their pixels, and the splines that make a flow of some points."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import (
    concat,
    expand_dims,
    matrix_transpose,
    ones_like,
    reshape,
    shape,
    stack,
    tile,
    zeros,
)
from millrace._ops.linear_algebra import matmul
from millrace._ops.reductions import reduce_sum
from millrace._ops.shaped import eye
from millrace._values import dtypes

_LEAST = 1e-10  # of a squared distance whose logarithm is taken


def dense_image_warp(image, flow, name="dense_image_warp"):
    """Images whose pixel (y, x) is taken from (y, x) - flow, between pixels in proportion; the border goes on outside.

    Args:
      image: [batch, height, width, channels] of float16, float32 or float64; at least 2 high and wide.
      flow: [batch, height, width, 2] of the same type: down, and to the right.
      name: a name for the nodes.
    """
    with name_scope(name):
        image = convert(image, name="image")
        flow = convert(flow, name="flow", hint=image.dtype.base_dtype)
        sizes = shape(image)
        places = _grid(sizes[1], sizes[2], flow.dtype.base_dtype) - flow
        places = reshape(places, stack([sizes[0], sizes[1] * sizes[2], 2]))
        made = reshape(_between(image, places), sizes)
        made.set_shape(image.shape)
        return made


def _grid(height, width, dtype):
    """The places (y, x) of all pixels: [1, height, width, 2]."""
    down = tile(expand_dims(gen_ops.range(0, height, 1), 1), stack([1, width]))
    across = tile(expand_dims(gen_ops.range(0, width, 1), 0), stack([height, 1]))
    return cast(stack([down, across], axis=2)[None], dtype)


def _between(images, places):
    """Pixels of [batch, height, width, channels] at places [batch, n, 2]: [batch, n, channels]."""
    known = images.shape.as_list() if images.shape.ndims == 4 else [None] * 4
    if any(size is not None and size < 2 for size in known[1:3]):
        raise ValueError(
            f"dense_image_warp: images are at least 2 high and wide, not {images.shape}"
        )
    dtype, sizes = places.dtype.base_dtype, shape(images)
    last = cast(sizes[1:3] - 2, dtype)
    corner = gen_ops.maximum(gen_ops.minimum(gen_ops.floor(places), last), constant(0, dtype))
    share = gen_ops.maximum(
        gen_ops.minimum(places - corner, constant(1, dtype)), constant(0, dtype)
    )
    share = cast(share, images.dtype.base_dtype)
    at = cast(corner, dtypes.int32)
    batch = tile(reshape(gen_ops.range(0, sizes[0], 1), [-1, 1]), stack([1, shape(at)[1]]))

    def pixels(down, right):
        return gen_ops.gather_nd(
            images, stack([batch, at[:, :, 0] + down, at[:, :, 1] + right], axis=2)
        )

    below, beside = share[:, :, 0:1], share[:, :, 1:2]
    top = pixels(0, 0) + beside * (pixels(0, 1) - pixels(0, 0))
    bottom = pixels(1, 0) + beside * (pixels(1, 1) - pixels(1, 0))
    return top + below * (bottom - top)


def _bent(squares, order):
    """The spline of an order, of squared distances."""
    least = gen_ops.maximum(squares, constant(_LEAST, squares.dtype.base_dtype))
    if order == 1:
        return gen_ops.sqrt(least)
    if order == 2:
        return 0.5 * squares * gen_ops.log(least)
    if order == 4:
        return 0.5 * gen_ops.square(squares) * gen_ops.log(least)
    power = gen_ops.pow(least, constant(0.5 * order, least.dtype.base_dtype))
    return 0.5 * power * gen_ops.log(least) if order % 2 == 0 else power


def _squared_distances(x, y):
    """Between all points of [batch, n, d] and [batch, m, d]: [batch, n, m]."""
    ends = reduce_sum(gen_ops.square(x), 2)[:, :, None] + reduce_sum(gen_ops.square(y), 2)[:, None]
    return ends - 2.0 * matmul(x, y, transpose_b=True)


def interpolate_spline(
    train_points,
    train_values,
    query_points,
    order,
    regularization_weight=0.0,
    name="interpolate_spline",
):
    """Values at points, by the polyharmonic spline through other points.

    Args:
      train_points: [batch, n, d] of a floating type: where values are known; n is known.
      train_values: [batch, n, k]: the values.
      query_points: [batch, m, d]: where they are asked for.
      order: of the spline, an int above 0: 1 is by distance, 2 thin plates.
      regularization_weight: above 0 the spline passes by points for being smooth; a number.
      name: a name for the nodes.

    Returns:
      [batch, m, k].
    """
    with name_scope(name):
        points = convert(train_points, name="train_points")
        dtype = points.dtype.base_dtype
        values = convert(train_values, name="train_values", hint=dtype)
        asked = convert(query_points, name="query_points", hint=dtype)
        sizes = shape(points)
        bent = _bent(_squared_distances(points, points), order)
        if regularization_weight > 0:
            bent += constant(regularization_weight, dtype) * eye(sizes[1], dtype=dtype)
        level = _with_one(points)
        more = shape(level)[2]
        left = concat([bent, matrix_transpose(level)], 1)
        right = concat([level, zeros(stack([sizes[0], more, more]), dtype)], 1)
        rest = zeros(stack([sizes[0], more, shape(values)[2]]), dtype)
        found = gen_ops.matrix_solve(concat([left, right], 2), concat([values, rest], 1))
        made = matmul(_bent(_squared_distances(asked, points), order), found[:, : sizes[1]])
        made += matmul(_with_one(asked), found[:, sizes[1] :])
        if asked.shape.ndims == 3 and values.shape.ndims == 3:
            made.set_shape(asked.shape[:2].concatenate(values.shape[2:]))
        return made


def _with_one(points):
    """Points with a coordinate more, which is 1."""
    return concat([points, ones_like(points[:, :, :1])], 2)


def sparse_image_warp(
    image,
    source_control_point_locations,
    dest_control_point_locations,
    interpolation_order=2,
    regularization_weight=0.0,
    num_boundary_points=0,
    name="sparse_image_warp",
):
    """Images bent so that points of them come to lie elsewhere.

    Args:
      image: [batch, height, width, channels] of a floating type, with known height and width.
      source_control_point_locations: [batch, n, 2]: where points (y, x) are.
      dest_control_point_locations: [batch, n, 2]: where they come to lie.
      interpolation_order, regularization_weight: as for `interpolate_spline`.
      num_boundary_points: how many points of each edge stay: 0 none, 1 the corners, 2 also the middle of each edge.
      name: a name for the nodes.

    Returns:
      (the images, the flow of their pixels, [batch, height, width, 2]).

    Raises:
      ValueError: if height and width are not known, or num_boundary_points is negative.
    """
    with name_scope(name):
        image = convert(image, name="image")
        dtype = image.dtype.base_dtype
        source = convert(source_control_point_locations, name="source", hint=dtype)
        to = convert(dest_control_point_locations, name="dest", hint=dtype)
        height, width = image.shape.with_rank(4).as_list()[1:3]
        if height is None or width is None:
            raise ValueError(f"sparse_image_warp: height and width must be known: {image.shape}")
        if num_boundary_points < 0:
            raise ValueError(
                f"sparse_image_warp: num_boundary_points is {num_boundary_points}, below 0"
            )
        flows, batch = to - source, shape(image)[0]
        if num_boundary_points > 0:
            edges = _edges(height, width, num_boundary_points - 1)
            still = tile(constant(edges[None], dtype), stack([batch, 1, 1]))
            to = concat([to, still], 1)
            flows = concat([flows, still * 0.0], 1)
        asked = reshape(_grid(height, width, dtype), [1, height * width, 2])
        flow = interpolate_spline(
            to,
            flows,
            tile(asked, stack([batch, 1, 1])),
            interpolation_order,
            regularization_weight,
        )
        flow = reshape(flow, stack([batch, height, width, 2]))
        return dense_image_warp(image, flow), flow


def _edges(height, width, between):
    """Points (y, x) on the edges: the corners, and as many between two of them as that: [n, 2]."""
    down, across = np.linspace(0, height - 1, between + 2), np.linspace(0, width - 1, between + 2)
    ys, xs = np.meshgrid(down, across, indexing="ij")
    is_edge = (xs == 0) | (xs == width - 1) | (ys == 0) | (ys == height - 1)
    return np.stack([ys[is_edge], xs[is_edge]], axis=-1)
