"""What kinds of feature columns there are, and the features of a batch that they read."""

import collections
import re

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_rank_at_least
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import control_dependencies
from millrace._graph.sparse_tensor import SparseTensor, to_tensor_or_sparse
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims
from millrace._ops.sparse_layout import sparse_reshape
from millrace._state.named_variables import get_variable
from millrace._values import dtypes

# Ids are an int64 SparseTensor of shape [batch, ...], weights None or a SparseTensor in the same places.
IdsAndWeights = collections.namedtuple("IdsAndWeights", ["ids", "weights"])

# A Tensor of shape [batch, steps, ...] and how many steps each row has, an int64 vector.
Sequence = collections.namedtuple("Sequence", ["tensor", "lengths"])


class FeatureColumn:
    """How some features become what a model takes. Columns are values: equal ones can stand for each other.

    Attributes:
      name: what it is called; columns of one model have different names.
      parse_example_spec: {key: a feature} for tf.parse_example.
    """

    @property
    def scope_name(self):
        """The name of the variable scope of its variables."""
        # What a scope can't be called (a space, say) is an underscore there.
        return re.sub(r"[^A-Za-z0-9_.\-/]", "_", self.name)

    def transformed(self, inputs):
        """What it makes of the features, without variables; called once for an Inputs."""
        raise NotImplementedError(f"{type(self).__name__} has no transformed()")


class DenseColumn(FeatureColumn):
    """A column that gives numbers.

    Attributes:
      variable_shape: the TensorShape of an example's numbers.
    """

    def dense(self, inputs):
        """A float32 Tensor of shape [batch] + variable_shape."""
        return inputs.get(self)


class CategoricalColumn(FeatureColumn):
    """A column that gives ids of categories, any number for each example.

    Attributes:
      num_buckets: how many categories there are.
    """

    def ids_and_weights(self, inputs):
        """The IdsAndWeights of the examples."""
        return IdsAndWeights(inputs.get(self), None)


class SequenceColumn(FeatureColumn):
    """A column that gives numbers for each step of a sequence."""

    def sequence(self, inputs):
        """The Sequence of the examples."""
        raise NotImplementedError(f"{type(self).__name__} has no sequence()")


class Inputs:
    """The features of a batch, and what columns made of them: each makes it once.

    Args:
      features: {key: a Tensor or SparseTensor, or what converts to one}.
      collections: names of collections that new variables join beside those of all model variables.
      trainable: whether new variables are to be trained.
    """

    def __init__(self, features, collections=None, trainable=True):
        self._features = dict(features)
        self._made = {}
        kinds = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
        self._collections = [*dict.fromkeys([*(collections or []), *kinds])]
        self._trainable = trainable

    def get(self, key):
        """The feature of a key, with at least two axes, or what a column makes.

        Raises:
          ValueError: if there is no such feature, or it has no axes; TypeError: for another key.
        """
        if key not in self._made:
            self._made[key] = self._feature(key) if isinstance(key, str) else self._of(key)
        return self._made[key]

    def variable(self, name, shape, initializer, trainable=True):
        """A float32 Variable of the current variable scope, or a PartitionedVariable."""
        return get_variable(
            name,
            shape=shape,
            dtype=dtypes.float32,
            initializer=initializer,
            trainable=trainable and self._trainable,
            collections=list(self._collections),
        )

    def _of(self, column):
        if column in self._features:  # a program made it already
            return to_tensor_or_sparse(self._features[column])
        if not isinstance(column, FeatureColumn):
            raise TypeError(f"a key must be a str or a feature column, not {column!r}")
        return column.transformed(self)

    def _feature(self, key):
        if key not in self._features:
            raise ValueError(
                f"Feature {key} is not in features dictionary; it has {sorted(map(str, self._features))}"
            )
        feature = to_tensor_or_sparse(self._features[key])
        rank = feature.shape.ndims
        if rank is None:
            return _with_two_axes(feature)
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {feature}")
        if rank > 1:
            return feature
        if isinstance(feature, SparseTensor):
            return sparse_reshape(feature, [-1, 1])
        return expand_dims(feature, -1)


def _with_two_axes(feature):
    """The feature, whose rank is known only later, with an axis more if it has one alone."""
    if isinstance(feature, SparseTensor):
        dims = feature.dense_shape
        return sparse_reshape(feature, gen_ops.concat_v2([dims, _ones_up_to(dims)], 0))
    with control_dependencies([assert_rank_at_least(feature, 1)]):
        dims = gen_ops.shape(feature, out_type=dtypes.int64)
    return gen_ops.reshape(feature, gen_ops.concat_v2([dims, _ones_up_to(dims)], 0))


def _ones_up_to(dims):
    """A one if there is one size alone, else none."""
    number = cast(gen_ops.equal(gen_ops.size(dims), 1), dtypes.int32)
    return gen_ops.fill(gen_ops.reshape(number, [1]), cast(1, dtypes.int64))


def to_sparse(feature, ignored=None):
    """A SparseTensor of the elements of a Tensor that are not `ignored`; a SparseTensor as it is.

    Args:
      feature: a Tensor or SparseTensor.
      ignored: what stands for nothing: by default "" for strings, -1 for integers, 0 for other numbers.
    """
    if isinstance(feature, SparseTensor):
        return feature
    if ignored is None:
        dtype = feature.dtype
        ignored = "" if dtype == dtypes.string else -1 if dtype.is_integer else 0
    places = gen_ops.where(gen_ops.not_equal(feature, ignored))
    return SparseTensor(
        places, gen_ops.gather_nd(feature, places), gen_ops.shape(feature, out_type=dtypes.int64)
    )


def check_key(key):
    """Raises ValueError if the key of a feature is no string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def whole(number):
    """A number as an int; programs have whole ones as floats too. ValueError for others."""
    made = int(number)
    if made != number:
        raise ValueError(f"a whole number is needed, not {number}")
    return made
