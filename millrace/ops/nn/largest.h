// Where in each window the largest element stands: what gradients of poolings by the largest, and
// poolings that say where it was, are made of. Loops over one type, for sources of this room.
#pragma once

#include <algorithm>
#include <utility>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/pool_shape.h"

namespace millrace {

// visit(pixel) for each pixel that the image has of window `ox` in row `row` of outputs.
template <class Visit>
void each_in_window(const PoolShape& pool, int64_t row, int64_t ox, Visit visit) {
  const Slides& slides = pool.slides;
  const Slide::Span planes = slides.z.inside(row / slides.y.out);
  const Slide::Span rows = slides.y.inside(row % slides.y.out), columns = slides.x.inside(ox);
  for (int64_t z = planes.first; z < planes.last; ++z) {
    for (int64_t y = rows.first; y < rows.last; ++y) {
      for (int64_t x = columns.first; x < columns.last; ++x)
        visit((z * slides.y.in + y) * slides.x.in + x);
    }
  }
}

// Where from[c] is larger than best[c], takes it and says that it is `here`. All is read before
// anything is written: so written, compilers see that they need no branch.
template <class T>
void keep_larger(const T* from, T* best, int32_t* where, int32_t here, int64_t channels) {
  using M = cpu::Math<T>;
  MR_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const T x = from[c], before = best[c];
    const int32_t place = where[c];
    const bool is_larger = static_cast<M>(x) > static_cast<M>(before);
    const int32_t now = is_larger ? here : place;
    const T larger = is_larger ? x : before;
    where[c] = now;
    best[c] = larger;
  }
}

// For each output of row `oy`: its value, and the pixel where it was found, the first of equals; -1
// for an empty window. `values` and `pixels` have room for a row of outputs.
template <class T>
void find_row(const PoolShape& pool, const T* image, int64_t oy, T* values, int32_t* pixels) {
  const int64_t channels = pool.channels;
  std::fill_n(pixels, pool.slides.x.out * channels, -1);
  for (int64_t ox = 0; ox < pool.slides.x.out; ++ox) {
    T* const best = values + ox * channels;
    int32_t* const where = pixels + ox * channels;
    bool is_first = true;
    each_in_window(pool, oy, ox, [&](int64_t pixel) {
      const T* const from = image + pixel * channels;
      const auto here = static_cast<int32_t>(pixel);
      if (std::exchange(is_first, false)) {
        std::copy_n(from, channels, best);
        std::fill_n(where, channels, here);
        return;
      }
      keep_larger(from, best, where, here, channels);
    });
  }
}

// What a row of outputs and what was found for it come to.
template <class T>
struct Found {
  const PoolShape& pool;
  int64_t image, oy;
  const T* values;
  const int32_t* pixels;

  // visit(output, element of the images, value), both counted in their tensor; -1 for the element
  // if it was found nowhere: an empty window.
  template <class Visit>
  void each(Visit visit) const {
    const int64_t channels = pool.channels, width = pool.slides.x.out;
    const int64_t first = image * pool.output_elements() + oy * width * channels;
    const int64_t begin = image * pool.image_elements();
    for (int64_t ox = 0, i = 0; ox < width; ++ox) {
      for (int64_t c = 0; c < channels; ++c, ++i)
        visit(first + i, pixels[i] < 0 ? -1 : begin + pixels[i] * channels + c, values[i]);
    }
  }
};

// visit(Found) for every row, those of an image one after the other on one thread.
template <class T, class Visit>
Status each_found(KernelContext& context, const PoolShape& pool, const Tensor& images,
                  Visit visit) {
  if (pool.batch * pool.output_elements() == 0) return {};
  const int64_t height = pool.slides.rows_out(), size = pool.slides.x.out * pool.channels;
  return share_range(context, pool.batch, pool.row_cost() * height,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       MR_ASSIGN(Tensor values, Tensor::allocate(dtype_of<T>, {size}));
                       MR_ASSIGN(Tensor pixels, Tensor::allocate(DType::i32, {size}));
                       T* const best = values.mutable_flat<T>().data();
                       int32_t* const where = pixels.mutable_flat<int32_t>().data();
                       for (int64_t n = begin; n < end; ++n) {
                         const T* image = images.flat<T>().data() + n * pool.image_elements();
                         for (int64_t oy = 0; oy < height; ++oy) {
                           find_row(pool, image, oy, best, where);
                           visit(Found<T>{pool, n, oy, best, where});
                           if (!probe.go_on(pool.row_cost())) return probe.status();
                         }
                       }
                       return {};
                     });
}

template <class T>
void add_to(T& sum, T more) {
  if constexpr (cpu::kIsNarrowFloat<T>) {
    sum = T(static_cast<float>(sum) + static_cast<float>(more));
  } else {
    sum = cpu::add(sum, more);
  }
}

}  // namespace millrace
