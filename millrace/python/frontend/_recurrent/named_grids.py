"""Grids of one, two and three dimensions by the names of their cells.

All are read and give outputs at their first dimension, which goes last. With a non_recurrent_fn that one has a layer
in the place of a cell. Arguments that are not told of are those of GridRNNCell, or of the cells.
"""

from millrace._recurrent.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell
from millrace._recurrent.grid_cells import GridRNNCell


class _OutsideFirst(GridRNNCell):
    """A grid that is read and gives outputs at its first dimension, which goes last."""

    def __init__(self, num_units, num_dims, cell_fn, non_recurrent_fn=None, **others):
        super().__init__(
            num_units,
            num_dims,
            input_dims=0,
            output_dims=0,
            priority_dims=0,
            non_recurrent_dims=None if non_recurrent_fn is None else 0,
            cell_fn=cell_fn,
            non_recurrent_fn=non_recurrent_fn,
            **others,
        )


def _lstm(use_peepholes, forget_bias):
    return lambda units: LSTMCell(units, forget_bias=forget_bias, use_peepholes=use_peepholes)


class Grid1BasicRNNCell(_OutsideFirst):
    """A grid of one dimension with a BasicRNNCell; arguments as for GridRNNCell."""

    def __init__(self, num_units, state_is_tuple=True, output_is_tuple=True):
        super().__init__(
            num_units,
            1,
            BasicRNNCell,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid2BasicRNNCell(_OutsideFirst):
    """A grid of two dimensions with BasicRNNCells, the first with a layer instead if non_recurrent_fn is given."""

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            num_units,
            2,
            BasicRNNCell,
            non_recurrent_fn,
            tied=tied,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid1BasicLSTMCell(_OutsideFirst):
    """A grid of one dimension with a BasicLSTMCell."""

    def __init__(self, num_units, forget_bias=1, state_is_tuple=True, output_is_tuple=True):
        super().__init__(
            num_units,
            1,
            lambda units: BasicLSTMCell(units, forget_bias=forget_bias),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid2BasicLSTMCell(_OutsideFirst):
    """A grid of two dimensions with BasicLSTMCells, the first with a layer instead if non_recurrent_fn is given."""

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        forget_bias=1,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            num_units,
            2,
            lambda units: BasicLSTMCell(units, forget_bias=forget_bias),
            non_recurrent_fn,
            tied=tied,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid1LSTMCell(_OutsideFirst):
    """A grid of one dimension with an LSTMCell."""

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        forget_bias=1.0,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            num_units,
            1,
            _lstm(use_peepholes, forget_bias),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class _GridOfLSTMs(_OutsideFirst):
    """A grid of `dimensions` with LSTMCells."""

    dimensions = 2

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        use_peepholes=False,
        forget_bias=1.0,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            num_units,
            self.dimensions,
            _lstm(use_peepholes, forget_bias),
            non_recurrent_fn,
            tied=tied,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid2LSTMCell(_GridOfLSTMs):
    """A grid of two dimensions with LSTMCells, the first with a layer instead if non_recurrent_fn is given."""


class Grid3LSTMCell(_GridOfLSTMs):
    """A grid of three dimensions with LSTMCells, the first with a layer instead if non_recurrent_fn is given."""

    dimensions = 3


class Grid2GRUCell(_OutsideFirst):
    """A grid of two dimensions with GRUCells, the first with a layer instead if non_recurrent_fn is given."""

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            num_units,
            2,
            GRUCell,
            non_recurrent_fn,
            tied=tied,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )
