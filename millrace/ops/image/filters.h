// Filters: how much of an old pixel a new one gets, by how far apart their middles are. Those that
// TensorFlow's ScaleAndTranslate knows by name.
#pragma once

#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

struct ScalingFilter {
  float (*weight)(float distance, float radius);  // of distances >= 0, in pixels
  float radius;                                   // beyond it there is nothing

  float operator()(float distance) const { return weight(distance, radius); }
};

// "lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic",
// in letters of either case. Errors: INVALID_ARGUMENT for another name.
Result<ScalingFilter> filter_of(std::string_view name);

}  // namespace millrace
