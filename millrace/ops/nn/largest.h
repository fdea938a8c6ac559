// Where in each window the largest element stands: what gradients of poolings by the largest, and
// poolings that say where it was, are made of. Loops over one type, for sources of this room.
#pragma once

#include <algorithm>

#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/window_folds.h"

namespace millrace {

// For channels from `c` on: the largest of a window that is not empty, the first of equals, and the
// pixels where they were found.
template <class T, int kLanes>
MR_BODY void find_in_window(const PoolShape& pool, const Patch& window, const T* image, int64_t c,
                            Lanes<T, kLanes>& largest, typename Lanes<T, kLanes>::Places& places) {
  const int64_t channels = pool.channels;
  const int64_t first = window.first();
  largest.load(image + first * channels + c);
  places.fill(static_cast<int32_t>(first));
  each_place(window, [&](int64_t pixel) MR_LAMBDA_BODY {
    largest.keep_larger(image + pixel * channels + c, places, static_cast<int32_t>(pixel));
  });
}

// For each output of row `row`: its value, and the pixel where it was found, the first of equals;
// -1 for an empty window. `values` and `pixels` have room for a row of outputs.
template <class T>
void find_row(const PoolShape& pool, const T* image, int64_t row, T* values, int32_t* pixels) {
  const int64_t channels = pool.channels;
  in_widest_of<T>([=, &pool]() MR_LAMBDA_BODY {
    int32_t* where = pixels;
    const auto windows = windows_of_row(pool.slides, row);
    for (int64_t ox = 0; ox < pool.slides.x.out; ++ox, where += channels) {
      const Patch window = windows[ox];
      if (window.size() == 0) {
        std::fill_n(where, channels, -1);
        continue;
      }
      each_lanes(channels, [&]<int kLanes>(int64_t c) MR_LAMBDA_BODY {
        Lanes<T, kLanes> largest;
        typename Lanes<T, kLanes>::Places places;
        find_in_window(pool, window, image, c, largest, places);
        largest.store(values + ox * channels + c);
        places.store(where + c);
      });
    }
  });
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

}  // namespace millrace
