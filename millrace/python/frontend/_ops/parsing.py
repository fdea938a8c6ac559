"""Bytes as tensors: tf.train.Example messages, raw numbers, fields of text."""

import collections

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arrays import reshape
from millrace._ops.sparse_layout import sparse_merge
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_csv",
    "decode_raw",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "serialize_tensor",
]

parse_tensor = gen_ops.parse_tensor
serialize_tensor = gen_ops.serialize_tensor

VarLenFeature = collections.namedtuple("VarLenFeature", ["dtype"])
VarLenFeature.__doc__ = "A feature of any number of values: parsed to a SparseTensor."


class FixedLenFeature(
    collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])
):
    """A feature of one shape in each example; it must be there unless it has a default."""

    __slots__ = ()

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    collections.namedtuple(
        "FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"]
    )
):
    """A feature of any number of steps of one shape, padded to the longest of a batch.

    With allow_missing=True an example may lack it; default_value is what fills up.
    """

    __slots__ = ()

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class SparseFeature(
    collections.namedtuple(
        "SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"]
    )
):
    """Values and their places, which an example has under two keys: parsed to one SparseTensor.

    Args:
      index_key: the key of the places, integers; or a list of keys, of which each adds an axis.
      value_key: the key of the values.
      dtype: the values' type.
      size: how long the axis is; a list of as many numbers as there are keys of places.
      already_sorted: True if the places in each example ascend.
    """

    __slots__ = ()

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class Columns:
    """Features as the ops want them: keys, types, shapes and defaults, each kind in order of keys."""

    def __init__(self, features, steps=False):
        self.sparse_keys, self.sparse_types = [], []
        self.dense_keys, self.dense_types, self.dense_shapes, self.defaults = [], [], [], []
        self.may_be_missing = []
        for key in sorted(features or {}):
            self._add(key, features[key], steps)

    def _add(self, key, feature, steps):
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, _dtype(key, feature))
            return
        if isinstance(feature, SparseFeature) and not steps:
            for index_key in _keys_of_places(feature):
                self._add_sparse(index_key, dtypes.int64)
            self._add_sparse(feature.value_key, _dtype(key, feature))
            return
        if not isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if steps and not isinstance(feature, FixedLenSequenceFeature):
            raise ValueError(f"Unsupported FixedLenFeature for a list of features: '{key}'.")
        dtype = _dtype(key, feature)
        shape = TensorShape(feature.shape)
        if isinstance(feature, FixedLenSequenceFeature) and not steps:
            if not feature.allow_missing:
                raise ValueError(
                    f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True. "
                    f"Feature: '{key}'."
                )
            shape = TensorShape([None]).concatenate(shape)
        self.dense_keys.append(key)
        self.dense_types.append(dtype)
        self.dense_shapes.append(shape)
        if steps:
            if feature.allow_missing:
                self.may_be_missing.append(key)
            return
        self.defaults.append(self._default(feature, dtype, shape))

    def _add_sparse(self, key, dtype):
        """What is parsed under a key; a feature in two parts may share one of them with another."""
        if key not in self.sparse_keys:
            self.sparse_keys.append(key)
            self.sparse_types.append(dtype)
        elif self.sparse_types[self.sparse_keys.index(key)] != dtype:
            known = self.sparse_types[self.sparse_keys.index(key)]
            raise ValueError(f"Conflicting type {known.name} vs {dtype.name} for feature {key}.")

    @staticmethod
    def _default(feature, dtype, shape):
        if feature.default_value is None:
            if isinstance(feature, FixedLenSequenceFeature):
                return constant("" if dtype == dtypes.string else 0, dtype)
            return constant(np.zeros([0], dtype.as_numpy_dtype), dtype)
        value = convert(feature.default_value, dtype)
        if isinstance(feature, FixedLenSequenceFeature):
            return reshape(value, [])
        return reshape(value, shape.as_list())


def _dtype(key, feature):
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    return dtypes.as_dtype(feature.dtype)


def _as_dict(columns, indices, values, shapes, dense):
    found = {
        key: SparseTensor(*parts)
        for key, *parts in zip(columns.sparse_keys, indices, values, shapes)
    }
    found.update(zip(columns.dense_keys, dense))
    return found


def _keys_of_places(feature):
    keys = feature.index_key
    return [keys] if isinstance(keys, str) else sorted(keys)


def with_sparse_features(features, found):
    """What was asked for: features whose places and values were parsed by themselves put together."""
    made = dict(found)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            several = not isinstance(feature.index_key, str)
            ids = (
                [found[each] for each in feature.index_key] if several else found[feature.index_key]
            )
            values = found[feature.value_key]
            made[key] = sparse_merge(ids, values, feature.size, key, feature.already_sorted)
    return {key: value for key, value in made.items() if key in features}


