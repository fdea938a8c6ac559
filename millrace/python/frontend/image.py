"""tf.image: images of other sizes, parts and colours."""

from millrace._gen import (
    decode_bmp,
    decode_gif,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    hsv_to_rgb,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
    rgb_to_hsv,
)
from millrace._ops.colour_spaces import rgb_to_yiq, rgb_to_yuv, yiq_to_rgb, yuv_to_rgb
from millrace._ops.image_boxes import (
    combined_non_max_suppression,
    crop_and_resize,
    draw_bounding_boxes,
    extract_glimpse,
    non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
    non_max_suppression_with_scores,
    sample_distorted_bounding_box,
)
from millrace._ops.image_changes import (
    adjust_gamma,
    adjust_jpeg_quality,
    decode_and_crop_jpeg,
    extract_patches,
    random_jpeg_quality,
    resize_image_with_pad,
)
from millrace._ops.image_edges import image_gradients, sobel_edges
from millrace._ops.image_likeness import psnr, ssim, ssim_multiscale, total_variation
from millrace._ops.images import (
    ResizeMethod,
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    central_crop,
    convert_image_dtype,
    crop_to_bounding_box,
    decode_image,
    flip_left_right,
    flip_up_down,
    grayscale_to_rgb,
    is_jpeg,
    pad_to_bounding_box,
    per_image_standardization,
    random_brightness,
    random_contrast,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_saturation,
    resize_image_with_crop_or_pad,
    resize_images,
    rgb_to_grayscale,
    rot90,
    transpose_image,
)
from millrace._ops.rearranging import extract_image_patches
from millrace._ops.shaped import random_crop

resize = resize_images
transpose = transpose_image
resize_with_crop_or_pad = resize_image_with_crop_or_pad
