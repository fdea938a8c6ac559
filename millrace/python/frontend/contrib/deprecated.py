"""tf.contrib.deprecated: summaries by the names and the tags that they had before TensorFlow 1.0."""

from millrace._summaries.tagged import (
    audio_summary,
    histogram_summary,
    image_summary,
    merge_all_summaries,
    merge_summary,
    scalar_summary,
)
