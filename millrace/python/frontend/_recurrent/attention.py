"""Attention: how much a query looks at each place of a memory."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal, assert_positive
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._layers.core import Dense
from millrace._ops.arithmetic import argmax
from millrace._ops.arrays import one_hot, ones_like, reshape, where
from millrace._ops.linear_algebra import matmul
from millrace._ops.reductions import reduce_sum
from millrace._ops.shaped import sequence_mask
from millrace._recurrent.basic_decoder import check_layer
from millrace._recurrent.cell import batch_size_of, zero_states
from millrace._state.initializers import constant_initializer, zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._values import dtypes


class AttentionMechanism:
    """The base of what AttentionWrapper asks where to look.

    Called with (query, state) it gives (alignments, the next state); a query is of shape [batch, depth],
    alignments and states of shape [batch, places].

    Attributes:
      values: the memory, of shape [batch, places, depth], zero beyond its lengths.
      keys: what queries are compared with, of shape [batch, places, units].
      batch_size, alignments_size: the sizes, ints if they are known.
    """

    def initial_alignments(self, batch_size, dtype):
        """Zeros of shape [batch_size, places]."""
        return zero_states(self.alignments_size, batch_size, dtype)

    def initial_state(self, batch_size, dtype):
        """The state to begin with."""
        return self.initial_alignments(batch_size, dtype)

    @property
    def state_size(self):
        return self.alignments_size


class ScoringAttention(AttentionMechanism):
    """A mechanism that makes alignments of scores. Classes that derive from it define `score(query)`.

    Args:
      query_layer: a layer for queries, or None.
      memory: of shape [batch, places, ...], the outputs of an encoder for one.
      probability_fn: gives alignments of (scores, state).
      memory_sequence_length: an integer vector of size batch: places beyond have no part in it.
      memory_layer: a layer that makes keys of the memory, or None for the memory itself.
      check_inner_dims_defined: whether the sizes of the memory beyond two axes must be known.
      score_mask_value: the score of places beyond; minus infinity if None.
      scope: the variable scope that a call opens.
      name: a name scope.

    Raises:
      TypeError: if a layer is none, or probability_fn no function; ValueError: if sizes are not known.
    """

    def __init__(
        self,
        query_layer,
        memory,
        probability_fn,
        memory_sequence_length=None,
        memory_layer=None,
        check_inner_dims_defined=True,
        score_mask_value=None,
        scope=None,
        name=None,
    ):
        check_layer("query_layer", query_layer)
        check_layer("memory_layer", memory_layer)
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn)}")
        self.query_layer, self.memory_layer = query_layer, memory_layer
        self._probability_fn, self._lengths = probability_fn, memory_sequence_length
        self._scope = scope
        with name_scope(name, "BaseAttentionMechanismInit"):
            if memory_sequence_length is not None:
                self._lengths = convert(memory_sequence_length, name="memory_sequence_length")
            self.values = _masked_memory(memory, self._lengths, check_inner_dims_defined)
            self.keys = self.values if memory_layer is None else memory_layer(self.values)
            self.batch_size = batch_size_of(self.keys)
            self.alignments_size = batch_size_of(self.keys, 1)
        self.dtype = self.keys.dtype.base_dtype
        self._mask_value = -np.inf if score_mask_value is None else score_mask_value

    def score(self, query):
        """How well a query fits each place, of shape [batch, places]."""
        raise NotImplementedError("Abstract method")

    def __call__(self, query, state):
        with variable_scope(None, self._scope, [query]):
            score = self.score(query)
        alignments = self._probability_fn(self._masked(score), state)
        return alignments, alignments

    def _masked(self, score):
        if self._lengths is None:
            return score
        check = assert_positive(
            self._lengths,
            message="All values in memory_sequence_length must greater than zero.",
        )
        with control_dependencies([check] if check is not None else []):
            is_inside = sequence_mask(self._lengths, maxlen=gen_ops.shape(score)[1])
            return where(is_inside, score, self._mask_value * ones_like(score))


def _masked_memory(memory, lengths, check_inner_dims_defined):
    """The memory, zero beyond its lengths."""
    memory = convert(memory, name="memory")
    if check_inner_dims_defined and not memory.shape[2:].is_fully_defined():
        raise ValueError(
            f"Expected memory {memory.name} to have fully defined inner dims, but saw shape: "
            f"{memory.shape}"
        )
    if lengths is None:
        return memory
    check = assert_equal(
        batch_size_of(lengths),
        batch_size_of(memory),
        message="memory_sequence_length and memory tensor batch sizes do not match.",
    )
    with control_dependencies([check] if check is not None else []):
        mask = sequence_mask(lengths, maxlen=gen_ops.shape(memory)[1], dtype=memory.dtype)
        rest = [1] * (memory.shape.ndims - 2)
        return memory * reshape(mask, gen_ops.concat_v2([gen_ops.shape(mask), rest], 0))


def _of_score_alone(probability_fn):
    probability_fn = probability_fn or gen_ops.softmax
    return lambda score, _: probability_fn(score)


def unbiased_layer(name, units, dtype):
    """A Dense layer without bias, of float32 if there is no type."""
    return Dense(units, name=name, use_bias=False, dtype=dtype or dtypes.float32)


class LuongAttention(ScoringAttention):
    """Scores that are products of query and keys.

    Args:
      num_units: the depth of keys and queries.
      memory, memory_sequence_length, score_mask_value: as for ScoringAttention.
      scale: True to multiply scores by a variable, `attention_g`.
      probability_fn: gives alignments of scores; softmax if None.
      dtype: the type of the memory's layer; float32 if None.
      name: a name scope.

    Its memory goes through a layer, `memory_layer`, queries through none.
    """

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        name="LuongAttention",
    ):
        super().__init__(
            None,
            memory,
            _of_score_alone(probability_fn),
            memory_sequence_length=memory_sequence_length,
            memory_layer=unbiased_layer("memory_layer", num_units, dtype),
            score_mask_value=score_mask_value,
            scope="luong_attention",
            name=name,
        )
        self._scale = scale

    def score(self, query):
        return product_score(query, self.keys, self._scale)


def product_score(query, keys, scale):
    """Products of a query and keys, of shape [batch, places], times a variable if `scale`."""
    depth, units = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if depth is None or depth != units:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys.  "
            f"Query ({query.name}) has units: {depth}.  Keys ({keys.name}) have units: {units}.  "
            f"Perhaps you need to set num_units to the keys' dimension ({units})?"
        )
    score = matmul(gen_ops.expand_dims(query, 1), keys, transpose_b=True)
    score = gen_ops.squeeze(score, squeeze_dims=[1])
    if scale:
        score = scalar_variable("attention_g", query.dtype, 1.0) * score
    return score


def scalar_variable(name, dtype, value):
    """A scalar variable that begins with a value."""
    return get_variable(name, [], dtype=dtype.base_dtype, initializer=constant_initializer(value))


class BahdanauAttention(ScoringAttention):
    """Scores that a small net makes of query and keys: the sum of v * tanh(query + keys).

    Args:
      num_units: the depth of keys and queries, for which there are layers: `memory_layer` and
        `query_layer`.
      memory, memory_sequence_length, score_mask_value: as for ScoringAttention.
      normalize: True for a v of the length of a variable, and a bias.
      probability_fn: gives alignments of scores; softmax if None.
      dtype: the type of the layers; float32 if None.
      name: a name scope.
    """

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        name="BahdanauAttention",
    ):
        super().__init__(
            unbiased_layer("query_layer", num_units, dtype),
            memory,
            _of_score_alone(probability_fn),
            memory_sequence_length=memory_sequence_length,
            memory_layer=unbiased_layer("memory_layer", num_units, dtype),
            score_mask_value=score_mask_value,
            scope="bahdanau_attention",
            name=name,
        )
        self._normalize = normalize

    def score(self, query):
        return sum_score(self.query_layer(query), self.keys, self._normalize)


def sum_score(query, keys, normalize):
    """What a net of one layer makes of a query and keys, of shape [batch, places]."""
    units = keys.shape.as_list()[2]
    query, dtype = gen_ops.expand_dims(query, 1), query.dtype.base_dtype
    v = get_variable("attention_v", [units], dtype=dtype)
    if not normalize:
        return reduce_sum(v * gen_ops.tanh(keys + query), [2])
    g = scalar_variable("attention_g", dtype, math.sqrt(1.0 / units))
    b = get_variable("attention_b", [units], dtype=dtype, initializer=zeros_initializer())
    v = g * v * gen_ops.rsqrt(reduce_sum(gen_ops.square(v)))
    return reduce_sum(v * gen_ops.tanh(keys + query + b), [2])


def hardmax(logits, name=None):
    """One-hot vectors of where the largest along the last axis is."""
    with name_scope(name, "Hardmax", [logits]):
        logits = convert(logits, name="logits")
        depth = logits.shape.as_list()[-1]
        if depth is None:
            depth = gen_ops.shape(logits)[-1]
        return one_hot(argmax(logits, -1), depth, dtype=logits.dtype.base_dtype)
