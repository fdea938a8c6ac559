// How quantized numbers stand for floats: steps of a range, one of which is 0. As TensorFlow's ops
// convert them, in float32 where it does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace millrace {

// The floats that the least and the largest number of a quantized type stand for.
struct QuantizedRange {
  float min, max;
};

template <class Q>
inline constexpr auto kLeastStep = static_cast<float>(std::numeric_limits<Q>::min());
template <class Q>
inline constexpr auto kMostStep = static_cast<float>(std::numeric_limits<Q>::max());
// From the least number to the largest.
template <class Q>
inline constexpr double kSteps = static_cast<double>(std::numeric_limits<Q>::max()) -
                                 static_cast<double>(std::numeric_limits<Q>::min());

// The number itself, towards zero; the ends of the type beyond it, and 0 for what is no number.
template <class Q>
Q step_of(float value) {
  if (std::isnan(value)) return 0;
  if (value >= kMostStep<Q>) return std::numeric_limits<Q>::max();
  return value <= kLeastStep<Q> ? std::numeric_limits<Q>::min() : static_cast<Q>(value);
}

// Floats as numbers of a range.
template <class Q>
class ToQuantized {
 public:
  explicit ToQuantized(QuantizedRange range)
      : scale_(range.max == range.min ? 0.f
                                      : static_cast<float>(kSteps<Q> / (range.max - range.min))),
        first_(std::round(range.min * scale_) - kLeastStep<Q>) {}
  Q operator()(float value) const {
    const float step = std::round(value * scale_) - first_;
    // Of 32 bits, no further than the last float below the type's end.
    return step_of<Q>(sizeof(Q) == 4 ? std::min(step, 0x1.fffffep30f) : step);
  }

 private:
  float scale_, first_;
};

// And back.
template <class Q>
class FromQuantized {
 public:
  explicit FromQuantized(QuantizedRange range)
      : scale_(static_cast<float>((range.max - range.min) / kSteps<Q>)),
        zero_((range.max == range.min ? range.min : std::round(range.min / scale_) * scale_) -
              kLeastStep<Q> * scale_) {}
  float operator()(Q number) const { return zero_ + static_cast<float>(number) * scale_; }

 private:
  float scale_, zero_;
};

}  // namespace millrace
