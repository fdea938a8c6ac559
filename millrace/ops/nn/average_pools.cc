// Part of families.h: register_average_pools.
#include <algorithm>

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"
#include "millrace/ops/nn/window_folds.h"

namespace millrace {
namespace {

// Row `row` of an image's outputs.
template <class T>
void average_row(const PoolShape& pool, const T* image, T* output, int64_t row) {
  const int64_t channels = pool.channels;
  in_widest_of<T>([=, &pool]() MR_LAMBDA_BODY {
    T* to = output + row * pool.slides.x.out * channels;
    const auto windows = windows_of_row(pool.slides, row);
    for (int64_t ox = 0; ox < pool.slides.x.out; ++ox, to += channels) {
      const Patch window = windows[ox];
      each_lanes(channels, [&]<int kLanes>(int64_t c) MR_LAMBDA_BODY {
        Lanes<T, kLanes> lanes;
        lanes.fill(T(0));
        each_place(window,
                   [&](int64_t pixel) MR_LAMBDA_BODY { lanes.add(image + pixel * channels + c); });
        lanes.divide(static_cast<T>(window.size()));
        lanes.store(to + c);
      });
    }
  });
}

// Row `row` of the image: its part of what arrives at the windows of each pixel. `shares` has the
// part that a pixel has of each window.
template <class T>
void spread_row(const PoolShape& pool, const T* shares, T* image, const T* output, int64_t row) {
  const int64_t channels = pool.channels, width = pool.slides.x.in;
  in_widest_of<T>([=, &pool]() MR_LAMBDA_BODY {
    const auto pixels = pixels_of_row(pool.slides, row);
    for (int64_t x = 0; x < width; ++x) {
      fold_places(pixels[x], channels, T(0), image + (row * width + x) * channels,
                  [&](auto& lanes, int64_t window, int64_t c) MR_LAMBDA_BODY {
                    lanes.add_scaled(output + window * channels + c, shares[window]);
                  });
    }
  });
}

// Of each window of an image, one divided by the pixels that the image has of it.
template <class T>
Result<Tensor> shares_of_windows(const Slides& slides) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, {slides.rows_out(), slides.x.out}));
  T* to = made.mutable_flat<T>().data();
  for (int64_t row = 0; row < slides.rows_out(); ++row) {
    const auto windows = windows_of_row(slides, row);
    for (int64_t x = 0; x < slides.x.out; ++x) *to++ = T(1) / static_cast<T>(windows[x].size());
  }
  return made;
}

