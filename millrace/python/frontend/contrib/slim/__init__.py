"""tf.contrib.slim: the layers, variables and scopes of tf.contrib.layers and framework, and what trains them."""

from millrace.contrib.framework import *
from millrace.contrib.layers import *
from millrace.contrib import layers, losses, metrics
from millrace.contrib.slim import (
    data_decoder,
    data_provider,
    dataset,
    dataset_data_provider,
    evaluation,
    learning,
    model_analyzer,
    nets,
    parallel_reader,
    prefetch_queue,
    queues,
    summaries,
    tfexample_decoder,
    utils,
)
