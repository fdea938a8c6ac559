"""tf.contrib.slim.learning: a training in one call, and the ops that it runs."""

from millrace._supervised.slim_learning import train, train_step
from millrace._supervised.train_ops import add_gradients_summaries, clip_gradient_norms
from millrace._supervised.train_ops import multiply_gradients
from millrace._supervised.train_ops import slim_train_op as create_train_op
