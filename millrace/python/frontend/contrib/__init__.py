"""tf.contrib: what programs of TensorFlow 1 take from there."""

from millrace.contrib import (
    data,
    estimator,
    factorization,
    feature_column,
    framework,
    image,
    layers,
    learn,
    legacy_seq2seq,
    lookup,
    metrics,
    rnn,
    seq2seq,
    slim,
    staging,
    training,
)
