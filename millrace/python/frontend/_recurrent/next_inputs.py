"""Helpers of decoders: which ids are taken from an output, and what the next input is."""

import abc

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.tensor_array import TensorArray
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Tensor
from millrace._ops.arithmetic import argmax, cast
from millrace._ops.arrays import fill, reshape, zeros_like
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.random_values import multinomial
from millrace._ops.reductions import reduce_all
from millrace._recurrent.dynamic import axes_changed
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape


class Helper(abc.ABC):
    """The base of what decides a BasicDecoder's next inputs."""

    @property
    @abc.abstractmethod
    def batch_size(self):
        """The size of the batch, an int32 scalar."""

    @property
    def sample_ids_shape(self):
        """The TensorShape of an id, without the batch."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self):
        """The type of ids."""
        return dtypes.int32

    @abc.abstractmethod
    def initialize(self, name=None):
        """(finished, inputs) to begin with."""

    @abc.abstractmethod
    def sample(self, time, outputs, state, name=None):
        """The ids of what was given out."""

    @abc.abstractmethod
    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """(finished, inputs, state) for the next point of time."""


class _IdsOfKind(Helper):
    """A Helper that is told the shape and the type of ids."""

    def __init__(self, shape, dtype):
        self._ids_shape, self._ids_dtype = TensorShape(shape), dtype

    @property
    def sample_ids_shape(self):
        return self._ids_shape

    @property
    def sample_ids_dtype(self):
        return self._ids_dtype


class CustomHelper(_IdsOfKind):
    """A Helper made of three functions.

    Args:
      initialize_fn: gives (finished, inputs) to begin with.
      sample_fn: gives ids of time, outputs and state, by these names.
      next_inputs_fn: gives (finished, inputs, state) of time, outputs, state and sample_ids.
      sample_ids_shape: the shape of an id without the batch; that of a scalar if None.
      sample_ids_dtype: the type of ids; int32 if None.
    """

    def __init__(
        self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None, sample_ids_dtype=None
    ):
        super().__init__(sample_ids_shape or [], sample_ids_dtype or dtypes.int32)
        self._initialize_fn, self._sample_fn = initialize_fn, sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size = None

    @property
    def batch_size(self):
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name=None):
        with name_scope(name, "CustomHelperInitialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = gen_ops.size(finished)
        return finished, inputs

    def sample(self, time, outputs, state, name=None):
        with name_scope(name, "CustomHelperSample", [time]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        with name_scope(name, "CustomHelperNextInputs", [time]):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class TrainingHelper(Helper):
    """Gives a net the right inputs, whatever its outputs were.

    Args:
      inputs: Tensors of shape [batch, time, ...], in any structure.
      sequence_length: an integer vector of size batch.
      time_major: True if the inputs are of shape [time, batch, ...].
      name: a name scope.

    Ids are the largest of each output. ValueError if sequence_length is no vector.
    """

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        with name_scope(name, "TrainingHelper", [sequence_length]):
            self._inputs = structure.map_structure(
                lambda leaf: convert(leaf, name="inputs"), inputs
            )
            major = self._inputs
            if not time_major:
                major = structure.map_structure(axes_changed, major)
            self._arrays = structure.map_structure(as_array, major)
            self._lengths = convert(sequence_length, name="sequence_length")
            if self._lengths.shape.ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._lengths.shape}"
                )
            self._zeros = structure.map_structure(lambda leaf: zeros_like(leaf[0, :]), major)
            self._batch_size = gen_ops.size(self._lengths)

    @property
    def inputs(self):
        return self._inputs

    @property
    def sequence_length(self):
        return self._lengths

    @property
    def batch_size(self):
        return self._batch_size

    def initialize(self, name=None):
        with name_scope(name, "TrainingHelperInitialize"):
            return self._at(0)

    def sample(self, time, outputs, name=None, **_):
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time, outputs, state, name=None, **_):
        with name_scope(name, "TrainingHelperNextInputs", [time]):
            return (*self._at(time + 1), state)

    def _at(self, time):
        """(which sequences are over at a time, the inputs of then)."""
        finished = gen_ops.less_equal(self._lengths, cast(time, self._lengths.dtype.base_dtype))
        inputs = cond(
            reduce_all(finished),
            lambda: structure.map_structure(gen_ops.identity, self._zeros),
            lambda: structure.map_structure(lambda array: array.read(time), self._arrays),
        )
        return finished, inputs


def as_array(value):
    """A TensorArray of the parts of a Tensor along its first axis."""
    return TensorArray(
        value.dtype.base_dtype, size=gen_ops.shape(value)[0], element_shape=value.shape[1:]
    ).unstack(value)


def ids_drawn(logits, seed):
    """An int32 id for each row of a matrix, as likely as its logits say."""
    drawn = multinomial(logits, 1, seed=seed, output_dtype=dtypes.int32)
    return reshape(drawn, [-1])


def embedding_function(embedding):
    """A function from ids to rows: `embedding` itself, or the rows of the table that it is."""
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


class GreedyEmbeddingHelper(Helper):
    """Feeds a net what it gave: the embedding of the largest of each output.

    Args:
      embedding: a function from ids to inputs, or a table for tf.nn.embedding_lookup.
      start_tokens: an int32 vector of size batch, the first ids.
      end_token: an int32 scalar: a sequence that gives this id is over.

    Raises:
      ValueError: if start_tokens is no vector or end_token no scalar.
    """

    def __init__(self, embedding, start_tokens, end_token):
        self._embedding_fn = embedding_function(embedding)
        tokens = convert(start_tokens, dtypes.int32, name="start_tokens")
        self._end_token = convert(end_token, dtypes.int32, name="end_token")
        if tokens.shape.ndims != 1:
            raise ValueError(f"start_tokens must be a vector, but has shape {tokens.shape}")
        if self._end_token.shape.ndims != 0:
            raise ValueError(f"end_token must be a scalar, but has shape {self._end_token.shape}")
        self._batch_size = gen_ops.size(tokens)
        self._start_inputs = self._embedding_fn(tokens)

    @property
    def batch_size(self):
        return self._batch_size

    def initialize(self, name=None):
        return fill([self._batch_size], False), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        _check_tensor(outputs)
        return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished = gen_ops.equal(sample_ids, self._end_token)
        inputs = cond(
            reduce_all(finished),
            lambda: gen_ops.identity(self._start_inputs),
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, inputs, state


def _check_tensor(outputs):
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds a net what it gave: the embedding of an id that is drawn, as likely as the output says.

    Args:
      embedding, start_tokens, end_token: as for GreedyEmbeddingHelper.
      softmax_temperature: a float scalar that outputs are divided by; 1 if None. The larger, the more
        alike all ids become.
      seed: the seed.
    """

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state, name=None):
        _check_tensor(outputs)
        logits = outputs if self._temperature is None else outputs / self._temperature
        return ids_drawn(logits, self._seed)


class InferenceHelper(_IdsOfKind):
    """Feeds a net what functions make of its outputs.

    Args:
      sample_fn: gives ids of the outputs.
      sample_shape: the shape of an id without the batch; sample_dtype: its type.
      start_inputs: the first inputs, a Tensor whose first axis is the batch.
      end_fn: gives of ids which sequences are over.
      next_inputs_fn: gives inputs of ids; None for the ids themselves.
    """

    def __init__(
        self, sample_fn, sample_shape, sample_dtype, start_inputs, end_fn, next_inputs_fn=None
    ):
        super().__init__(sample_shape, sample_dtype)
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._start_inputs = convert(start_inputs, name="start_inputs")
        self._batch_size = gen_ops.shape(self._start_inputs)[0]

    @property
    def batch_size(self):
        return self._batch_size

    def initialize(self, name=None):
        return fill([self._batch_size], False), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample_fn(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
