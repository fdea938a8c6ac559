"""tf.contrib.image: images turned, moved and bent, and their colours changed in YIQ."""

from millrace._ops.projections import (
    angles_to_projective_transforms,
    compose_transforms,
    flat_transforms_to_matrices,
    matrices_to_flat_transforms,
    rotate,
    transform,
    translate,
    translations_to_projective_transforms,
)
from millrace._ops.warps import dense_image_warp, interpolate_spline, sparse_image_warp
from millrace._ops.yiq import adjust_hsv_in_yiq, random_hsv_in_yiq
