"""slim.tfexample_decoder: the things that a program wants of tf.train.Examples, and which features make them."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.functional import map_fn
from millrace._graph.sparse_tensor import SparseTensor as SparseValue
from millrace._ops.arithmetic import cast, equal
from millrace._ops.arrays import concat, expand_dims, reshape, shape, size, stack, transpose
from millrace._ops.parsing import FixedLenFeature, decode_raw, parse_single_example
from millrace._ops.sparse import sparse_tensor_to_dense
from millrace._ops.sparse_layout import sparse_reshape
from millrace._values import dtypes


class DataDecoder:
    """The base of what makes items, known by name, of an encoded record."""

    def decode(self, data, items):
        """A list of Tensors, one for each of the names `items`, of the scalar string Tensor `data`."""
        raise NotImplementedError("Abstract method")

    def list_items(self):
        """The names of the items that it makes."""
        raise NotImplementedError("Abstract method")


class ItemHandler:
    """The base of what makes an item of features.

    Args:
      keys: the name of a feature, or a list of them.
    """

    def __init__(self, keys):
        self._keys = list(keys) if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self):
        return self._keys

    def tensors_to_item(self, keys_to_tensors):
        """The item, of Tensors and SparseTensors by the names of their features."""
        raise NotImplementedError("Abstract method")


def _dense(value, default_value=0):
    if isinstance(value, SparseValue):
        return sparse_tensor_to_dense(value, default_value=default_value)
    return value


def _shape_of(keys_to_tensors, keys):
    return reshape(stack([_dense(keys_to_tensors[key]) for key in keys]), [-1])


def _shape_keys(shape_keys, shape):
    """A list of them, or None. ValueError if there is a shape, too."""
    if shape_keys and shape is not None:
        raise ValueError("Cannot specify both shape_keys and shape parameters.")
    if not shape_keys:
        return None
    return list(shape_keys) if isinstance(shape_keys, (list, tuple)) else [shape_keys]


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes.

    Args:
      keys: names of features.
      func: a function of a dictionary of Tensors by these names.
    """

    def __init__(self, keys, func):
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors):
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes, of shape [boxes, 4]: top, left, bottom, right.

    Args:
      keys: the names of four features with these; "ymin", "xmin", "ymax", "xmax" if None.
      prefix: what they begin with.

    Raises:
      ValueError: for another number of keys.
    """

    def __init__(self, keys=None, prefix=""):
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([(prefix or "") + key for key in keys])

    def tensors_to_item(self, keys_to_tensors):
        sides = [keys_to_tensors[key] for key in self.keys]
        sides = [side.values if isinstance(side, SparseValue) else side for side in sides]
        return transpose(concat([expand_dims(side, 0) for side in sides], 0))


class Tensor(ItemHandler):
    """A feature as it is, or in another shape.

    Args:
      tensor_key: the name of the feature.
      shape_keys: the names of features that are the shape; or
      shape: the shape.
      default_value: of what a sparse feature leaves out.

    Raises:
      ValueError: for both shape_keys and shape.
    """

    def __init__(self, tensor_key, shape_keys=None, shape=None, default_value=0):
        self._shape_keys = _shape_keys(shape_keys, shape)
        self._tensor_key, self._shape, self._default = tensor_key, shape, default_value
        super().__init__([tensor_key, *(self._shape_keys or ())])

    def tensors_to_item(self, keys_to_tensors):
        value, sizes = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = _shape_of(keys_to_tensors, self._shape_keys)
        if isinstance(value, SparseValue):
            if sizes is not None:
                value = sparse_reshape(value, sizes)
            return sparse_tensor_to_dense(value, default_value=self._default)
        return value if sizes is None else reshape(value, sizes)


class LookupTensor(Tensor):
    """What a table has for a feature.

    Args:
      table: a tf.contrib.lookup table.
      Others, and errors: as for Tensor.
    """

    def __init__(self, tensor_key, table, shape_keys=None, shape=None, default_value=""):
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors):
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler; of another where the first one's has no elements.

    Args:
      handler, backup: two ItemHandlers, whose items are of one type.

    Raises:
      ValueError: if one is something else.
    """

    def __init__(self, handler, backup):
        for name, each in (("Primary", handler), ("Backup", backup)):
            if not isinstance(each, ItemHandler):
                raise ValueError(f"{name} handler is of type {type(each)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors):
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            equal(size(item), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: gen_ops.identity(item),
        )


class SparseTensor(ItemHandler):
    """A SparseTensor of two features, its places and its values.

    Args:
      indices_key, values_key: the names of sparse features; "indices", "values" if None.
      shape_key: the name of a feature that is the shape; or
      shape: the shape. Without both it is that of the places.
      densify: True for a Tensor.
      default_value: what is in its other places.
    """

    def __init__(
        self,
        indices_key=None,
        values_key=None,
        shape_key=None,
        shape=None,
        densify=False,
        default_value=0,
    ):
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default = densify, default_value
        more = [shape_key] if shape_key else []
        super().__init__([self._indices_key, self._values_key, *more])

    def tensors_to_item(self, keys_to_tensors):
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        if self._shape_key:
            sizes = _dense(keys_to_tensors[self._shape_key])
        else:
            sizes = self._shape or indices.dense_shape
        rank = shape(indices.indices)[1]
        ids = reshape(cast(indices.values, dtypes.int64), [-1, 1])
        made = SparseValue(
            concat([indices.indices[:, : rank - 1], ids], 1),
            values.values,
            cast(sizes, dtypes.int64),
        )
        return _dense(made, self._default) if self._densify else made


class Image(ItemHandler):
    """A decoded image, of shape [height, width, channels].

    Args:
      image_key, format_key: the names of the features with the encoded image ("image/encoded" if None) and
        its format ("image/format": "raw" for plain bytes, else what tf.image.decode_image knows).
      shape: its shape, if it is always the same; or
      shape_keys: the names of features that are the shape.
      channels: their number.
      dtype: uint8, or another type for "raw".
      repeated: True for a vector of encoded images, of one shape.

    Raises:
      ValueError: for both shape_keys and shape.
    """

    def __init__(
        self,
        image_key=None,
        format_key=None,
        shape=None,
        channels=3,
        dtype=dtypes.uint8,
        repeated=False,
        dct_method="",
        shape_keys=None,
    ):
        self._shape_keys = _shape_keys(shape_keys, shape)
        self._image_key, self._format_key = (
            image_key or "image/encoded",
            format_key or "image/format",
        )
        self._shape, self._channels = shape, channels
        self._dtype, self._repeated = dtypes.as_dtype(dtype), repeated
        super().__init__([self._image_key, self._format_key, *(self._shape_keys or ())])

    def tensors_to_item(self, keys_to_tensors):
        encoded, form = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        sizes = self._shape
        if self._shape_keys:
            sizes = _shape_of(keys_to_tensors, self._shape_keys)
        if self._repeated:
            return map_fn(lambda each: self._decoded(each, form, sizes), encoded, dtype=self._dtype)
        return self._decoded(encoded, form, sizes)

    def _decoded(self, encoded, form, sizes):
        is_raw = gen_ops.logical_or(equal(form, "raw"), equal(form, "RAW"))
        image = cond(
            is_raw,
            lambda: decode_raw(encoded, out_type=self._dtype),
            lambda: cast(gen_ops.decode_image(encoded, channels=self._channels), self._dtype),
        )
        if sizes is not None:
            image = reshape(image, sizes)
        image.set_shape([None, None, self._channels])
        return image


class TFExampleDecoder(DataDecoder):
    """Makes items of a serialized tf.train.Example.

    Args:
      keys_to_features: the features to parse, tf.FixedLenFeature or tf.VarLenFeature by name.
      items_to_handlers: ItemHandlers by the names of items.
    """

    def __init__(self, keys_to_features, items_to_handlers):
        self._features, self._handlers = keys_to_features, items_to_handlers

    def list_items(self):
        return list(self._handlers)

    def decode(self, serialized_example, items=None):
        """A list of Tensors, one for each item; of all if None. The example is a scalar of strings."""
        example = parse_single_example(serialized_example, self._features)
        for key in sorted(self._features):
            feature = self._features[key]
            if isinstance(feature, FixedLenFeature):
                example[key] = reshape(example[key], feature.shape)
        handlers = [self._handlers[item] for item in items or self._handlers]
        return [
            handler.tensors_to_item({key: example[key] for key in handler.keys})
            for handler in handlers
        ]
