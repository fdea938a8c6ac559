// Where in each window the largest element stands: what gradients of poolings by the largest, and
// poolings that say where it was, are made of. Loops over one type, for sources of this room.
#pragma once

#include <algorithm>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/pool_shape.h"

namespace millrace {

// visit(pixel) for each pixel that the image has of a window.
template <class Visit>
void each_in_window(const PoolShape& pool, int64_t oy, int64_t ox, Visit visit) {
  const Slide::Span rows = pool.slides.y.inside(oy), columns = pool.slides.x.inside(ox);
  for (int64_t y = rows.first; y < rows.last; ++y) {
    for (int64_t x = columns.first; x < columns.last; ++x) visit(y * pool.slides.x.in + x);
  }
}

// For each output of row `oy`: its value, and the pixel where it was found, the first of equals.
// `values` and `pixels` have room for a row of outputs.
template <class T>
void find_row(const PoolShape& pool, const T* image, int64_t oy, T* values, int32_t* pixels) {
  using M = cpu::Math<T>;
  const int64_t channels = pool.channels;
  for (int64_t ox = 0; ox < pool.slides.x.out; ++ox, values += channels, pixels += channels) {
    std::fill_n(pixels, channels, -1);
    each_in_window(pool, oy, ox, [&](int64_t pixel) {
      const T* from = image + pixel * channels;
      MR_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) {
        const bool better = pixels[c] < 0 || static_cast<M>(from[c]) > static_cast<M>(values[c]);
        values[c] = better ? from[c] : values[c];
        pixels[c] = better ? static_cast<int32_t>(pixel) : pixels[c];
      }
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

  int64_t size() const { return pool.slides.x.out * pool.channels; }
  // The first output of the row, in the tensor of outputs.
  int64_t first_output() const { return image * pool.output_elements() + oy * size(); }
  // Where in the tensor of images output `i` of the row was found; -1 if nowhere: an empty window.
  int64_t source(int64_t i) const {
    if (pixels[i] < 0) return -1;
    return image * pool.image_elements() + pixels[i] * pool.channels + i % pool.channels;
  }
};

// visit(Found) for every row, those of an image one after the other on one thread.
template <class T, class Visit>
Status each_found(KernelContext& context, const PoolShape& pool, const Tensor& images,
                  Visit visit) {
  if (pool.batch * pool.output_elements() == 0) return {};
  const int64_t height = pool.slides.y.out, size = pool.slides.x.out * pool.channels;
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