def parse_example(serialized, features, name=None, example_names=None):
    """Features of a vector of tf.train.Example messages.

    Args:
      serialized: a vector of strings.
      features: {key: FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or SparseFeature}.
      name: a name for the node.
      example_names: a vector of strings, for messages.

    Returns:
      {key: Tensor or SparseTensor}.

    Raises:
      ValueError: if a feature is none of these, or lacks its type.
      tf.errors.InvalidArgumentError: when run, for bytes that are no Example, features of another type
        or size, required ones that are missing.
    """
    if not features:
        raise ValueError("Missing: features was {}.".format(features))
    columns = Columns(features)
    names = [] if example_names is None else example_names
    with name_scope(name, "ParseExample", [serialized]) as scope:
        made = gen_ops.parse_example(
            serialized,
            convert(names, dtypes.string),
            columns.sparse_keys,
            columns.dense_keys,
            columns.defaults,
            sparse_types=columns.sparse_types,
            dense_shapes=columns.dense_shapes,
            name=scope,
        )
        return with_sparse_features(features, _as_dict(columns, *made))


def parse_single_example(serialized, features, name=None, example_names=None):
    """Features of one tf.train.Example message, a scalar string; as parse_example, without a batch."""
    if not features:
        raise ValueError("Missing: features was {}.".format(features))
    columns = Columns(features)
    with name_scope(name, "ParseSingleExample", [serialized]) as scope:
        made = gen_ops.parse_single_example(
            serialized,
            columns.defaults,
            num_sparse=len(columns.sparse_keys),
            sparse_keys=columns.sparse_keys,
            dense_keys=columns.dense_keys,
            sparse_types=columns.sparse_types,
            dense_shapes=columns.dense_shapes,
            name=scope,
        )
        return with_sparse_features(features, _as_dict(columns, *made))


def parse_single_sequence_example(
    serialized, context_features=None, sequence_features=None, example_name=None, name=None
):
    """Features of one tf.train.SequenceExample message.

    Args:
      serialized: a scalar string.
      context_features: features of the whole, as for parse_single_example.
      sequence_features: {key: FixedLenSequenceFeature or VarLenFeature}, the features of each step.
      example_name: a string, for messages.
      name: a name for the node.

    Returns:
      ({key: Tensor or SparseTensor}, the same for the steps, whose first axis is that of the steps).
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    context, steps = Columns(context_features), Columns(sequence_features, steps=True)
    with name_scope(name, "ParseSingleSequenceExample", [serialized]) as scope:
        made = gen_ops.parse_single_sequence_example(
            serialized,
            convert(steps.may_be_missing, dtypes.string),
            context.sparse_keys,
            context.dense_keys,
            steps.sparse_keys,
            steps.dense_keys,
            context.defaults,
            example_name or "",
            context_sparse_types=context.sparse_types,
            context_dense_shapes=context.dense_shapes,
            feature_list_sparse_types=steps.sparse_types,
            feature_list_dense_types=steps.dense_types,
            feature_list_dense_shapes=steps.dense_shapes,
            name=scope,
        )
        wholes = with_sparse_features(context_features or {}, _as_dict(context, *made[:4]))
        return wholes, _as_dict(steps, *made[4:])


def parse_sequence_example(
    serialized, context_features=None, sequence_features=None, example_names=None, name=None
):
    """Features of a vector of tf.train.SequenceExample messages.

    Args:
      serialized: a vector of strings.
      context_features: features of the wholes, as for parse_example.
      sequence_features: {key: FixedLenSequenceFeature or VarLenFeature}, the features of each step.
      example_names: a vector of strings, for messages.
      name: a name for the node.

    Returns:
      ({key: Tensor or SparseTensor}, the same for the steps, whose second axis is that of the steps, with
      zeros behind those of shorter ones, {key: how many steps each has, int64} of the dense ones).

    Raises:
      ValueError: if there are no features.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    context, steps = Columns(context_features), Columns(sequence_features, steps=True)
    with name_scope(name, "ParseSequenceExample", [serialized]) as scope:
        made = gen_ops.parse_sequence_example(
            serialized,
            convert([] if example_names is None else example_names, dtypes.string),
            context.defaults,
            steps.may_be_missing,
            context.sparse_keys,
            context.dense_keys,
            steps.sparse_keys,
            steps.dense_keys,
            context_sparse_types=context.sparse_types,
            context_dense_shapes=context.dense_shapes,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(steps.sparse_keys),
            Nfeature_list_dense=len(steps.dense_keys),
            feature_list_sparse_types=steps.sparse_types,
            feature_list_dense_types=steps.dense_types,
            feature_list_dense_shapes=steps.dense_shapes,
            name=scope,
        )
        wholes = with_sparse_features(context_features or {}, _as_dict(context, *made[:4]))
        return wholes, _as_dict(steps, *made[4:8]), dict(zip(steps.dense_keys, made[8]))


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    """The bytes of each string as numbers of `out_type`, along a new last axis."""
    strings = bytes if input_bytes is None else input_bytes
    return gen_ops.decode_raw(strings, out_type, little_endian=little_endian, name=name)


def decode_csv(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    name=None,
    na_value="",
    select_cols=None,
):
    """Records of fields as a Tensor per field.

    Args:
      records: strings, a record each.
      record_defaults: for each field a list of its default, or an empty Tensor where it must be there.
      field_delim: what parts fields, one character.
      use_quote_delim: False to take quotes as they are.
      name: a name for the node.
      na_value: a field that stands for a missing one.
      select_cols: which columns are wanted, in ascending order; None for all.

    Returns:
      a list of Tensors like `records`, of the defaults' types.
    """
    defaults = [convert(default) for default in record_defaults]
    return gen_ops.decode_csv(
        records,
        defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols or [],
        name=name,
    )
