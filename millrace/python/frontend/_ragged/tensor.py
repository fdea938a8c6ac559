"""RaggedTensor: rows of different lengths, as values one behind the other and splits between them."""

from millrace import _gen as gen_ops
from millrace._graph.composite import Composite
from millrace._graph.conversion import constant, constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_max
from millrace._ragged import conversions, partitions
from millrace._ragged.values import RaggedTensorValue, as_splits_dtype
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class RaggedTensor(Composite):
    """A tensor whose rows have different lengths. Made by `from_row_splits` and its kin.

    Row i is values[row_splits[i]:row_splits[i + 1]]. If the values are ragged themselves there are several
    ragged dimensions, one behind the other; `flat_values` is the Tensor that is innermost.

    Args:
      values: a Tensor of rank 1 or more, or a RaggedTensor.
      row_splits: an int32 or int64 vector.
    """

    # What functions of Tensors do with it, by name: function(function, args, kwargs). Filled by ready.py.
    takers = {}

    def __init__(self, values, row_splits):
        if is_ragged(values):
            if values.row_splits.dtype.base_dtype != row_splits.dtype.base_dtype:
                raise ValueError(
                    f"row_splits are {row_splits.dtype.name} and those of the values "
                    f"{values.row_splits.dtype.name}: use with_row_splits_dtype"
                )
        else:
            values.shape.with_rank_at_least(1)
        self._values = values
        self._row_splits = row_splits
        self._row_lengths = None
        self._value_rowids = None

    # ---- Made from values and a partition ----------------------------------------------------------

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i is values[row_splits[i]:row_splits[i + 1]].

        Args:
          values: a RaggedTensor, or what converts to a Tensor of rank 1 or more.
          row_splits: a vector that begins with 0, ascends and ends with the number of values.
          name: the name scope.
          validate: False to leave out the checks, which run with the graph.

        Raises:
          ValueError: for a partition of a wrong type or rank, here and in the constructors below.
        """
        return cls._partitioned("from_row_splits", values, row_splits, name, validate)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Row i holds row_lengths[i] of the values, one row after another."""
        return cls._partitioned("from_row_lengths", values, row_lengths, name, validate)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Row i begins at row_starts[i], and ends where the next one begins."""
        return cls._partitioned("from_row_starts", values, row_starts, name, validate)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Row i ends before row_limits[i], and begins where the one before ends."""
        return cls._partitioned("from_row_limits", values, row_limits, name, validate)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Value i is in row value_rowids[i]; these ascend.

        Args:
          nrows: how many rows there are; None for as many as the last of value_rowids needs.
        """
        if nrows is not None:
            known = nrows if isinstance(nrows, int) else constant_value(nrows)
            if known is not None and known < 0:
                raise ValueError(f"Expected nrows >= 0; got {known}")
        return cls._partitioned("from_value_rowids", values, value_rowids, name, validate, nrows)

    @classmethod
    def _partitioned(cls, function, values, partition, name, validate, nrows=None):
        with name_scope(
            name, "RaggedFrom" + function[5:].title().replace("_", ""), [values, partition]
        ):
            values = as_ragged_or_tensor(values)
            wanted = values.row_splits.dtype.base_dtype if is_ragged(values) else None
            made = partitions.index_vector(partition, function.removeprefix("from_"), wanted)
            splits = partitions.SPLITS_FROM[function](
                made, lambda: _rows_in(values, made.dtype.base_dtype), nrows, validate
            )
            return cls(values, splits)

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Several levels of from_row_splits, the outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, nested_row_splits, name, validate)

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Several levels of from_row_lengths, the outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, nested_row_lengths, name, validate)

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True
    ):
        """Several levels of from_value_rowids, the outermost first."""
        if hasattr(nested_value_rowids, "_as_tensor") or hasattr(nested_nrows, "_as_tensor"):
            raise TypeError("nested_value_rowids and nested_nrows must be lists of Tensors")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        if len(nested_nrows) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values]):
            made = flat_values
            for rowids, nrows in zip(reversed(nested_value_rowids), reversed(nested_nrows)):
                made = cls.from_value_rowids(made, rowids, nrows, validate=validate)
            return made

    @classmethod
    def _nested(cls, make, flat_values, nested, name, validate):
        if hasattr(nested, "_as_tensor"):
            raise TypeError(f"the partitions of all levels must be a list of Tensors, not {nested}")
        with name_scope(name, "RaggedFromNested", [flat_values]):
            made = flat_values
            for partition in reversed(nested):
                made = make(made, partition, validate=validate)
            return made

    # ---- Made from other tensors -------------------------------------------------------------------

    @classmethod
    def from_tensor(
        cls,
        tensor,
        lengths=None,
        padding=None,
        ragged_rank=1,
        name=None,
        row_splits_dtype=dtypes.int64,
    ):
        """The rows of a Tensor, shortened to `lengths` or to what stands before `padding`.

        Args:
          tensor: of rank more than ragged_rank.
          lengths: how long each row is to be, or a list of such vectors, one for each ragged dimension.
          padding: what is left out at the ends of rows, a scalar or of the shape of what is innermost.
          ragged_rank: how many dimensions become ragged.
          name: the name scope.
          row_splits_dtype: int32 or int64.

        Raises:
          ValueError: if lengths and padding are both given, or ragged_rank does not fit.
        """
        dtype = as_splits_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        with name_scope(name, "RaggedFromTensor", [tensor]):
            flat, nested = conversions.cut_rows(tensor, lengths, padding, ragged_rank, dtype)
            return cls.from_nested_row_splits(flat, nested, validate=False)

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=dtypes.int64):
        """The rows of a sparse matrix whose elements stand at the beginnings of rows, without gaps.

        Args:
          st_input: a SparseTensor of rank 2, in row-major order.
          name: the name scope.
          row_splits_dtype: int32 or int64.

        Raises:
          TypeError: if it is no SparseTensor; ValueError: if its rank is not known to be 2.
        """
        dtype = as_splits_dtype(row_splits_dtype)
        with name_scope(name, "RaggedFromSparse", [st_input]):
            return cls(*conversions.rows_of_sparse(st_input, dtype))

    def to_tensor(self, default_value=None, name=None):
        """A Tensor of the shape `bounding_shape`, with rows filled up at their ends.

        Args:
          default_value: what they are filled with, of the type of the values and a shape that broadcasts
            to what is innermost; None for 0, "" or False.
          name: the name scope.
        """
        with name_scope(name, "RaggedToTensor", [self]) as scope:
            return conversions.filled_up(self, default_value, scope)

    def to_sparse(self, name=None):
        """A SparseTensor with the values at the beginnings of rows."""
        with name_scope(name, "RaggedToSparse", [self]) as scope:
            return conversions.as_sparse(self, scope)

    def to_list(self):
        """Raises ValueError: values are known once a session ran; its RaggedTensorValue has to_list."""
        raise ValueError(
            "RaggedTensor.to_list needs values: use session.run(ragged).to_list() instead"
        )

    # ---- What it is --------------------------------------------------------------------------------

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def graph(self):
        return self._row_splits.graph

    @property
    def values(self):
        """What the rows hold: a Tensor, or a RaggedTensor."""
        return self._values

    @property
    def row_splits(self):
        """Where rows begin and, at last, end: a vector."""
        return self._row_splits

    @property
    def flat_values(self):
        """The Tensor that is innermost."""
        return self._values.flat_values if is_ragged(self._values) else self._values

    @property
    def nested_row_splits(self):
        """The row_splits of every level as a tuple, the outermost first."""
        deeper = self._values.nested_row_splits if is_ragged(self._values) else ()
        return (self._row_splits, *deeper)

    @property
    def ragged_rank(self):
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def shape(self):
        """The TensorShape, with None for sizes that differ from row to row."""
        known = self._row_splits.shape.plain
        nrows = None if known is None or known[0] is None else known[0] - 1
        return TensorShape([nrows, None]).concatenate(self._values.shape[1:])

    def get_shape(self):
        return self.shape

    def nrows(self, out_type=None, name=None):
        """How many rows there are, a scalar of out_type (that of the splits if None)."""
        with name_scope(name, "RaggedNRows", [self]):
            return self._as(partitions.number_of_rows(self._row_splits), out_type)

    def row_starts(self, name=None):
        """At which value each row begins."""
        return gen_ops.identity(self._row_splits[:-1], name=name or "RaggedRowStarts")

    def row_limits(self, name=None):
        """Before which value each row ends."""
        return gen_ops.identity(self._row_splits[1:], name=name or "RaggedRowLimits")

    def row_lengths(self, axis=1, name=None):
        """How long the rows along an axis are: a vector, or a RaggedTensor for an axis over 1."""
        with name_scope(name, "RaggedRowLengths", [self]):
            rank = self.shape.ndims
            if axis < 0 and rank is not None:
                axis += rank
            if axis < 0 or (rank is not None and axis >= rank):
                raise ValueError(f"axis={axis} is out of bounds for shape {self.shape}")
            if axis == 0:
                return self.nrows()
            if axis == 1:
                if self._row_lengths is None:
                    self._row_lengths = partitions.lengths_of(self._row_splits)
                return self._row_lengths
            if is_ragged(self._values):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = gen_ops.shape(self._values, out_type=self._row_splits.dtype.base_dtype)
            lengths = gen_ops.fill(sizes[: axis - 1], sizes[axis - 1])
            return self.with_values(lengths)

    def nested_row_lengths(self, name=None):
        """The lengths of the rows of every level as a tuple, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(partitions.lengths_of(splits) for splits in self.nested_row_splits)

    def value_rowids(self, name=None):
        """In which row each value is: a vector."""
        with name_scope(name, "RaggedValueRowIds", [self]):
            if self._value_rowids is None:
                self._value_rowids = partitions.rowids_of(self._row_splits)
            return self._value_rowids

    def nested_value_rowids(self, name=None):
        """The value_rowids of every level as a tuple, the outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds", [self]):
            deeper = self._values.nested_value_rowids() if is_ragged(self._values) else ()
            return (self.value_rowids(), *deeper)

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The shape of the smallest Tensor that has room for it.

        Args:
          axis: an axis or a list of them, whose sizes are wanted alone; None for all as a vector.
          name: the name scope.
          out_type: int32 or int64; None for the type of the splits.
        """
        with name_scope(name, "RaggedBoundingBox", [self]):
            dtype = self._row_splits.dtype.base_dtype
            sizes = [self.nrows()]
            for lengths in self.nested_row_lengths():
                # Without any row, 0.
                sizes.append(reduce_max(gen_ops.concat_v2([constant([0], dtype), lengths], 0)))
            inner = gen_ops.shape(self.flat_values, out_type=dtype)[1:]
            whole = gen_ops.concat_v2([gen_ops.pack(sizes), inner], 0)
            if axis is not None:
                whole = gen_ops.gather_v2(whole, axis, 0)
            return self._as(whole, out_type)

    def _as(self, numbers, out_type):
        return numbers if out_type is None else cast(numbers, out_type)

    # ---- Made from it ------------------------------------------------------------------------------

    def with_values(self, new_values):
        """The same rows of other values, as many as there are."""
        new_values = as_ragged_or_tensor(new_values)
        if is_ragged(new_values):
            new_values = new_values.with_row_splits_dtype(self._row_splits.dtype.base_dtype)
        elif new_values.shape.ndims == 0:
            raise ValueError("new_values must have rank 1 or more")
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        return RaggedTensor(new_values, self._row_splits)

    def with_flat_values(self, new_values):
        """The same nested rows of other flat values, as many as there are."""
        if is_ragged(self._values):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype):
        """The same with int32 or int64 splits in every level."""
        dtype = as_splits_dtype(dtype)
        if self._row_splits.dtype.base_dtype == dtype:
            return self
        inner = self._values
        inner = inner.with_row_splits_dtype(dtype) if is_ragged(inner) else inner
        return RaggedTensor(inner, cast(self._row_splits, dtype))

    def consumers(self):
        """The Operations that read one of its Tensors."""
        return [each for part in self.component_tensors() for each in part.consumers()]

    def eval(self, feed_dict=None, session=None):
        """The RaggedTensorValue, from `session` or the default one."""
        return conversions.session_of(self, session).run(self, feed_dict)

    # ---- As a Composite ----------------------------------------------------------------------------

    def component_tensors(self):
        return [*self.nested_row_splits, self.flat_values]

    def fetched(self, values):
        made = values[-1]
        for splits in reversed(values[:-1]):
            made = RaggedTensorValue(made, splits)
        return made

    def fed(self, value):
        if not isinstance(value, RaggedTensorValue) or value.ragged_rank != self.ragged_rank:
            raise TypeError(
                f"What is fed for {self} must be a tf.ragged.RaggedTensorValue of ragged_rank "
                f"{self.ragged_rank}, not {value!r}"
            )
        return [*value.nested_row_splits, value.flat_values]

    def take_call(self, name, function, args, kwargs):
        taker = self.takers.get(name)
        if taker is None:
            raise TypeError(
                f"{name} takes no ragged tensors; to_tensor() makes a Tensor of {self}, and "
                "tf.ragged.map_flat_values calls a function with its values"
            )
        return taker(function, args, kwargs)

    def __array__(self, *unused):
        raise TypeError(f"{self} is no Tensor: to_tensor() makes one of it")

    def __bool__(self):
        raise TypeError("Using a RaggedTensor as a Python `bool` is not allowed")

    def __iter__(self):
        raise TypeError(f"{self} can't be iterated over: its values are known once a session ran")

    def __repr__(self):
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    __str__ = __repr__


def is_ragged(value):
    """True for a RaggedTensor."""
    return isinstance(value, RaggedTensor)


def as_ragged_or_tensor(value, dtype=None, name=None):
    """A RaggedTensor as it is, a RaggedTensorValue as one of constants, all else as a Tensor.

    Raises:
      ValueError: if it has another dtype.
    """
    if isinstance(value, RaggedTensorValue):
        value = RaggedTensor.from_nested_row_splits(
            convert(value.flat_values, dtype, name), value.nested_row_splits, validate=False
        )
    if not is_ragged(value):
        return convert(value, dtype, name)
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor "
            f"with dtype {value.dtype.name}: {value}"
        )
    return value


def _rows_in(values, dtype):
    """How many values there are to be cut into rows."""
    if is_ragged(values):
        return values.nrows(dtype)
    return gen_ops.shape(values, out_type=dtype)[0]
