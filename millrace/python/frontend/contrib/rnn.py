"""tf.contrib.rnn: cells of recurrent nets, and what unrolls them."""

from millrace._recurrent.cell import RNNCell
from millrace._recurrent.cells import (
    BasicLSTMCell,
    BasicRNNCell,
    GRUCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
)
from millrace._recurrent.contrib_cells import LayerNormBasicLSTMCell, LSTMBlockCell, NASCell
from millrace._recurrent.convolving_cells import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
)
from millrace._recurrent.dynamic import axes_changed as transpose_batch_time
from millrace._recurrent.fused_adaptors import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    TimeReversedFusedRNN,
)
from millrace._recurrent.fused_cells import GRUBlockCell, GRUBlockCellV2, LSTMBlockFusedCell
from millrace._recurrent.projections import (
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)
from millrace._recurrent.rarer_cells import (
    CoupledInputForgetGateLSTMCell,
    IndRNNCell,
    IntersectionRNNCell,
    PhasedLSTMCell,
    SRUCell,
    UGRNNCell,
)
from millrace._recurrent.stacks import stack_bidirectional_dynamic_rnn, stack_bidirectional_rnn
from millrace._recurrent.surrounded_cells import AttentionCellWrapper, HighwayWrapper
from millrace._recurrent.unrolling import static_bidirectional_rnn, static_rnn
from millrace._recurrent.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper
