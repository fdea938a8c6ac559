// Boxes of tensors put together from parts that were saved apart, elements of any type.
#pragma once

#include <cstdint>

#include "millrace/io/slice.h"
#include "millrace/tensor/tensor.h"

namespace millrace::io {

// Of a box without whole axes.
int64_t num_elements(const Slice& box);

// Copies the elements of `part`, which is inside both boxes, from a tensor that is `from_box` to
// one that is `to_box`. Errors: RESOURCE_EXHAUSTED.
Status copy_elements(const Slice& part, const Slice& from_box, const Tensor& from,
                     const Slice& to_box, Tensor& to);

}  // namespace millrace::io
