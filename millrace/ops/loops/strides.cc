#include "millrace/ops/loops/strides.h"

namespace millrace {

Strides row_major_strides(std::span<const int64_t> dims) {
  Strides strides(dims.size(), 1);
  for (int axis = static_cast<int>(dims.size()) - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * dims[axis + 1];
  return strides;
}

Strides broadcast_strides(const Shape& shape, const Shape& as) {
  const Strides own = row_major_strides(shape);
  const int missing = as.rank() - shape.rank();
  // Stride 0 reads the same element again: an axis that is missing or of size 1 needs no copies.
  Strides strides(as.rank(), 0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) != 1) strides[missing + axis] = own[axis];
  }
  return strides;
}

}  // namespace millrace
