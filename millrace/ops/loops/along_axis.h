// A tensor along one of its axes: `outer` times `length` rows of `inner` elements.
#pragma once

#include "millrace/tensor/shape.h"

namespace millrace {

struct AlongAxis {
  int64_t outer = 1, length = 1, inner = 1;

  AlongAxis(const Shape& shape, int axis) : length(shape.dim(axis)) {
    for (int i = 0; i < axis; ++i) outer *= shape.dim(i);
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  }
};

}  // namespace millrace
