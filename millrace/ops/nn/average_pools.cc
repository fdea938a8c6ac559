// Part of families.h: register_average_pools.
#include <algorithm>

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"
#include "millrace/ops/nn/pool_shape.h"

namespace millrace {
namespace {

// How many elements of the image a window has: what lies outside is not counted.
int64_t size_of(const Slide::Span& rows, const Slide::Span& columns) {
  return (rows.last - rows.first) * (columns.last - columns.first);
}

// Output row `oy` of an image; or what it gives back to the image.
template <class T>
void average_row(const PoolShape& pool, const T* image, T* output, int64_t oy) {
  const int64_t channels = pool.channels;
  const Slide::Span rows = pool.slides.y.inside(oy);
  T* to = output + oy * pool.slides.x.out * channels;
  for (int64_t ox = 0; ox < pool.slides.x.out; ++ox, to += channels) {
    const Slide::Span columns = pool.slides.x.inside(ox);
    std::fill_n(to, channels, T(0));
    for (int64_t y = rows.first; y < rows.last; ++y) {
      for (int64_t x = columns.first; x < columns.last; ++x) {
        const T* from = image + (y * pool.slides.x.in + x) * channels;
        MR_INDEPENDENT
        for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
      }
    }
    const T size = static_cast<T>(size_of(rows, columns));
    MR_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) to[c] /= size;
  }
}

template <class T>
void spread_row(const PoolShape& pool, T* image, const T* output, int64_t oy) {
  const int64_t channels = pool.channels;
  const Slide::Span rows = pool.slides.y.inside(oy);
  const T* from = output + oy * pool.slides.x.out * channels;
  for (int64_t ox = 0; ox < pool.slides.x.out; ++ox, from += channels) {
    const Slide::Span columns = pool.slides.x.inside(ox);
    const T share = T(1) / static_cast<T>(size_of(rows, columns));
    for (int64_t y = rows.first; y < rows.last; ++y) {
      for (int64_t x = columns.first; x < columns.last; ++x) {
        T* to = image + (y * pool.slides.x.in + x) * channels;
        MR_INDEPENDENT
        for (int64_t c = 0; c < channels; ++c) to[c] += from[c] * share;
      }
    }
  }
}

template <class T>
Status average(KernelContext& context, const PoolShape& pool, const Tensor& images,
               Tensor& outputs) {
  const T* x = images.flat<T>().data();
  T* y = outputs.mutable_flat<T>().data();
  const int64_t height = pool.slides.y.out;
  return share_range(context, pool.batch * height, pool.row_cost(),
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t at = begin; at < end; ++at) {
                         average_row(pool, x + at / height * pool.image_elements(),
                                     y + at / height * pool.output_elements(), at % height);
                         if (!probe.go_on(pool.row_cost())) return probe.status();
                       }
                       return {};
                     });
}

template <class T>
Status spread(KernelContext& context, const PoolShape& pool, Tensor& images,
              const Tensor& outputs) {
  T* x = images.mutable_flat<T>().data();
  const T* y = outputs.flat<T>().data();
  const int64_t height = pool.slides.y.out;
  return share_range(context, pool.batch, pool.row_cost() * height,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t n = begin; n < end; ++n) {
                         for (int64_t oy = 0; oy < height; ++oy) {
                           spread_row(pool, x + n * pool.image_elements(),
                                      y + n * pool.output_elements(), oy);
                           if (!probe.go_on(pool.row_cost())) return probe.status();
                         }
                       }
                       return {};
                     });
}

// To the output's type and the node's format.
Status give(KernelContext& context, const Windows& windows, const Tensor& made) {
  MR_ASSIGN(const Tensor narrow, narrowed(made, context.output_dtype(0), CancelProbe(context)));
  return context.set_output(0, in_format(windows, narrow, context));
}