template <class T>
Status average(KernelContext& context, const PoolShape& pool, const Tensor& images,
               Tensor& outputs) {
  const T* x = images.flat<T>().data();
  T* y = outputs.mutable_flat<T>().data();
  const int64_t height = pool.slides.rows_out();
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
  MR_ASSIGN(const Tensor shares, shares_of_windows<T>(pool.slides));
  const int64_t rows = pool.slides.z.in * pool.slides.y.in;
  const int64_t cost = pool.row_cost() * pool.slides.rows_out() / rows + 1;
  return share_range(context, pool.batch * rows, cost,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t at = begin; at < end; ++at) {
                         spread_row(pool, shares.flat<T>().data(),
                                    x + at / rows * pool.image_elements(),
                                    y + at / rows * pool.output_elements(), at % rows);
                         if (!probe.go_on(cost)) return probe.status();
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
  MR_ASSIGN(const Shape rows, pooled_rows(windows, pool));
  MR_ASSIGN(Tensor y, Tensor::allocate(x.dtype(), rows));
  if (y.num_elements() > 0) {
    MR_TRY(x.dtype() == DType::f64 ? average<double>(context, pool, x, y)
                                   : average<float>(context, pool, x, y));
  }
  return give(context, windows, y);
}

Status average_pool_grad(KernelContext& context, const Windows& windows) {
  if (context.input(0).shape().rank() != 1 || context.input(0).num_elements() != windows.axes())
    return invalid("out_backprop's orig_input_shape must be 1-dimensional and ", windows.axes(),
                   " elements, not ", context.input(0).shape().to_string());
  MR_ASSIGN(const Shape images, read_shape(context.input(0), "orig_input_shape"));
  MR_ASSIGN(const PoolShape pool, pool_of(windows, images));
  MR_TRY(check_pooled(windows, pool, context.input(1).shape(), "out_backprop"));
  MR_ASSIGN(const Tensor wide, widened(context.input(1), CancelProbe(context)));
  MR_ASSIGN(const Tensor y, channels_last(windows, wide, context));
  MR_ASSIGN(const Shape rows,
            rows_shape(windows, pool.batch, pool.slides, Side::in, pool.channels));
  MR_ASSIGN(Tensor x, Tensor::allocate(y.dtype(), rows));
  if (x.num_elements() > 0) {
    MR_TRY(y.dtype() == DType::f64 ? spread<double>(context, pool, x, y)
                                   : spread<float>(context, pool, x, y));
  }
  return give(context, windows, x);
}

Status infer_average_pool_grad(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  MR_TRY(context.input_of_rank(1, windows.axes()));
  MR_ASSIGN(const auto sizes, constant_integers(context, 0, "orig_input_shape"));
  if (!sizes) {
    context.set_output(0, PartialShape::of_rank(windows.axes()));
    return {};
  }
  MR_ASSIGN(const PartialShape images, PartialShape::create(*sizes));
  if (images.rank() != windows.axes())
    return invalid("orig_input_shape must have ", windows.axes(), " elements, not ", images.rank());
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
  MR_TRY(ops.add({
      .name = "AvgPoolGrad",
      .doc = "The gradient of AvgPool: each element of grad is spread evenly over its window.",
      .signature = "orig_input_shape: int32, grad: T -> output: T" + attrs,
      .infer = infer_average_pool_grad,
      .cpu = kernel_with(average_pool_grad, BoundWindows{}),
      .grad = grad::average_pool_grad,
      .cost = Cost::heavy,
      .examples = {"[1 2 3 1], [[[[4] [8]]]] -> [[[[1] [3] [2]] [[1] [3] [2]]]] | ksize = {1, 2, "
                   "2, 1}, strides = {1, 1, 1, 1}, padding = 'VALID'"},
  }));
  const std::string volume_attrs =
      " | ksize: list(int) >= 5, strides: list(int) >= 5, padding: {'SAME', 'VALID'}, "
      "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC', T: floating";
  MR_TRY(ops.add({
      .name = "AvgPool3D",
      .doc = "The average of what the volume has of each window.",
      .signature = "input: T -> output: T" + volume_attrs,
      .infer = [](InferContext& context) { return infer_pool(context, 0); },
      .cpu = kernel_with(average_pool, BoundWindows{}),
      .grad = grad::volume_average_pool,
      .cost = Cost::heavy,
      .examples =
          {"[[[[[1] [2] [3]]] [[[4] [5] [6]]]]] -> [[[[[3] [4.5]]]]] | ksize = {1, 2, 1, 2, "
           "1}, strides = {1, 2, 1, 2, 1}, padding = 'SAME'",
           "[[[[[1 2]]] [[[3 5]]]]] -> [[[[[1.5]]] [[[4]]]]] | ksize = {1, 1, 1, 1, 2}, "
           "strides = {1, 1, 1, 1, 1}, padding = 'VALID', data_format = 'NCDHW'"},
  }));
  return ops.add({
      .name = "AvgPool3DGrad",
      .doc = "The gradient of AvgPool3D: each element of grad is spread evenly over its window.",
      .signature = "orig_input_shape: int32, grad: T -> output: T" + volume_attrs,
      .infer = infer_average_pool_grad,
      .cpu = kernel_with(average_pool_grad, BoundWindows{}),
      .grad = grad::volume_average_pool_grad,
      .cost = Cost::heavy,
      .examples =
          {"[1 2 1 2 1], [[[[[4] [8]]]]] -> [[[[[2] [4]]] [[[2] [4]]]]] | ksize = {1, 2, 1, "
           "1, 1}, strides = {1, 1, 1, 1, 1}, padding = 'VALID'"},
  });
}

}  // namespace millrace
