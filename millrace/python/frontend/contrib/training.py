"""tf.contrib.training: settings of a model, training and evaluating it in one call, where variables go."""

from millrace._cluster.strategies import GreedyLoadBalancingStrategy, byte_size_load_fn
from millrace._input.buckets import bucket, bucket_by_sequence_length
from millrace._input.sampling import (
    rejection_sample,
    resample_at_rate,
    stratified_sample,
    weighted_resample,
)
from millrace._saving.new_checkpoints import checkpoints_iterator, wait_for_new_checkpoint
from millrace._supervised.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
)
from millrace._supervised.train_ops import (
    add_gradients_summaries,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    create_train_op,
    multiply_gradients,
)
from millrace._supervised.trained_in_one import train
from millrace._values.hparams import HParams
