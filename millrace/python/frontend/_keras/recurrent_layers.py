"""SimpleRNN, GRU and LSTM: each of Keras's cells in a loop over time."""

from millrace._keras import configs
from millrace._keras.recurrent import RNN
from millrace._keras.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell

_OF_BOTH = ("name", "trainable", "dtype")  # a cell has them, but not those of its layer


class OfCell(RNN):
    """The base of layers that make their cell themselves: they take what the cell does and what RNN does."""

    cell_class = SimpleRNNCell

    def __init__(self, *settings, **kwargs):
        taken = configs.defaults_of(self.cell_class.__mro__).keys() - set(_OF_BOTH)
        of_cell = {name: kwargs.pop(name) for name in list(kwargs) if name in taken}
        if "dtype" in kwargs:
            of_cell["dtype"] = kwargs["dtype"]
        super().__init__(self.cell_class(*settings, **of_cell), **kwargs)

    def __getattr__(self, name):
        # Programs ask the layer for what its cell has: units, kernel, activation.
        if name.startswith("_") or "cell" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.cell, name)

    def get_config(self):
        return {**configs.config_of(self.cell), **super().get_config()}


class SimpleRNN(OfCell):
    """activation(inputs * kernel + output before * recurrent_kernel + bias), over the time of its inputs.

    See SimpleRNNCell and RNN for the arguments.
    """

    def __init__(self, units, activation="tanh", use_bias=True, **kwargs):
        super().__init__(units, activation=activation, use_bias=use_bias, **kwargs)


class _Gated(OfCell):
    """Layers of cells with gates."""

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        **kwargs,
    ):
        super().__init__(
            units,
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            **kwargs,
        )


class GRU(_Gated):
    """Gated recurrent units over the time of their inputs. See GRUCell and RNN for the arguments."""

    cell_class = GRUCell


class LSTM(_Gated):
    """Long short-term memory over the time of its inputs. See LSTMCell and RNN for the arguments."""

    cell_class = LSTMCell


class CuDNNLSTM(LSTM):
    """LSTM with the functions that CuDNN has: gates are sigmoids."""

    def __init__(self, units, **kwargs):
        kwargs.setdefault("recurrent_activation", "sigmoid")
        super().__init__(units, **kwargs)


class CuDNNGRU(GRU):
    """GRU as CuDNN has it: gates are sigmoids, and the reset gate comes after the product."""

    def __init__(self, units, **kwargs):
        kwargs.setdefault("recurrent_activation", "sigmoid")
        kwargs.setdefault("reset_after", True)
        super().__init__(units, **kwargs)
