"""InputSpec: what a layer asks of its inputs."""

from millrace._graph.operation import Tensor
from millrace._values import dtypes, structure


class InputSpec:
    """Rank, shape and type of one input of a layer; None where anything will do.

    Args:
      dtype: the type.
      shape: a list of sizes, None among them for any size.
      ndim: the rank; that of `shape` if there is one.
      max_ndim, min_ndim: bounds of the rank.
      axes: a dictionary from axes to sizes.
    """

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None):
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = axes or {}

    def __repr__(self):
        parts = [f"{key}={value!r}" for key, value in vars(self).items() if value]
        return f"InputSpec({', '.join(parts)})"

    def check(self, tensor, position, layer):
        """Raises ValueError if a Tensor, the input of this number, is not as the layer called
        `layer` needs it."""
        begin = f"Input {position} of layer {layer} is incompatible with the layer: "
        shape = tensor.shape
        rank = shape.ndims
        if rank is None:
            if (self.ndim, self.max_ndim, self.min_ndim) != (None, None, None):
                raise ValueError(
                    f"{begin}its rank is undefined, but the layer requires a defined rank."
                )
            return
        full = f"Full shape received: {shape.as_list()}"
        if self.ndim is not None and rank != self.ndim:
            raise ValueError(f"{begin}expected ndim={self.ndim}, found ndim={rank}. {full}")
        if self.max_ndim is not None and rank > self.max_ndim:
            raise ValueError(f"{begin}expected max_ndim={self.max_ndim}, found ndim={rank}")
        if self.min_ndim is not None and rank < self.min_ndim:
            raise ValueError(
                f"{begin}: expected min_ndim={self.min_ndim}, found ndim={rank}. {full}"
            )
        if self.dtype is not None and tensor.dtype.base_dtype.name != self.dtype:
            raise ValueError(
                f"{begin}expected dtype={self.dtype}, found dtype={tensor.dtype.base_dtype.name}"
            )
        sizes = shape.as_list()
        wanted = dict(self.axes)
        wanted.update(enumerate(self.shape or []))
        for axis, size in wanted.items():
            if size is not None and sizes[axis] not in (size, None):
                raise ValueError(
                    f"{begin}expected axis {axis} of input shape to have value {size} but received "
                    f"input with shape {sizes}"
                )


def check_inputs(specs, inputs, layer):
    """Checks inputs, one or a nested list, against an InputSpec or a list of them (or None)."""
    if not specs:
        return
    specs = specs if isinstance(specs, (list, tuple)) else [specs]
    tensors = structure.flatten(inputs)
    if len(tensors) != len(specs):
        raise ValueError(
            f"Layer {layer} expects {len(specs)} inputs, but it received {len(tensors)} input "
            f"tensors. Inputs received: {inputs!r}"
        )
    for position, (spec, tensor) in enumerate(zip(specs, tensors)):
        if spec is not None and isinstance(tensor, Tensor):
            spec.check(tensor, position, layer)
