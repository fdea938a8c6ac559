"""TensorArray: Tensors by number, written once each, in loops above all."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape, as_shape


class TensorArray:
    """An array of Tensors of one type, which one step makes, fills and reads.

    What changes it gives the array after the change, which must be used from there on, as a loop
    variable for one: `array = array.write(i, value)`.

    Args:
      dtype: the type of the elements.
      size: how many there are; an int32 scalar.
      dynamic_size: True to grow when one is written beyond the end.
      clear_after_read: False to be able to read an element more than once; True by default.
      tensor_array_name: a name for the array on its device.
      handle, flow: of an existing array, instead of a size.
      infer_shape: False to allow elements of several shapes.
      element_shape: the shape of the elements, as far as it is known.
      colocate_with_first_write_call: accepted.
      name: a name for the node.

    Attributes:
      handle, flow: Tensors: what the array is, and what says which changes came before.

    Raises:
      ValueError: if there is neither a size nor a handle, or both.
    """

    def __init__(
        self,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ):
        if handle is not None and (tensor_array_name or size is not None or dynamic_size):
            raise ValueError(
                "Cannot provide both a handle and a size or name when making a TensorArray"
            )
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._infer_shape = infer_shape or element_shape is not None
        self._dynamic_size = bool(dynamic_size)
        # What is known of the elements is known to all objects of this array.
        self._known = [TensorShape(element_shape)]
        if handle is not None:
            self.handle, self.flow = handle, convert(flow)
            return
        with name_scope(name, "TensorArray", [size]) as scope:
            self.handle, self.flow = gen_ops.tensor_array_v3(
                size,
                dtype=self._dtype,
                element_shape=self._known[0],
                dynamic_size=bool(dynamic_size),
                clear_after_read=True if clear_after_read is None else clear_after_read,
                identical_element_shapes=bool(infer_shape),
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )

    @property
    def dtype(self):
        return self._dtype

    @property
    def dynamic_size(self):
        """Whether it grows when one is written beyond its end."""
        return self._dynamic_size

    @property
    def infer_shape(self):
        """Whether elements have to be of one shape."""
        return self._infer_shape

    @property
    def graph(self):
        return self.handle.graph

    @property
    def element_shape(self):
        """What is known of the shape of the elements, a TensorShape."""
        return self._known[0]

    def with_flow(self, flow):
        """The same array, after the changes that `flow` stands for."""
        made = object.__new__(TensorArray)
        made.__dict__.update(self.__dict__)
        made.flow = flow
        return made

    def identity(self):
        """The same array, when what it waits for has happened."""
        return self.with_flow(gen_ops.identity(self.flow))

    def _learn(self, shape):
        """Adds what a value says of the elements' shape. ValueError if it contradicts what is known."""
        if self._infer_shape:
            if not self._known[0].is_compatible_with(shape):
                raise ValueError(
                    f"Inconsistent shapes: saw {shape} but expected {self._known[0]} as the shape of a "
                    "TensorArray's elements (and infer_shape=True)"
                )
            self._known[0] = self._known[0].merge_with(shape)

    def read(self, index, name=None):
        """The element at an index. It can be read once, unless clear_after_read is False."""
        value = gen_ops.tensor_array_read_v3(
            self.handle, index, self.flow, dtype=self._dtype, name=name
        )
        if self._infer_shape:
            value.set_shape(self._known[0])
        return value

    def write(self, index, value, name=None):
        """The array with an element written. ValueError if its shape is another than that of others."""
        value = convert(value, self._dtype, name="value")
        self._learn(value.shape)
        return self.with_flow(
            gen_ops.tensor_array_write_v3(self.handle, index, value, self.flow, name=name)
        )

    def size(self, name=None):
        """How many elements there are, an int32 scalar."""
        return gen_ops.tensor_array_size_v3(self.handle, self.flow, name=name)

    def stack(self, name=None):
        """All elements as one Tensor with a new first axis."""
        with name_scope(name, "TensorArrayStack", [self.handle]):
            return self.gather(gen_ops.range(0, self.size(), 1))

    def gather(self, indices, name=None):
        """The elements at the indices as one Tensor with a new first axis."""
        known = self._known[0] if self._infer_shape else TensorShape(None)
        value = gen_ops.tensor_array_gather_v3(
            self.handle, indices, self.flow, dtype=self._dtype, element_shape=known, name=name
        )
        if known.ndims is not None:
            value.set_shape(as_shape([None]).concatenate(known))
        return value

    def concat(self, name=None):
        """All elements joined along their first axis."""
        rest = self._known[0][1:] if self._known[0].ndims else TensorShape(None)
        value, _ = gen_ops.tensor_array_concat_v3(
            self.handle, self.flow, dtype=self._dtype, element_shape_except0=rest, name=name
        )
        if rest.ndims is not None:
            value.set_shape(as_shape([None]).concatenate(rest))
        return value

    def unstack(self, value, name=None):
        """The array with the parts of a Tensor along its first axis as its elements."""
        with name_scope(name, "TensorArrayUnstack", [self.handle, value]):
            value = convert(value, self._dtype, name="value")
            return self.scatter(gen_ops.range(0, gen_ops.shape(value)[0], 1), value)

    def scatter(self, indices, value, name=None):
        """The array with the parts of a Tensor along its first axis written at the indices."""
        value = convert(value, self._dtype, name="value")
        if value.shape.ndims is not None:
            self._learn(value.shape[1:])
        return self.with_flow(
            gen_ops.tensor_array_scatter_v3(self.handle, indices, value, self.flow, name=name)
        )

    def split(self, value, lengths, name=None):
        """The array with runs of these lengths along the first axis of a Tensor as its elements."""
        value = convert(value, self._dtype, name="value")
        lengths = convert(lengths, dtypes.int64, name="lengths")
        return self.with_flow(
            gen_ops.tensor_array_split_v3(self.handle, value, lengths, self.flow, name=name)
        )

    def close(self, name=None):
        """An Operation that gives up the array's memory before the step ends."""
        return gen_ops.tensor_array_close_v3(self.handle, name=name)
