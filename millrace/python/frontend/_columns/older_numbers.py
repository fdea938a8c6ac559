"""The numbers of tf.contrib.layers' columns, their buckets, and combinations of categories."""

import dataclasses

from millrace._columns.column import whole
from millrace._columns.crossed import CrossedColumn
from millrace._columns.numeric import BucketizedColumn, NumericColumn, numeric_column
from millrace._columns.older_ids import Older, SparseColumn
from millrace._values import dtypes


@dataclasses.dataclass(frozen=True)
class RealValuedColumn(Older, NumericColumn):
    """See real_valued_column."""

    @property
    def scope_name(self):
        # The feature of an array has no name; a scope has to have one.
        return super().scope_name or "array"

    @property
    def column_name(self):
        return self.key

    @property
    def dimension(self):
        return self.shape[0]

    @property
    def normalizer(self):
        return self.normalizer_fn

    @property
    def order(self):
        return f"_RealValuedColumn(column_name='{self.key}'"


def real_valued_column(
    column_name, dimension=1, default_value=None, dtype=dtypes.float32, normalizer=None
):
    """A column of numbers.

    Args:
      column_name: the key of the feature, a Tensor of shape [batch, dimension].
      dimension: how many numbers an example has.
      default_value: for an example that lacks the feature when it is parsed: a number, or a list of them;
        None if it must be there.
      dtype: the type to parse, an integer or floating one.
      normalizer: a function of the feature that gives what is taken in its place.

    Raises:
      TypeError: if the dimension or the default is of another type; ValueError: for a dimension below 1, a
      default of another length, or a type of no numbers.
    """
    if not isinstance(dimension, int):
        raise TypeError(
            f"dimension must be an integer. dimension: {dimension}, column_name: {column_name}"
        )
    made = numeric_column(column_name, (dimension,), default_value, dtype, normalizer)
    return RealValuedColumn(made.key, made.shape, made.default_value, made.dtype, normalizer)


@dataclasses.dataclass(frozen=True)
class OlderBucketizedColumn(Older, BucketizedColumn):
    """See bucketized_column."""

    combiner = "sum"

    @property
    def length(self):
        return len(self.boundaries) + 1

    @property
    def order(self):
        return f"_BucketizedColumn(source_column={self.source_column.order}"


def bucketized_column(source_column, boundaries):
    """A column of the buckets that numbers fall into; boundaries that come twice count once.

    Args:
      source_column: a real_valued_column.
      boundaries: numbers that do not fall; at least one.

    Raises:
      TypeError: for another column; ValueError: for no boundaries, or some that fall.
    """
    if not isinstance(source_column, RealValuedColumn):
        raise TypeError(
            f"source_column must be an instance of _RealValuedColumn. source_column: {source_column}"
        )
    if not isinstance(boundaries, (list, tuple)) or not boundaries:
        raise ValueError(f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}")
    if sorted(boundaries) != list(boundaries):
        raise ValueError(f"boundaries must be a sorted list. boundaries: {boundaries}")
    return OlderBucketizedColumn(source_column, tuple(dict.fromkeys(boundaries)))


@dataclasses.dataclass(frozen=True)
class OlderCrossedColumn(Older, CrossedColumn):
    """See crossed_column."""

    combiner: str
    columns: tuple

    @property
    def name(self):
        # As TensorFlow has it here: the names of crossed columns stay together.
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def order(self):
        return f"_CrossedColumn(columns=({self.columns[0].order}"


def crossed_column(
    columns,
    hash_bucket_size,
    combiner="sum",
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    hash_key=None,
):
    """A column of the combinations of categories: one from each of several columns, as one category.

    Ids are those of tf.feature_column.crossed_column. With hash_key=None TensorFlow has another hash here, so
    the weights of a cross that was trained so there do not fit.

    Args:
      columns: two or more sparse, bucketized or crossed columns.
      hash_bucket_size: how many ids there are, at least 2.
      combiner: as for sparse_column_with_integerized_feature.
      ckpt_to_load_from, tensor_name_in_ckpt: must be None: use tf.train.init_from_checkpoint.
      hash_key: what the hash begins with; SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY if None.

    Raises:
      TypeError: for other columns; ValueError: for fewer of them, or a smaller number. NotImplementedError: for
      a checkpoint.
    """
    if ckpt_to_load_from is not None or tensor_name_in_ckpt is not None:
        raise NotImplementedError(
            "crossed_column: ckpt_to_load_from= must be None; tf.train.init_from_checkpoint gives variables "
            "their first values"
        )
    if len(columns) < 2:
        raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
    if hash_bucket_size < 2:
        raise ValueError(
            f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}"
        )
    columns = tuple(sorted(columns, key=lambda column: column.name))
    keys = []
    for column in columns:
        if isinstance(column, OlderCrossedColumn):
            keys += column.keys
        elif isinstance(column, SparseColumn):
            keys.append(column.name)  # the words themselves, and not their ids
        elif isinstance(column, OlderBucketizedColumn):
            keys.append(column)
        else:
            raise TypeError(
                "columns must be a set of _SparseColumn, _CrossedColumn, or _BucketizedColumn instances. "
                f"(column {column} is a {type(column).__name__})"
            )
    return OlderCrossedColumn(tuple(keys), whole(hash_bucket_size), hash_key, combiner, columns)
