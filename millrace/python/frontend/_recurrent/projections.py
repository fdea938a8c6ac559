"""Cells of tf.contrib around others: embeddings and projections of what goes in and comes out."""

import math

from millrace import _gen as gen_ops
from millrace._ops.arrays import concat, reshape
from millrace._ops.embeddings import embedding_lookup
from millrace._recurrent.cell import RNNCell, assert_like_rnncell
from millrace._state.initializers import random_uniform_initializer, zeros_initializer
from millrace._state.named_variables import get_variable, get_variable_scope
from millrace._values import structure


class _Around(RNNCell):
    """What these have in common: the other cell's state."""

    def __init__(self, cell, reuse):
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        self._cell = cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Around):
    """A cell whose inputs are numbers of classes, for which it has a table.

    Args:
      cell: the cell.
      embedding_classes: how many classes there are.
      embedding_size: the size of what the cell gets for each.
      initializer: of the table; by default uniform with variance 1, or the scope's.
      reuse: True to use existing variables.

    Raises:
      ValueError: if a size is not positive.
    """

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    def call(self, inputs, state):
        width = math.sqrt(3)  # of a uniform distribution with variance 1
        initializer = (
            self._initializer
            or get_variable_scope().initializer
            or random_uniform_initializer(-width, width)
        )
        dtype = structure.flatten(state)[0].dtype.base_dtype
        table = get_variable("embedding", self._shape, initializer=initializer, dtype=dtype)
        return self._cell(embedding_lookup(table, reshape(inputs, [-1])), state)


def linear(inputs, size, initializer=None):
    """Matrices side by side * kernel + bias, with variables of the current scope.

    Args:
      inputs: Tensors of shape [batch, n], each n known.
      size: the number of columns of the result.
      initializer: of the kernel; the scope's if None.
    """
    whole = concat(inputs, 1) if len(inputs) > 1 else inputs[0]
    dtype = whole.dtype.base_dtype
    kernel = get_variable(
        "kernel", [whole.shape.as_list()[1], size], dtype=dtype, initializer=initializer
    )
    bias = get_variable("bias", [size], dtype=dtype, initializer=zeros_initializer(dtype=dtype))
    return gen_ops.bias_add(gen_ops.mat_mul(whole, kernel), bias)


class Linear:
    """A product of matrices side by side with a kernel, whose variables are made once.

    Args:
      args: a Tensor of shape [batch, n], or a list of them, each n known: what it is to take.
      output_size: the number of columns of the result.
      build_bias: whether there is a bias.
      bias_initializer: zeros if None. kernel_initializer: the scope's if None.

    Raises:
      ValueError: without args, or for some that are no such matrices.
    """

    def __init__(
        self, args, output_size, build_bias, bias_initializer=None, kernel_initializer=None
    ):
        args = _matrices(args)
        dtype = args[0].dtype.base_dtype
        rows = sum(each.shape.as_list()[1] for each in args)
        self._kernel = get_variable(
            "kernel", [rows, output_size], dtype, initializer=kernel_initializer
        )
        self._bias = None
        if build_bias:
            initializer = bias_initializer or zeros_initializer(dtype=dtype)
            self._bias = get_variable("bias", [output_size], dtype, initializer=initializer)

    def __call__(self, args):
        args = _matrices(args)
        made = gen_ops.mat_mul(concat(args, 1) if len(args) > 1 else args[0], self._kernel)
        return made if self._bias is None else gen_ops.bias_add(made, self._bias)


def _matrices(args):
    args = list(args) if isinstance(args, (list, tuple)) else [args]
    if not args or any(each is None for each in args):
        raise ValueError("`args` must be specified")
    for each in args:
        if each.shape.ndims != 2 or each.shape.as_list()[1] is None:
            raise ValueError(
                "linear is expecting 2D arguments with a known last size: "
                f"{[str(each.shape) for each in args]}"
            )
    return args


def linear_of(args, output_size, bias, bias_initializer=None, kernel_initializer=None):
    """Linear of `args` at once; arguments and errors as there."""
    return Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)


def projected(inputs, size, activation):
    """inputs * kernel + bias, with variables of the current scope."""
    made = linear([inputs], size)
    return made if activation is None else activation(made)


class InputProjectionWrapper(_Around):
    """A cell whose inputs are multiplied by a kernel first.

    Args:
      cell: the cell.
      num_proj: the size of its inputs.
      activation: a function of them; None for none.
      input_size: accepted.
      reuse: True to use existing variables.
    """

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(cell, reuse)
        self._size, self._activation = num_proj, activation

    def call(self, inputs, state):
        return self._cell(projected(inputs, self._size, self._activation), state)


class OutputProjectionWrapper(_Around):
    """A cell whose outputs are multiplied by a kernel.

    Args:
      cell: the cell.
      output_size: the size of the outputs.
      reuse: True to use existing variables.
      activation: a function of them; None for none.

    Raises:
      ValueError: if the size is not positive.
    """

    def __init__(self, cell, output_size, reuse=None, activation=None):
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._size, self._activation = output_size, activation

    @property
    def output_size(self):
        return self._size

    def call(self, inputs, state):
        output, new_state = self._cell(inputs, state)
        return projected(output, self._size, self._activation), new_state
