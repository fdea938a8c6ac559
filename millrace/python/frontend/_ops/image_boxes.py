"""Boxes in images: drawn, cut out, and the best of those that overlap."""

from millrace import _gen as gen_ops
from millrace._graph.default_graph import name_scope


def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """Images with the edges of boxes on them.

    Args:
      images: a batch of 1, 3 or 4 channels, float32 or float16.
      boxes: float32, [batch, boxes, 4]: top, left, bottom, right as shares of the image.
      name: a name for the node.
      colors: float32, [colors, channels], taken in turn; None for TensorFlow's ten.
    """
    if colors is None:
        return gen_ops.draw_bounding_boxes(images, boxes, name=name)
    return gen_ops.draw_bounding_boxes_v2(images, boxes, colors, name=name)


def extract_glimpse(
    input,
    size,
    offsets,
    centered=True,
    normalized=True,
    uniform_noise=True,
    name=None,
):
    """A window of each image around its offset; random numbers where it reaches over the border.

    Args:
      input: images, float32, [batch, height, width, channels].
      size: int32, [2]: the windows' height and width.
      offsets: float32, [batch, 2]: where (y, x) the middle of each window is.
      centered: True if offsets count from the middle of the image, where they are 0, and half of its
        size is 1; False if they count from its first pixel.
      normalized: True if offsets are in sizes of the image, False if in pixels.
      uniform_noise: has no effect, as in TensorFlow: what is beside an image is drawn evenly from
        the range of its values.
      name: a name for the node.

    Returns:
      a Tensor of shape [batch, size[0], size[1], channels].
    """
    return gen_ops.extract_glimpse(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


def crop_and_resize(
    image,
    boxes,
    box_ind=None,
    crop_size=None,
    method="bilinear",
    extrapolation_value=0,
    name=None,
    box_indices=None,
):
    """Parts of images, all of one size.

    Args:
      image: a batch of images.
      boxes: float32, [boxes, 4]: top, left, bottom, right as shares of the image; they may reach out
        of it, or be turned round.
      box_ind, box_indices: int32, [boxes], of which image each is a part.
      crop_size: int32, [height, width] of the parts.
      method: "bilinear" or "nearest".
      extrapolation_value: what pixels outside of the image are.
      name: a name for the node.

    Returns:
      float32, [boxes, height, width, channels].
    """
    return gen_ops.crop_and_resize(
        image,
        boxes,
        box_indices if box_ind is None else box_ind,
        crop_size,
        method=method,
        extrapolation_value=float(extrapolation_value),
        name=name,
    )


def non_max_suppression(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """Which boxes are left, the best first, when each that overlaps a better one is dropped.

    Args:
      boxes: float32, [boxes, 4], corners of each.
      scores: float32, [boxes].
      max_output_size: an int32 scalar, how many at most.
      iou_threshold: a box goes if it and a better one share more than this of what both cover.
      score_threshold: boxes with lower scores go.
      name: a name for the node.

    Returns:
      int32, the indices of the boxes that are left.
    """
    return gen_ops.non_max_suppression_v3(
        boxes, scores, max_output_size, iou_threshold, score_threshold, name=name
    )


def non_max_suppression_padded(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_to_max_output_size=False,
    name=None,
):
    """non_max_suppression, whose arguments it has, with a result of as many indices each time if asked.

    Args:
      pad_to_max_output_size: True to fill the indices up with 0 to max_output_size.

    Returns:
      (int32, the indices of the boxes that are left, int32, a scalar: how many are).
    """
    with name_scope(name, "non_max_suppression_padded"):
        found, count = gen_ops.non_max_suppression_v4(
            boxes,
            scores,
            max_output_size,
            iou_threshold,
            score_threshold,
            pad_to_max_output_size=pad_to_max_output_size,
        )
        if pad_to_max_output_size and isinstance(max_output_size, int):
            found.set_shape([max_output_size])
        return found, count


def non_max_suppression_with_scores(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    soft_nms_sigma=0.0,
    name=None,
):
    """As non_max_suppression, with the scores; or boxes lose some of theirs instead of being dropped.

    Args:
      boxes, scores, max_output_size, iou_threshold, score_threshold, name: as there.
      soft_nms_sigma: above 0, a box's score is lowered for each better one that overlaps it, by
        exp(-overlap^2 / (2 sigma)), and only score_threshold drops it.

    Returns:
      (selected_indices, selected_scores): int32, and of the type of scores.
    """
    indices, chosen, _ = gen_ops.non_max_suppression_v5(
        boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, name=name
    )
    return indices, chosen


def non_max_suppression_overlaps(
    overlaps,
    scores,
    max_output_size,
    overlap_threshold=0.5,
    score_threshold=float("-inf"),
    name=None,
):
    """As non_max_suppression, by any measure of how much two boxes overlap.

    Args:
      overlaps: float32, [boxes, boxes].
      scores, max_output_size, score_threshold, name: as there.
      overlap_threshold: a box goes if it and a better one overlap more than this.

    Returns:
      int32, the indices of the boxes that are left.
    """
    return gen_ops.non_max_suppression_with_overlaps(
        overlaps, scores, max_output_size, overlap_threshold, score_threshold, name=name
    )


def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_per_class=False,
    clip_boxes=True,
    name=None,
):
    """The best boxes of each image in all classes, those dropped that overlap a better one of theirs.

    Args:
      boxes: float32, [batch, boxes, q, 4], corners; q is 1 or the number of classes.
      scores: float32, [batch, boxes, classes].
      max_output_size_per_class, max_total_size: int32 scalars, how many at most in each class and in all.
      iou_threshold, score_threshold: as in non_max_suppression.
      pad_per_class: True if there is room for no more than all classes may fill.
      clip_boxes: True for corners within 0 and 1.
      name: a name for the node.

    Returns:
      (nmsed_boxes, nmsed_scores, nmsed_classes, valid_detections): float32, [batch, most, 4] and [batch, most],
      0 behind those that count; int32, [batch], how many do.
    """
    return gen_ops.combined_non_max_suppression(
        boxes,
        scores,
        max_output_size_per_class,
        max_total_size,
        iou_threshold,
        score_threshold,
        pad_per_class=pad_per_class,
        clip_boxes=clip_boxes,
        name=name,
    )


def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=None,
    seed2=None,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """A random part of an image that covers enough of one of its boxes: how images are varied to train.

    Args:
      image_size: an integer vector, [height, width, channels].
      bounding_boxes: float32, [batch, boxes, 4]: top, left, bottom, right as shares of the image.
      seed, seed2: integers; parts repeat from run to run if one is not 0.
      min_object_covered: float32, a scalar: at least this share of a box is in the part.
      aspect_ratio_range: two floats, of width / height; [0.75, 1.33] for None.
      area_range: two floats, shares of the image's area; [0.05, 1] for None.
      max_attempts: how often a part is drawn before the whole image is given; 100 for None.
      use_image_if_no_bounding_boxes: whether an image without boxes is one; an error otherwise.
      name: a name for the node.

    Returns:
      (begin, size, bboxes): what tf.slice takes, of image_size's type, and the part as a box, [1, 1, 4].
    """
    return gen_ops.sample_distorted_bounding_box_v2(
        image_size,
        bounding_boxes,
        min_object_covered,
        seed=seed or 0,
        seed2=seed2 or 0,
        aspect_ratio_range=aspect_ratio_range or [0.75, 1.33],
        area_range=area_range or [0.05, 1.0],
        max_attempts=max_attempts or 100,
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
        name=name,
    )
