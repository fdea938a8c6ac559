"""tf.contrib: what programs of TensorFlow 1 take from there. Each module is loaded when it is first used."""

from importlib import import_module as _import_module

from millrace._names import finder as _finder

_MODULES = frozenset(
    "cluster_resolver copy_graph crf data deprecated distribute distributions estimator "
    "factorization feature_column framework graph_editor grid_rnn hooks image integrate keras layers "
    "learn legacy_seq2seq lookup losses metrics nn opt predictor resampler rnn seq2seq signal "
    "slim sparsemax staging stateless tensorboard text tfprof tpu training util".split()
)


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    raise _finder.missing_name(__name__, name)


def __dir__():
    return sorted({*globals(), *_MODULES})
