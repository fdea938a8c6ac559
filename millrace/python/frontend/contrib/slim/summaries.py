"""tf.contrib.slim.summaries: summaries of tensors that are named after them."""

from millrace._summaries.named_summaries import (
    add_histogram_summaries,
    add_histogram_summary,
    add_image_summaries,
    add_image_summary,
    add_scalar_summaries,
    add_scalar_summary,
    add_zero_fraction_summaries,
    add_zero_fraction_summary,
)
