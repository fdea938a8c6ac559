"""Helpers that now and then give a net what it gave out, in the place of the right input."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import fill, reshape, where
from millrace._ops.random_values import random_uniform
from millrace._ops.reductions import reduce_all
from millrace._recurrent.dynamic import axes_changed
from millrace._recurrent.next_inputs import (
    TrainingHelper,
    as_array,
    embedding_function,
    ids_drawn,
)
from millrace._values import dtypes


def _is_drawn(probability, batch_size, seed):
    """A bool for each member of the batch, true with a probability: a scalar, or one for each."""
    drawn = random_uniform([batch_size], dtype=probability.dtype.base_dtype, seed=seed)
    return gen_ops.less(drawn, probability)


def _probability(value):
    probability = convert(value, name="sampling_probability")
    if probability.shape.ndims not in (0, 1):
        raise ValueError(
            "sampling_probability must be either a scalar or a vector. saw shape: "
            f"{probability.shape}"
        )
    return probability


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A TrainingHelper that now and then takes what the net gave for the next input.

    Args:
      inputs, sequence_length, time_major, name: as for TrainingHelper.
      embedding: a function from ids to inputs, or a table for tf.nn.embedding_lookup.
      sampling_probability: how likely a member of the batch gets what the net gave; a float32 scalar.
      seed: a seed for ids; scheduling_seed: one for the choice between the two.

    Ids are -1 where the right input comes next. ValueError if the probability is no scalar or vector.
    """

    def __init__(
        self,
        inputs,
        sequence_length,
        embedding,
        sampling_probability,
        time_major=False,
        seed=None,
        scheduling_seed=None,
        name=None,
    ):
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper"):
            self._embedding_fn = embedding_function(embedding)
            self._probability = _probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time, outputs, state, name=None):
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            takes = _is_drawn(self._probability, self.batch_size, self._scheduling_seed)
            return where(takes, ids_drawn(outputs, self._seed), fill([self.batch_size], -1))

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, sample_ids]):
            finished, right, state = super().next_inputs(time, outputs, state, name=name)
            takes = gen_ops.greater(sample_ids, -1)
            given = cond(
                reduce_all(finished),
                lambda: gen_ops.identity(right),
                lambda: _mixed(
                    takes,
                    right,
                    lambda rows: self._embedding_fn(gen_ops.gather_v2(sample_ids, rows, 0)),
                ),
            )
            return finished, given, state


def _mixed(takes, right, given_for):
    """The right inputs, and in the rows where `takes` holds what `given_for(rows)` gives."""
    ours = cast(where(takes), dtypes.int32)
    others = cast(where(gen_ops.logical_not(takes)), dtypes.int32)
    shape = gen_ops.shape(right)
    given = gen_ops.scatter_nd(ours, given_for(reshape(ours, [-1])), shape)
    kept = gen_ops.gather_v2(right, reshape(others, [-1]), 0)
    made = given + gen_ops.scatter_nd(others, kept, shape)
    made.set_shape(right.shape)
    return made


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A TrainingHelper that now and then takes the net's output for the next input.

    Args:
      inputs, sequence_length, time_major, name: as for TrainingHelper.
      sampling_probability: how likely a member of the batch gets the output; a float32 scalar.
      seed: a seed for the choice.
      next_input_layer: a layer that makes an input of an output; None for outputs as they are.
      auxiliary_inputs: what is put behind each input, in the structure and shape of the inputs but
        for the last size; None for nothing.

    Ids are 1 where the output comes next, 0 where the right input does. ValueError if the
    probability is no scalar or vector.
    """

    def __init__(
        self,
        inputs,
        sequence_length,
        sampling_probability,
        time_major=False,
        seed=None,
        next_input_layer=None,
        auxiliary_inputs=None,
        name=None,
    ):
        with name_scope(name, "ScheduledOutputTrainingHelper"):
            self._probability = _probability(sampling_probability)
            self._seed, self._layer, self._auxiliary = seed, next_input_layer, None
            if auxiliary_inputs is not None:
                more = convert(auxiliary_inputs, name="auxiliary_inputs")
                inputs = gen_ops.concat_v2([convert(inputs, name="inputs"), more], -1)
                self._auxiliary = as_array(more if time_major else axes_changed(more))
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time, outputs, state, name=None):
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs]):
            drawn = _is_drawn(self._probability, self.batch_size, self._seed)
            return cast(drawn, dtypes.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time, sample_ids]):
            finished, right, state = super().next_inputs(time, outputs, state, name=name)
            takes = cast(sample_ids, dtypes.bool)

            def given_for(rows):
                given = gen_ops.gather_v2(outputs, rows, 0)
                given = given if self._layer is None else self._layer(given)
                if self._auxiliary is None:
                    return given
                more = gen_ops.gather_v2(self._auxiliary.read(time + 1), rows, 0)
                return gen_ops.concat_v2([given, more], -1)

            given = cond(
                gen_ops.logical_or(reduce_all(finished), reduce_all(gen_ops.logical_not(takes))),
                lambda: gen_ops.identity(right),
                lambda: _mixed(takes, right, given_for),
            )
            return finished, given, state
