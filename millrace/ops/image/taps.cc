#include "millrace/ops/image/taps.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

namespace millrace {
namespace {

void end_element(Taps& taps) { taps.begin.push_back(static_cast<int64_t>(taps.taps.size())); }

// Keys' cubic, at distances that are multiples of 1 / kSteps as in TensorFlow.
constexpr int kSteps = 1 << 10;

class Cubic {
 public:
  explicit Cubic(double a) : a_(a) {}
  // At `step` / kSteps, and one further.
  float near(int step) const {
    const double x = static_cast<double>(step) / kSteps;
    return static_cast<float>(((a_ + 2) * x - (a_ + 3)) * x * x + 1);
  }
  float far(int step) const {
    const double x = static_cast<double>(step) / kSteps + 1;
    return static_cast<float>(((a_ * x - 5 * a_) * x + 8 * a_) * x - 4 * a_);
  }

 private:
  const double a_;
};

}  // namespace

Taps bilinear_taps(const AxisScale& axis) {
  Taps taps;
  for (int64_t i = 0; i < axis.to; ++i) {
    const float place = axis.old_place(i), below = std::floor(place);
    const auto lower = std::max(static_cast<int64_t>(below), int64_t{0});
    const auto upper = std::min(static_cast<int64_t>(std::ceil(place)), axis.from - 1);
    const float share = place - below;
    taps.taps.push_back({std::min(lower, axis.from - 1), 1 - share});
    taps.taps.push_back({std::max(upper, int64_t{0}), share});
    end_element(taps);
  }
  return taps;
}

Taps bicubic_taps(const AxisScale& axis) {
  const Cubic cubic(axis.half_pixel_centers ? -0.5 : -0.75);
  Taps taps;
  for (int64_t i = 0; i < axis.to; ++i) {
    const float place = axis.old_place(i), below = std::floor(place);
    const auto base = static_cast<int64_t>(below);
    const auto step = static_cast<int>(std::lrintf((place - below) * kSteps));
    std::array<Tap, 4> four = {{{base - 1, cubic.far(step)},
                                {base, cubic.near(step)},
                                {base + 1, cubic.near(kSteps - step)},
                                {base + 2, cubic.far(kSteps - step)}}};
    float sum = 0;
    for (Tap& tap : four) {
      const int64_t inside = std::clamp<int64_t>(tap.index, 0, axis.from - 1);
      // With pixels that have a middle, what lies outside does not count.
      if (axis.half_pixel_centers && inside != tap.index) tap.weight = 0;
      tap.index = inside;
      sum += tap.weight;
    }
    const bool even_out = axis.half_pixel_centers && std::abs(sum) >= 1000 * FLT_MIN;
    for (const Tap& tap : four)
      taps.taps.push_back({tap.index, even_out ? tap.weight / sum : tap.weight});
    end_element(taps);
  }
  return taps;
}

Taps area_taps(const AxisScale& axis) {
  // Of one element each new one is all, wherever corners are.
  const float scale = axis.from == 1 ? 1.0f / static_cast<float>(axis.to) : axis.scale();
  Taps taps;
  for (int64_t i = 0; i < axis.to; ++i) {
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    const auto first = static_cast<int64_t>(std::floor(begin));
    const auto last = static_cast<int64_t>(std::ceil(end));
    for (int64_t k = first; k < last; ++k) {
      const auto left = static_cast<float>(k), right = static_cast<float>(k + 1);
      const float covered =
          left < begin ? (right > end ? scale : right - begin) : (right > end ? end - left : 1.0f);
      taps.taps.push_back({std::clamp<int64_t>(k, 0, axis.from - 1), covered / scale});
    }
    end_element(taps);
  }
  return taps;
}

std::vector<int64_t> nearest_places(const AxisScale& axis) {
  std::vector<int64_t> places;
  const float scale = axis.scale();
  for (int64_t i = 0; i < axis.to; ++i) {
    const float place = axis.half_pixel_centers ? (static_cast<float>(i) + 0.5f) * scale
                                                : static_cast<float>(i) * scale;
    const auto nearest =
        static_cast<int64_t>(axis.align_corners ? std::round(place) : std::floor(place));
    places.push_back(std::clamp<int64_t>(nearest, 0, axis.from - 1));
  }
  return places;
}

}  // namespace millrace
