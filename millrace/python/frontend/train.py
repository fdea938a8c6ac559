"""tf.train: optimizers, rates that decay, averages; clusters, servers, and what programs on them need."""

from millrace._cluster.cluster_spec import ClusterDef, ClusterSpec, JobDef, ServerDef
from millrace._cluster.device_setter import replica_device_setter
from millrace._input.batching import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from millrace._input.producers import (
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from millrace._input.queue_runner import (
    QueueRunner,
    QueueRunnerDef,
    add_queue_runner,
    start_queue_runners,
)
from millrace._run.coordinator import Coordinator, LooperThread
from millrace._run.server import Server
from millrace._train.accumulating import (
    AdagradDAOptimizer,
    AdagradOptimizer,
    FtrlOptimizer,
    ProximalAdagradOptimizer,
)
from millrace._train.averaging import AdadeltaOptimizer, AdamOptimizer, RMSPropOptimizer
from millrace._train.decays import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)
from millrace._train.descents import (
    GradientDescentOptimizer,
    MomentumOptimizer,
    ProximalGradientDescentOptimizer,
)
from millrace._train.global_steps import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from millrace._train.moving_averages import ExponentialMovingAverage
from millrace._train.optimizer import Optimizer

piecewise_constant_decay = piecewise_constant

__all__ = [name for name in globals() if not name.startswith("_")]
