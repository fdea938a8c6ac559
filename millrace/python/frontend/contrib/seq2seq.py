"""tf.contrib.seq2seq: losses of sequences."""

from millrace._recurrent.losses import sequence_loss
