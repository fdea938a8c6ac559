"""tf.contrib.legacy_seq2seq: sequences from sequences, a node for each point of time."""

from millrace._recurrent.legacy_attention import (
    attention_decoder,
    embedding_attention_decoder,
    embedding_attention_seq2seq,
)
from millrace._recurrent.legacy_seq2seq import (
    basic_rnn_seq2seq,
    embedding_rnn_decoder,
    embedding_rnn_seq2seq,
    embedding_tied_rnn_seq2seq,
    one2many_rnn_seq2seq,
    rnn_decoder,
    tied_rnn_seq2seq,
)
from millrace._recurrent.losses import model_with_buckets, sequence_loss_by_example
from millrace._recurrent.losses import sequence_loss_of_lists as sequence_loss
