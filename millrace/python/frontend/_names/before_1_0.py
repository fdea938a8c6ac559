"""Names that TensorFlow dropped before 1.0: what it says instead since, which they stand for here.

Programs of 2016 have them, those on clusters not least. Each says once what it is called now.
"""

import sys
from importlib import import_module

_PACKAGE = __name__.partition(".")[0]

RENAMED = {
    "audio_summary": "tf.summary.audio",
    "batch_cholesky": "tf.cholesky",
    "batch_matmul": "tf.matmul",
    "batch_matrix_band_part": "tf.matrix_band_part",
    "batch_matrix_determinant": "tf.matrix_determinant",
    "batch_matrix_diag": "tf.matrix_diag",
    "batch_matrix_inverse": "tf.matrix_inverse",
    "batch_matrix_solve": "tf.matrix_solve",
    "batch_matrix_transpose": "tf.matrix_transpose",
    "complex_abs": "tf.abs",
    "concat_v2": "tf.concat",
    "histogram_summary": "tf.summary.histogram",
    "image_summary": "tf.summary.image",
    "inv": "tf.reciprocal",
    "list_diff": "tf.setdiff1d",
    "merge_all_summaries": "tf.summary.merge_all",
    "merge_summary": "tf.summary.merge",
    "mul": "tf.multiply",
    "neg": "tf.negative",
    "nn.bidirectional_rnn": "tf.nn.static_bidirectional_rnn",
    "nn.rnn": "tf.nn.static_rnn",
    "nn.seq2seq": "tf.contrib.legacy_seq2seq",
    "nn.state_saving_rnn": "tf.nn.static_state_saving_rnn",
    "pack": "tf.stack",
    "scalar_summary": "tf.summary.scalar",
    "select": "tf.where",
    "split_v": "tf.split",
    "sub": "tf.subtract",
    "train.SummaryWriter": "tf.summary.FileWriter",
    "unpack": "tf.unstack",
}

# Those that took other arguments, or made other tags, than what took their place.
_KEPT = {
    name: f"contrib.deprecated.{name}"
    for name in (
        "audio_summary",
        "histogram_summary",
        "image_summary",
        "merge_all_summaries",
        "merge_summary",
        "scalar_summary",
    )
}

_told = set()


def has(path):
    """Whether a path below the package ("mul", "train.SummaryWriter") is from before 1.0."""
    return path in RENAMED


def found(path):
    """What such a name stands for; says so the first time."""
    if path not in _told:
        _told.add(path)
        # What most programs don't need is not waited for.
        log = import_module("logging").getLogger("millrace")
        log.warning("tf.%s is from before TensorFlow 1.0: it is %s now", path, RENAMED[path])
    held = sys.modules[_PACKAGE]
    so_far = _PACKAGE
    for name in _KEPT.get(path, RENAMED[path].removeprefix("tf.")).split("."):
        so_far = f"{so_far}.{name}"
        held = getattr(held, name, None) or import_module(so_far)
    return held
