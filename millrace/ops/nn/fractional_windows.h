// The windows of fractional pooling and their elements, for the pools and their gradients.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// The types that fractional pools take.
using FractionalTypes = cpu::Types<float, double, int32_t, int64_t>;

// One axis: window i is [cuts[i], cuts[i + 1]), and one element more if windows overlap.
struct CutAxis {
  int64_t length = 0;
  std::vector<int64_t> cuts = {};
  bool overlapping = false;

  int64_t windows() const { return static_cast<int64_t>(cuts.size()) - 1; }
  int64_t begin(int64_t i) const { return cuts[static_cast<size_t>(i)]; }
  int64_t end(int64_t i) const {
    const int64_t cut = std::min(cuts[static_cast<size_t>(i) + 1], length);
    return overlapping ? std::min(cut + 1, length) : cut;
  }
};

struct CutImages {
  int64_t batch = 0, channels = 0;
  CutAxis rows, columns;

  Result<Shape> pooled_shape() const {
    return Shape::create(
        std::array<int64_t, 4>{batch, rows.windows(), columns.windows(), channels});
  }
  // body(window, pixel) for every pixel of every window; both count [batch, row, column].
  template <class Body>
  Status each_pixel(CancelProbe probe, Body body) const {
    // Axes without an element may stand beside some that are very long.
    if (batch == 0 || channels == 0 || rows.windows() == 0 || columns.windows() == 0) return {};
    int64_t window = 0;
    for (int64_t image = 0; image < batch; ++image) {
      for (int64_t row = 0; row < rows.windows(); ++row) {
        for (int64_t column = 0; column < columns.windows(); ++column, ++window) {
          const int64_t first = columns.begin(column), last = columns.end(column);
          for (int64_t y = rows.begin(row); y < rows.end(row); ++y) {
            const int64_t line = (image * rows.length + y) * columns.length;
            for (int64_t x = first; x < last; ++x) body(window, line + x);
            if (!probe.go_on((last - first) * channels)) return probe.status();
          }
        }
      }
    }
    return {};
  }
  int64_t pixels_of(int64_t window) const {
    const int64_t column = window % columns.windows();
    const int64_t row = window / columns.windows() % rows.windows();
    return (rows.end(row) - rows.begin(row)) * (columns.end(column) - columns.begin(column));
  }
};

// Where the largest element of each window and channel is; of equal ones the first. Requires that
// no window is empty.
template <class T>
Result<Tensor> places_of_largest(const CutImages& cut, const Tensor& images, CancelProbe probe) {
  MR_ASSIGN(const Shape shape, cut.pooled_shape());
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::i64, shape));
  int64_t* const places = made.mutable_flat<int64_t>().data();
  std::fill_n(places, made.num_elements(), -1);
  const T* const all = images.flat<T>().data();
  MR_TRY(cut.each_pixel(probe, [&](int64_t window, int64_t pixel) {
    int64_t* const best = places + window * cut.channels;
    for (int64_t c = 0; c < cut.channels; ++c) {
      const int64_t at = pixel * cut.channels + c;
      if (best[c] < 0 || all[best[c]] < all[at]) best[c] = at;
    }
  }));
  return made;
}

}  // namespace millrace
