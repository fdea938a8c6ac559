"""tf.contrib.slim.evaluation: one checkpoint evaluated, or each new one."""

from millrace._saving.new_checkpoints import checkpoints_iterator, wait_for_new_checkpoint
from millrace._supervised.evaluation import evaluation_loop
from millrace._supervised.evaluation import slim_evaluate_once as evaluate_once
