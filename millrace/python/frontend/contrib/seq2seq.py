"""tf.contrib.seq2seq: decoders of sequences, attention, and losses of sequences."""

from millrace._gen import gather_tree
from millrace._recurrent.attention import (
    AttentionMechanism,
    BahdanauAttention,
    LuongAttention,
    hardmax,
)
from millrace._recurrent.attention_wrapper import AttentionWrapper, AttentionWrapperState
from millrace._recurrent.basic_decoder import BasicDecoder, BasicDecoderOutput
from millrace._recurrent.beam_search import (
    BeamSearchDecoder,
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput,
)
from millrace._recurrent.beams import tile_batch
from millrace._recurrent.decoding import Decoder, dynamic_decode
from millrace._recurrent.losses import sequence_loss
from millrace._recurrent.monotonic_attention import (
    BahdanauMonotonicAttention,
    LuongMonotonicAttention,
    monotonic_attention,
    safe_cumprod,
)
from millrace._recurrent.next_inputs import (
    CustomHelper,
    GreedyEmbeddingHelper,
    Helper,
    InferenceHelper,
    SampleEmbeddingHelper,
    TrainingHelper,
)
from millrace._recurrent.scheduled_inputs import (
    ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper,
)
