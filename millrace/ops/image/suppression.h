// Which boxes are left when each that overlaps a better one too much is dropped.
#pragma once

#include <cmath>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"

namespace millrace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

// From two corners, [y, x, y, x], in either order.
Box box_at(const float* corners);
// How much of what two boxes cover together they both cover: from 0 to 1, 0 if one is empty.
float overlap(const Box& a, const Box& b);

struct BoxLimits {
  int64_t most = 0;                // so many are kept
  float most_overlap = 0.5f;       // with a better one
  float least_score = -HUGE_VALF;  // exclusive
};

// How much two boxes overlap, by their numbers.
using OverlapOf = absl::FunctionRef<float(int32_t a, int32_t b)>;

// The numbers of the boxes that are kept, the best first; of equal scores the first. What is no
// number is no score. Errors: CANCELLED.
Result<std::vector<int32_t>> kept_boxes(const std::vector<float>& scores, OverlapOf overlap_of,
                                        const BoxLimits& limits, CancelProbe& probe);

}  // namespace millrace
