"""Keras's layers of attention: what a query finds in a list of values."""

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import smart_cond
from millrace._keras.layer import Layer
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims
from millrace._ops.arrays import shape as shape_of
from millrace._ops.layers import dropout as nn_dropout
from millrace._ops.layers import softmax
from millrace._ops.linear_algebra import matmul
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class _Attention(Layer):
    """The base. It is called with [query, value] or [query, value, key] of shape [batch, times of queries or
    of values, depth]; the value is the key too if there is none. Outputs are of the query's shape. Masks,
    [query's, value's], bools of shape [batch, times], come from layers before or by `mask`.

    Args:
      causal: whether a query at a time sees only values up to this time.
      dropout: the share of weights that is dropped in training.

    Raises:
      ValueError: when called, for other than two or three inputs, or masks that are no such list.
    """

    supports_masking = True

    def __init__(self, causal=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.causal, self.dropout = causal, dropout

    def scores(self, query, key):
        """How well keys fit queries, of shape [batch, times of queries, times of values]."""
        raise NotImplementedError

    def compute_mask(self, inputs, mask=None):
        self._check(inputs, mask)
        return mask[0] if mask else None

    def call(self, inputs, mask=None, training=None):
        self._check(inputs, mask)
        query, value, key = inputs if len(inputs) == 3 else [*inputs, inputs[1]]
        of_query, of_value = (mask[0], mask[1]) if mask else (None, None)
        scores = self.scores(query, key)
        seen = None if of_value is None else expand_dims(of_value, -2)
        if self.causal:
            sizes = shape_of(scores)
            times, others = gen_ops.range(0, sizes[-2], 1), gen_ops.range(0, sizes[-1], 1)
            before = gen_ops.greater_equal(expand_dims(times, 1), expand_dims(others, 0))
            before = expand_dims(before, 0)
            seen = before if seen is None else gen_ops.logical_and(seen, before)
        if seen is not None:
            # So far below all others that their share is zero; float16 has no larger number.
            far = 65504.0 if scores.dtype.base_dtype == dtypes.float16 else 1e9
            scores = scores - far * cast(gen_ops.logical_not(seen), scores.dtype.base_dtype)
        weights = softmax(scores)
        if self.dropout:
            weights = smart_cond(
                training,
                lambda: nn_dropout(weights, rate=self.dropout),
                lambda: gen_ops.identity(weights),
            )
        made = matmul(weights, value)
        if of_query is not None:
            made = made * cast(expand_dims(of_query, -1), made.dtype.base_dtype)
        return made

    def _check(self, inputs, mask):
        kind = type(self).__name__
        if not isinstance(inputs, list) or len(inputs) not in (2, 3):
            raise ValueError(
                f"{kind} layer must be called on a list of inputs, namely [query, value] or "
                f"[query, value, key]. Given: {inputs!r}"
            )
        if mask and (not isinstance(mask, list) or not 2 <= len(mask) <= len(inputs)):
            raise ValueError(
                f"{kind} layer mask must be a list, namely [query_mask, value_mask]. Given: {mask!r}"
            )

    def compute_output_shape(self, input_shape):
        query, value = (TensorShape(each).as_list() for each in input_shape[:2])
        return TensorShape([*query[:-1], value[-1]])


class Attention(_Attention):
    """Attention by the products of queries and keys (Luong's). See the base for inputs and arguments.

    Args:
      use_scale: whether products are multiplied with a variable, `scale`, which begins with 1.
    """

    def __init__(self, use_scale=False, **kwargs):
        super().__init__(**kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight("scale", [], initializer="ones")
        self.built = True

    def scores(self, query, key):
        made = matmul(query, key, transpose_b=True)
        return made if self.scale is None else made * self.scale


class AdditiveAttention(_Attention):
    """Attention by the sum of tanh(query + key) (Bahdanau's). See the base for inputs and arguments.

    Args:
      use_scale: whether each number of the depth is multiplied with one of a variable, `scale`.
    """

    def __init__(self, use_scale=True, **kwargs):
        super().__init__(**kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape):
        if self.use_scale:
            depth = TensorShape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight("scale", [depth], initializer="glorot_uniform")
        self.built = True

    def scores(self, query, key):
        made = gen_ops.tanh(expand_dims(query, -2) + expand_dims(key, -3))
        return reduce_sum(made if self.scale is None else made * self.scale, axis=-1)
