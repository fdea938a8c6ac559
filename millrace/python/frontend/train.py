"""tf.train: optimizers, rates that decay, averages; input, sessions, checkpoints; clusters and servers."""

from millrace._values.examples import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from millrace._cluster.cluster_spec import ClusterDef, ClusterSpec, JobDef, ServerDef
from millrace._cluster.device_setter import replica_device_setter
from millrace._estimators.warm_starts import VocabInfo, warm_start
from millrace._input import queue_runner
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
from millrace._saving.checkpoint_manager import CheckpointManager
from millrace._saving.checkpoint_reader import (
    NewCheckpointReader,
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from millrace._saving.checkpoint_state import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from millrace._saving.graph_files import write_graph
from millrace._saving.graph_savers import import_meta_graph
from millrace._saving.meta_graph import export_meta_graph
from millrace._saving.object_checkpoints import Checkpoint
from millrace._saving.new_checkpoints import checkpoints_iterator
from millrace._saving.saver import Saver
from millrace._saving.saver_def import SaverDef
from millrace._summaries.file_writer import summary_iterator
from millrace._supervised.all_reduce import AllReduceOptimizer
from millrace._supervised.basic_loop import basic_train_loop
from millrace._supervised.bounded_staleness import BoundedStalenessOptimizer
from millrace._supervised.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millrace._supervised.lockstep import LockstepOptimizer
from millrace._supervised.monitored_session import MonitoredSession, SingularMonitoredSession
from millrace._supervised.saving_hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    ProfilerHook,
    SummarySaverHook,
)
from millrace._supervised.scaffold import Scaffold
from millrace._supervised.session_creators import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from millrace._supervised.session_manager import SessionManager
from millrace._supervised.step_hooks import (
    GlobalStepWaiterHook,
    StepCounterHook,
    StopAtStepHook,
)
from millrace._supervised.supervisor import Supervisor
from millrace._supervised.sync_replicas import SyncReplicasOptimizer
from millrace._supervised.timers import SecondOrStepTimer
from millrace._supervised.training_session import MonitoredTrainingSession
from millrace._supervised.value_hooks import (
    FeedFnHook,
    FinalOpsHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
)
from millrace._train import experimental
from millrace._train.accumulating import (
    AdagradDAOptimizer,
    AdagradOptimizer,
    FtrlOptimizer,
    ProximalAdagradOptimizer,
)
from millrace._train.averaging import AdadeltaOptimizer, AdamOptimizer, RMSPropOptimizer
from millrace._train.cosine_decays import (
    cosine_decay_restarts,
    linear_cosine_decay,
    noisy_linear_cosine_decay,
)
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
