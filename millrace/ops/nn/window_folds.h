// What a window, or the windows over a pixel, come to in each channel: some channels at a time,
// whose partial results stay in registers while the window is walked through. Loops over one type,
// for sources of this room.
#pragma once

#include "millrace/ops/nn/lanes.h"
#include "millrace/ops/nn/pool_shape.h"

namespace millrace {

// Places [first, last) along each axis of a grid with a place for every pixel, or for every window.
struct Patch {
  Slide::Span z, y, x;

  int64_t size() const { return (z.last - z.first) * (y.last - y.first) * (x.last - x.first); }
};

// The pixels that the image has of the windows in row `row` of outputs, and along the row those of
// window `ox`. The windows over the pixels in row `row` of the image likewise. What is the same for
// a row is divided out once.
class WindowsOfRow {
 public:
  WindowsOfRow(const Slides& slides, int64_t row)
      : x_(slides.x),
        patch_{slides.z.inside(row / slides.y.out), slides.y.inside(row % slides.y.out), {}} {}
  MR_BODY Patch operator[](int64_t ox) const { return {patch_.z, patch_.y, x_.inside(ox)}; }

 private:
  const Slide x_;
  const Patch patch_;
};
class PixelsOfRow {
 public:
  PixelsOfRow(const Slides& slides, int64_t row)
      : x_(slides.x),
        patch_{slides.z.covering(row / slides.y.in), slides.y.covering(row % slides.y.in), {}} {}
  MR_BODY Patch operator[](int64_t x) const { return {patch_.z, patch_.y, x_.covering(x)}; }

 private:
  const Slide x_;
  const Patch patch_;
};

// Whether no two windows have a pixel in common, and whether each pixel is in one.
inline bool lie_apart(const Slides& slides) {
  const auto apart = [](const Slide& slide) { return slide.stride >= slide.window; };
  return apart(slides.z) && apart(slides.y) && apart(slides.x);
}
inline bool cover_all(const Slides& slides) {
  const auto covers = [](const Slide& slide) {
    return slide.stride <= slide.window && slide.out * slide.stride - slide.before >= slide.in;
  };
  return covers(slides.z) && covers(slides.y) && covers(slides.x);
}

// visit(place) for each place of a patch, in the order in which they lie in a grid of `height` and
// `width`.
template <class Visit>
MR_BODY void each_place(const Patch& patch, int64_t height, int64_t width, Visit visit) {
  for (int64_t z = patch.z.first; z < patch.z.last; ++z) {
    for (int64_t y = patch.y.first; y < patch.y.last; ++y) {
      const int64_t row = (z * height + y) * width;
      for (int64_t x = patch.x.first; x < patch.x.last; ++x) visit(row + x);
    }
  }
}

// to[c] is what the lanes of channel c are at the end: `start`, with every place of a patch folded
// in by fold(lanes, place, c).
template <class T, class Fold>
MR_BODY void fold_places(const Patch& patch, int64_t height, int64_t width, int64_t channels,
                         T start, T* to, Fold fold) {
  each_lanes(channels, [&]<int kLanes>(int64_t c) MR_LAMBDA_BODY {
    Lanes<T, kLanes> lanes;
    lanes.fill(start);
    each_place(patch, height, width, [&](int64_t place) MR_LAMBDA_BODY { fold(lanes, place, c); });
    lanes.store(to + c);
  });
}

}  // namespace millrace
