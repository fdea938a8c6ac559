// What a StridedSlice (NumPy's x[a:b:c, ..., None, 3]) takes and gives: worked out once, for the
// kernel from what is given, for the shape rule from what is known.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/attrs.h"
#include "millrace/tensor/shape.h"

namespace millrace {

// One bit per entry of begin, end and strides.
struct SliceMasks {
  uint64_t begin = 0;        // begin is ignored: as far out as possible
  uint64_t end = 0;          // end likewise
  uint64_t ellipsis = 0;     // stands for as many whole axes as are left; at most one bit
  uint64_t new_axis = 0;     // a new axis of 1
  uint64_t shrink_axis = 0;  // the one index begin, and the axis goes

  static Result<SliceMasks> from(const AttrView& attrs);
};

struct SliceArguments {
  // The entries; nullopt while they are not known. `count` always is.
  size_t count = 0;
  std::optional<std::vector<int64_t>> begin, end, strides;
  SliceMasks masks;
};

struct SlicePlan {
  // Per axis of the input. Sizes are kUnknownDim where something is not known.
  std::vector<int64_t> begin, stride, size;
  // The output's shape: sizes without the shrunk axes, with the new ones.
  std::vector<int64_t> output;
};

// Errors: INVALID_ARGUMENT for more entries than axes, an index out of bounds, a stride of 0.
Result<SlicePlan> plan_slice(const PartialShape& input, const SliceArguments& arguments);

}  // namespace millrace
