// What a window, or the windows over a pixel, come to in each channel: some channels at a time,
// whose partial results stay in registers while the window is walked through. Loops over one type,
// for sources of this room.
#pragma once

#include "millrace/ops/nn/lanes.h"
#include "millrace/ops/nn/pool_shape.h"

namespace millrace {

// Places [first, last) along each axis of a grid that has one for every pixel, or for every window.
struct Patch {
  Slide::Span z, y, x;
  int64_t height, width;  // of the grid

  int64_t size() const { return (z.last - z.first) * (y.last - y.first) * (x.last - x.first); }
  // The number of its first place in the grid.
  int64_t first() const { return (z.first * height + y.first) * width + x.first; }
};

// The patches of a row: what is the same for all of them is divided out once.
template <Slide::Span (Slide::*kAlong)(int64_t) const>
class PatchesOfRow {
 public:
  PatchesOfRow(const Slides& slides, int64_t z, int64_t y, int64_t height, int64_t width)
      : x_(slides.x), patch_{(slides.z.*kAlong)(z), (slides.y.*kAlong)(y), {}, height, width} {}
  MR_BODY Patch operator[](int64_t x) const {
    Patch made = patch_;
    made.x = (x_.*kAlong)(x);
    return made;
  }

 private:
  const Slide x_;
  const Patch patch_;
};

// Of row `row` of outputs: the pixels that the image has of each window.
inline PatchesOfRow<&Slide::inside> windows_of_row(const Slides& slides, int64_t row) {
  const int64_t height = slides.y.out;
  return {slides, row / height, row % height, slides.y.in, slides.x.in};
}
// Of row `row` of an image: the windows over each pixel.
inline PatchesOfRow<&Slide::covering> pixels_of_row(const Slides& slides, int64_t row) {
  const int64_t height = slides.y.in;
  return {slides, row / height, row % height, slides.y.out, slides.x.out};
}

// Whether each pixel is in a window.
inline bool cover_all(const Slides& slides) {
  const auto covers = [](const Slide& slide) {
    return slide.stride <= slide.window && slide.out * slide.stride - slide.before >= slide.in;
  };
  return covers(slides.z) && covers(slides.y) && covers(slides.x);
}

// Whether each pixel is in one window and in no other.
inline bool cover_all_once(const Slides& slides) {
  const auto apart = [](const Slide& slide) { return slide.stride == slide.window; };
  return cover_all(slides) && apart(slides.z) && apart(slides.y) && apart(slides.x);
}

// The first place along an axis that no window before window `at` has.
inline int64_t reached_before(const Slide& slide, int64_t at) {
  return at == 0 ? 0 : slide.inside(at - 1).last;
}

// visit(z, y, row) for each row of a patch: place x of it has number row + x.
template <class Visit>
MR_BODY void each_row(const Patch& patch, Visit visit) {
  for (int64_t z = patch.z.first; z < patch.z.last; ++z) {
    for (int64_t y = patch.y.first; y < patch.y.last; ++y)
      visit(z, y, (z * patch.height + y) * patch.width);
  }
}

// visit(place) for each place of a patch, in the order in which they lie in the grid.
template <class Visit>
MR_BODY void each_place(const Patch& patch, Visit visit) {
  each_row(patch, [&](int64_t, int64_t, int64_t row) MR_LAMBDA_BODY {
    for (int64_t x = patch.x.first; x < patch.x.last; ++x) visit(row + x);
  });
}

// to[c] is what the lanes of channel c are at the end: `start`, with every place of a patch folded
// in by fold(lanes, place, c).
template <class T, class Fold>
MR_BODY void fold_places(const Patch& patch, int64_t channels, T start, T* to, Fold fold) {
  each_lanes(channels, [&]<int kLanes>(int64_t c) MR_LAMBDA_BODY {
    Lanes<T, kLanes> lanes;
    lanes.fill(start);
    each_place(patch, [&](int64_t place) MR_LAMBDA_BODY { fold(lanes, place, c); });
    lanes.store(to + c);
  });
}

}  // namespace millrace