Status average_pool(KernelContext& context, const Windows& windows) {
  MR_ASSIGN(const PoolShape pool, pool_of(windows, context.input(0).shape()));
  MR_ASSIGN(const Tensor wide, widened(context.input(0), CancelProbe(context)));
  MR_ASSIGN(const Tensor x, channels_last(windows, wide, context));
  MR_ASSIGN(const Shape rows, Shape::create(std::array{pool.batch, pool.slides.y.out,
                                                       pool.slides.x.out, pool.channels}));
  MR_ASSIGN(Tensor y, Tensor::allocate(x.dtype(), rows));
  if (y.num_elements() > 0) {
    MR_TRY(x.dtype() == DType::f64 ? average<double>(context, pool, x, y)
                                   : average<float>(context, pool, x, y));
  }
  return give(context, windows, y);
}

Status average_pool_grad(KernelContext& context, const Windows& windows) {
  if (context.input(0).shape().rank() != 1 || context.input(0).num_elements() != 4)
    return invalid("out_backprop's orig_input_shape must be 1-dimensional and 4 elements, not ",
                   context.input(0).shape().to_string());
  MR_ASSIGN(const Shape images, read_shape(context.input(0), "orig_input_shape"));
  MR_ASSIGN(const PoolShape pool, pool_of(windows, images));
  MR_TRY(check_pooled(windows, pool, context.input(1).shape(), "out_backprop"));
  MR_ASSIGN(const Tensor wide, widened(context.input(1), CancelProbe(context)));
  MR_ASSIGN(const Tensor y, channels_last(windows, wide, context));
  MR_ASSIGN(const Shape rows, Shape::create(std::array{pool.batch, pool.slides.y.in,
                                                       pool.slides.x.in, pool.channels}));
  MR_ASSIGN(Tensor x, Tensor::zeros(y.dtype(), rows));
  if (y.num_elements() > 0) {
    MR_TRY(y.dtype() == DType::f64 ? spread<double>(context, pool, x, y)
                                   : spread<float>(context, pool, x, y));
  }
  return give(context, windows, x);
}

Status infer_average_pool_grad(InferContext& context) {
  MR_TRY(Windows::of(context.attrs()));
  MR_TRY(context.input_of_rank(1, 4));
  MR_ASSIGN(const auto sizes, constant_integers(context, 0, "orig_input_shape"));
  if (!sizes) {
    context.set_output(0, PartialShape::of_rank(4));
    return {};
  }
  MR_ASSIGN(const PartialShape images, PartialShape::create(*sizes));
  if (images.rank() != 4)
    return invalid("orig_input_shape must have 4 elements, not ", images.rank());
  context.set_output(0, images);
  return {};
}

}  // namespace

Status register_average_pools(OpRegistry& ops) {
  const std::string attrs =
      " | ksize: list(int) >= 4, strides: list(int) >= 4, padding: {'SAME', 'VALID'}, "
      "data_format: {'NHWC', 'NCHW'} = 'NHWC', T: floating";
  MR_TRY(ops.add({
      .name = "AvgPool",
      .doc = "The average of what the image has of each window.",
      .signature = "value: T -> output: T" + attrs,
      .infer = [](InferContext& context) { return infer_pool(context, 0); },
      .cpu = kernel_with(average_pool, BoundWindows{}),
      .grad = grad::average_pool,
      .cost = Cost::heavy,
      .examples = {"[[[[1] [2] [3]] [[4] [5] [6]]]] -> [[[[3] [4]]]] | ksize = {1, 2, 2, 1}, "
                   "strides = {1, 1, 1, 1}, padding = 'VALID'",
                   "[[[[1 2 3] [4 5 6]]]] -> [[[[3 4.5]]]] | ksize = {1, 1, 2, 2}, strides = {1, "
                   "1, 2, 2}, padding = 'SAME', data_format = 'NCHW'"},
  }));
  return ops.add({
      .name = "AvgPoolGrad",
      .doc = "The gradient of AvgPool: each element of grad is spread evenly over its window.",
      .signature = "orig_input_shape: int32, grad: T -> output: T" + attrs,
      .infer = infer_average_pool_grad,
      .cpu = kernel_with(average_pool_grad, BoundWindows{}),
      .grad = grad::average_pool_grad,
      .cost = Cost::heavy,
      .examples = {"[1 2 3 1], [[[[4] [8]]]] -> [[[[1] [3] [2]] [[1] [3] [2]]]] | ksize = {1, 2, "
                   "2, 1}, strides = {1, 1, 1, 1}, padding = 'VALID'"},
  });
}

}  // namespace millrace
