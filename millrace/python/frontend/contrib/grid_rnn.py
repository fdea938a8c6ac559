"""tf.contrib.grid_rnn: recurrent cells of several dimensions."""

from millrace._recurrent.grid_cells import GridRNNCell
from millrace._recurrent.named_grids import (
    Grid1BasicLSTMCell,
    Grid1BasicRNNCell,
    Grid1LSTMCell,
    Grid2BasicLSTMCell,
    Grid2BasicRNNCell,
    Grid2GRUCell,
    Grid2LSTMCell,
    Grid3LSTMCell,
)
