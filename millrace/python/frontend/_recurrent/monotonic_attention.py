"""Attention that never goes back."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.functional import scan
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast, cumsum
from millrace._ops.arrays import one_hot, ones_like, reshape, transpose, zeros
from millrace._ops.clipping import clip_by_value
from millrace._ops.random_values import random_normal
from millrace._recurrent.attention import (
    ScoringAttention,
    product_score,
    scalar_variable,
    sum_score,
    unbiased_layer,
)
from millrace._recurrent.cell import batch_size_of
from millrace._values import dtypes


def safe_cumprod(x, *args, **kwargs):
    """tf.cumprod of numbers in [0, 1] as the exponential of sums of logarithms, which can't be zero.

    Args:
      x: a floating Tensor; others: as for tf.cumsum.
    """
    with name_scope(None, "SafeCumprod", [x]):
        x = convert(x, name="x")
        tiny = float(np.finfo(x.dtype.as_numpy_dtype).tiny)
        return gen_ops.exp(cumsum(gen_ops.log(clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i, previous_attention, mode):
    """Alignments that never go back, of how likely each place is chosen once it has been reached.

    Args:
      p_choose_i: of shape [batch, places], in [0, 1].
      previous_attention: the alignments before; 1 at the first place to begin with.
      mode: "recursive" (exact, place by place), "parallel" (by sums and products, less exact) or "hard"
        (where every probability is 0 or 1).

    Raises:
      ValueError: if the mode is another.
    """
    chosen = convert(p_choose_i, name="p_choose_i")
    before = convert(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch = batch_size_of(chosen)
        ones = ones_like(chosen[:, :1])
        goes_on = gen_ops.concat_v2([ones, 1 - chosen[:, :-1]], 1)
        reached = scan(
            lambda x, each: reshape(each[0] * x + each[1], [batch]),
            [transpose(goes_on), transpose(before)],
            zeros([batch], chosen.dtype.base_dtype),
        )
        return chosen * transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1 - chosen, axis=1, exclusive=True)
        return chosen * passed * cumsum(before / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        chosen = chosen * cumsum(before, axis=1)
        return chosen * gen_ops.cumprod(1 - chosen, 1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


class _Monotonic(ScoringAttention):
    """What both monotonic mechanisms share: a bias of scores, sigmoids, and the first alignments."""

    def __init__(self, units, memory, bias, noise, seed, mode, dtype, **options):
        super().__init__(
            unbiased_layer("query_layer", units, dtype),
            memory,
            self._alignments,
            memory_layer=unbiased_layer("memory_layer", units, dtype),
            **options,
        )
        self._bias, self._noise, self._seed, self._mode = bias, noise, seed, mode

    def biased(self, score):
        return score + scalar_variable("attention_score_bias", score.dtype, self._bias)

    def _alignments(self, score, state):
        if self._noise > 0:
            shape = gen_ops.shape(score)
            score = score + self._noise * random_normal(
                shape, dtype=score.dtype.base_dtype, seed=self._seed
            )
        is_hard = self._mode == "hard"
        chosen = cast(score > 0, score.dtype) if is_hard else gen_ops.sigmoid(score)
        return monotonic_attention(chosen, state, self._mode)

    def initial_alignments(self, batch_size, dtype):
        """1 at the first place."""
        return one_hot(zeros([batch_size], dtypes.int32), self.alignments_size, dtype=dtype)


class BahdanauMonotonicAttention(_Monotonic):
    """BahdanauAttention that never goes back.

    Args:
      num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype, name: as for
        BahdanauAttention.
      sigmoid_noise: the deviation of noise that scores get, which makes them decided in training.
      sigmoid_noise_seed: its seed.
      score_bias_init: what the scores' bias begins with.
      mode: as for monotonic_attention.
    """

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        score_mask_value=None,
        sigmoid_noise=0.0,
        sigmoid_noise_seed=None,
        score_bias_init=0.0,
        mode="parallel",
        dtype=None,
        name="BahdanauMonotonicAttention",
    ):
        super().__init__(
            num_units,
            memory,
            score_bias_init,
            sigmoid_noise,
            sigmoid_noise_seed,
            mode,
            dtype,
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            scope="bahdanau_monotonic_attention",
            name=name,
        )
        self._normalize = normalize

    def score(self, query):
        return self.biased(sum_score(self.query_layer(query), self.keys, self._normalize))


class LuongMonotonicAttention(_Monotonic):
    """LuongAttention that never goes back.

    Args:
      num_units, memory, memory_sequence_length, scale, score_mask_value, dtype, name: as for
        LuongAttention; others: as for BahdanauMonotonicAttention.
    """

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        score_mask_value=None,
        sigmoid_noise=0.0,
        sigmoid_noise_seed=None,
        score_bias_init=0.0,
        mode="parallel",
        dtype=None,
        name="LuongMonotonicAttention",
    ):
        super().__init__(
            num_units,
            memory,
            score_bias_init,
            sigmoid_noise,
            sigmoid_noise_seed,
            mode,
            dtype,
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            scope="luong_monotonic_attention",
            name=name,
        )
        self._scale = scale

    def score(self, query):
        return self.biased(product_score(query, self.keys, self._scale))
