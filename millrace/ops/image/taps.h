// Taps: which elements along one axis an element of the resized axis is made of, and how much of
// each. The four ways to resize differ in nothing else.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace {

// How places of the new axis lie on the old one.
struct AxisScale {
  int64_t from = 1, to = 1;    // sizes, both positive
  bool align_corners = false;  // the middles of the outermost elements coincide
  bool half_pixel_centers = false;

  float scale() const {
    return align_corners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                                   : static_cast<float>(from) / static_cast<float>(to);
  }
  // The old place, in elements, of the new element `place`.
  float old_place(int64_t place) const {
    return half_pixel_centers ? (static_cast<float>(place) + 0.5f) * scale() - 0.5f
                              : static_cast<float>(place) * scale();
  }
};

struct Tap {
  int64_t index;
  float weight;
};

// The taps of new element i are taps[begin[i]] to taps[begin[i + 1] - 1].
struct Taps {
  std::vector<int64_t> begin{0};
  std::vector<Tap> taps;
};

Taps bilinear_taps(const AxisScale& axis);
Taps bicubic_taps(const AxisScale& axis);
Taps area_taps(const AxisScale& axis);
// The one old element that each new one is a copy of.
std::vector<int64_t> nearest_places(const AxisScale& axis);

}  // namespace millrace
