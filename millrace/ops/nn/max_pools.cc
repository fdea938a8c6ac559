// Part of families.h: register_max_pools.
#include <algorithm>
#include <limits>

#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"
#include "millrace/ops/nn/largest.h"

namespace millrace {
namespace {

// --- MaxPool ---

// Output row `oy` of an image.
using MaxRow = void (*)(const PoolShape& pool, const void* image, void* output, int64_t oy);

template <class T>
T lowest() {
  if constexpr (std::is_same_v<T, Half>)
    return Half(-65504.0f);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16(-3.3895314e38f);
  else
    return std::numeric_limits<T>::lowest();
}

template <class T>
void max_row(const PoolShape& pool, const void* image, void* output, int64_t row) {
  const int64_t channels = pool.channels;
  in_widest_of<T>([=, &pool]() MR_LAMBDA_BODY {
    const T* const from = static_cast<const T*>(image);
    T* to = static_cast<T*>(output) + row * pool.slides.x.out * channels;
    const auto windows = windows_of_row(pool.slides, row);
    for (int64_t ox = 0; ox < pool.slides.x.out; ++ox, to += channels) {
      fold_places(windows[ox], channels, lowest<T>(), to,
                  [&](auto& lanes, int64_t pixel, int64_t c)
                      MR_LAMBDA_BODY { lanes.keep_larger(from + pixel * channels + c); });
    }
  });
}

const char* image_at(const Tensor& tensor, int64_t elements, int64_t n) {
  return static_cast<const char*>(tensor.data()) +
         n * elements * static_cast<int64_t>(dtype_size(tensor.dtype()));
}
char* image_at(Tensor& tensor, int64_t elements, int64_t n) {
  return const_cast<char*>(image_at(std::as_const(tensor), elements, n));
}

Status max_pool(KernelContext& context, MaxRow row, const Windows& said) {
  MR_ASSIGN(const Windows windows, windows_of(said, context, 1));
  const Shape& images = context.input(0).shape();
  const bool depth = pools_depth(windows) && windows.axes() == 4;
  MR_ASSIGN(const PoolShape pool,
            depth ? depth_pool_of(windows, images) : pool_of(windows, images));
  MR_ASSIGN(const Tensor x, channels_last(windows, context.input(0), context));
  MR_ASSIGN(const Shape rows, depth ? Shape::create(std::array{images.dim(0), images.dim(1),
                                                               images.dim(2), pool.slides.x.out})
                                    : pooled_rows(windows, pool));
  MR_ASSIGN(Tensor y, context.allocate(0, rows));
  if (y.num_elements() > 0) {
    const int64_t height = pool.slides.rows_out();
    MR_TRY(share_range(context, pool.batch * height, pool.row_cost(),
                       [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                         for (int64_t at = begin; at < end; ++at) {
                           row(pool, image_at(x, pool.image_elements(), at / height),
                               image_at(y, pool.output_elements(), at / height), at % height);
                           if (!probe.go_on(pool.row_cost())) return probe.status();
                         }
                         return {};
                       }));
  }
  return context.set_output(0, in_format(windows, y, context));
}

// --- gradients ---

// `moved` has the shape of the outputs and goes to where they were found, or that of the images
// and comes from there. `result` may be in the place of the images if no two windows overlap.
using MoveLoop = Status (*)(KernelContext& context, const PoolShape& pool, const Tensor& images,
                            const Tensor& moved, Tensor& result);

// Whether what arrives at a window goes on only if its largest is positive: then it passes ReluGrad
// with the same images as well.
enum class Gate : uint8_t { none, positive };

// Row `row` of outputs: what arrives at each window goes to the first of its largest. It is added
// to what the windows before gave to a pixel; one that none of them has is written.
template <Gate kGate, class T>
void give_back_row(const PoolShape& pool, const T* image, const T* moved, int64_t row, T* result) {
  in_widest_of<T>([=, &pool]() MR_LAMBDA_BODY {
    // Not read from memory again, which the loops might have written to.
    const T* const from = image;
    T* const to = result;
    const int64_t channels = pool.channels;
    const Slides& slides = pool.slides;
    const int64_t planes_before = reached_before(slides.z, row / slides.y.out);
    const int64_t rows_before = reached_before(slides.y, row % slides.y.out);
    const T* arriving = moved + row * slides.x.out * channels;
    const auto windows = windows_of_row(slides, row);
    int64_t columns_before = 0;
    for (int64_t ox = 0; ox < slides.x.out; ++ox, arriving += channels) {
      const Patch window = windows[ox];
      if (window.size() == 0) continue;
      const int64_t begin = window.x.first, end = window.x.last;
      const int64_t border = std::max(begin, columns_before);
      columns_before = end;
      each_lanes(channels, [&]<int kLanes>(int64_t c) MR_LAMBDA_BODY {
        const int64_t first = window.first() * channels + c;
        Lanes<T, kLanes> largest, left, given;
        largest.load(from + first);
        each_place(window, [&](int64_t pixel) MR_LAMBDA_BODY {
          largest.keep_larger(from + pixel * channels + c);
        });
        left.load(arriving + c);
        if constexpr (kGate == Gate::positive) left.keep_where_positive(largest);
        each_row(window, [&](int64_t z, int64_t y, int64_t at) MR_LAMBDA_BODY {
          const int64_t old = z < planes_before || y < rows_before ? end : border;
          int64_t x = begin;
          for (; x < old; ++x) {
            const int64_t i = (at + x) * channels + c;
            left.give_to_equals(from + i, largest, given);
            given.add(to + i);
            given.store(to + i);
          }
          for (; x < end; ++x) {
            const int64_t i = (at + x) * channels + c;
            left.give_to_equals(from + i, largest, given);
            given.store(to + i);
          }
        });
        // A NaN that comes first is the largest, and equals nothing.
        left.add(to + first);
        left.store(to + first);
      });
    }
  });
}

// All of an image.
template <Gate kGate, class T>
Status give_image(const PoolShape& pool, const T* image, const T* moved, T* result,
                  CancelProbe& probe) {
  if (!cover_all(pool.slides)) std::fill_n(result, pool.image_elements(), T(0));
  for (int64_t row = 0; row < pool.slides.rows_out(); ++row) {
    give_back_row<kGate>(pool, image, moved, row, result);
    if (!probe.go_on(pool.row_cost())) return probe.status();
  }
  return {};
}

template <Gate kGate, class T>
Status give_back(KernelContext& context, const PoolShape& pool, const Tensor& images,
                 const Tensor& moved, Tensor& result) {
  return share_range(context, pool.batch, pool.row_cost() * pool.slides.rows_out(),
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t n = begin; n < end; ++n) {
                         MR_TRY(give_image<kGate>(
                             pool, images.flat<T>().data() + n * pool.image_elements(),
                             moved.flat<T>().data() + n * pool.output_elements(),
                             result.mutable_flat<T>().data() + n * pool.image_elements(), probe));
                       }
                       return {};
                     });
}

template <class T>
Status gather_found(KernelContext& context, const PoolShape& pool, const Tensor& images,
                    const Tensor& moved, Tensor& result) {
  const T* from = moved.flat<T>().data();
  T* to = result.mutable_flat<T>().data();
  return each_found<T>(context, pool, images, [&](const Found<T>& found) {
    found.each([&](int64_t output, int64_t at, const T&) {
      if (at >= 0) to[output] = from[at];
    });
  });
}

Status max_pool_grad(KernelContext& context, MoveLoop give_back, const Windows& said) {
  MR_ASSIGN(const Windows windows, windows_of(said, context, 3));
  MR_ASSIGN(const PoolShape pool, pool_of(windows, context.input(0).shape()));
  MR_TRY(check_pooled(windows, pool, context.input(1).shape(), "orig_output"));
  MR_TRY(check_pooled(windows, pool, context.input(2).shape(), "grad"));
  MR_ASSIGN(const Tensor images, channels_last(windows, context.take_input(0), context));
  MR_ASSIGN(const Tensor moved, channels_last(windows, context.input(2), context));
  Tensor result;
  // In their place if they end here: a tensor less goes through the caches.
  if (images.is_sole_owner() && cover_all_once(pool.slides)) {
    result = images;
  } else {
    MR_ASSIGN(result, Tensor::allocate(images.dtype(), images.shape()));
  }
  if (result.num_elements() > 0) MR_TRY(give_back(context, pool, images, moved, result));
  return context.set_output(0, in_format(windows, result, context));
}

Status max_pool_grad_grad(KernelContext& context, MoveLoop gather, const Windows& said) {
  MR_ASSIGN(const Windows windows, windows_of(said, context, 3));
  MR_ASSIGN(const PoolShape pool, pool_of(windows, context.input(0).shape()));
  MR_TRY(check_pooled(windows, pool, context.input(1).shape(), "orig_output"));
  if (context.input(2).shape() != context.input(0).shape()) {
    return invalid("Expected grad shape to be ", context.input(0).shape().to_string(), ", but got ",
                   context.input(2).shape().to_string());
  }
  MR_ASSIGN(const Tensor images, channels_last(windows, context.input(0), context));
  MR_ASSIGN(const Tensor moved, channels_last(windows, context.input(2), context));
  MR_ASSIGN(const Shape rows, pooled_rows(windows, pool));
  MR_ASSIGN(Tensor result, Tensor::zeros(images.dtype(), rows));
  MR_TRY(gather(context, pool, images, moved, result));
  return context.set_output(0, in_format(windows, result, context));
}

// --- shapes, ops ---

Status infer_as_output(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  MR_ASSIGN(PartialShape shape, context.input_of_rank(1, windows.axes()));
  context.set_output(0, std::move(shape));
  return {};
}
Status infer_as_images(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  MR_ASSIGN(PartialShape shape, context.input_of_rank(0, windows.axes()));
  context.set_output(0, std::move(shape));
  return {};
}

template <Gate kGate>
KernelFactory giving_kernel() {
  const auto loop = cpu::loop_of_input<cpu::Real>([]<class T>() { return &give_back<kGate, T>; });
  return kernel_with(max_pool_grad, loop, BoundWindows{});
}

KernelFactory gathering_kernel() {
  const auto loop = cpu::loop_of_input<cpu::Real>([]<class T>() { return &gather_found<T>; });
  return kernel_with(max_pool_grad_grad, loop, BoundWindows{});
}

constexpr std::string_view kSizes = "ksize: list(int) >= 4, strides: list(int) >= 4, ";
constexpr std::string_view kPadding = "padding: {'SAME', 'VALID'}, ";
constexpr std::string_view kAnyPadding =
    "padding: {'SAME', 'VALID', 'EXPLICIT'}, explicit_paddings: list(int) = {}, ";
constexpr std::string_view kFormat = "data_format: {'NHWC', 'NCHW'} = 'NHWC', ";
constexpr std::string_view kImages = "[[[[1] [2] [5]] [[3] [4] [0]] [[8] [7] [6]]]]";

Status add_max_pools(OpRegistry& ops) {
  const std::string types =
      "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16} = float, ";
  const std::string format = "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'";
  const auto loop = cpu::loop_of_input<cpu::Real>([]<class T>() { return &max_row<T>; });
  MR_TRY(ops.add({
      .name = "MaxPool",
      .doc = "The largest of each window.",
      .signature = str_cat("input: T -> output: T | ", types, kSizes, kAnyPadding, format),
      .infer = [](InferContext& context) { return infer_pool(context, 0); },
      .cpu = kernel_with(max_pool, loop, BoundWindows{}),
      .grad = grad::max_pool,
      .cost = Cost::heavy,
      .examples =
          {str_cat(kImages,
                   " -> [[[[4] [5]] [[8] [7]]]] | ksize = {1, 2, 2, 1}, strides = {1, 1, "
                   "1, 1}, padding = 'VALID'"),
           str_cat(kImages,
                   " -> [[[[4] [5]] [[8] [6]]]] | ksize = {1, 2, 2, 1}, strides = {1, 2, "
                   "2, 1}, padding = 'SAME'"),
           "[[[[1 2] [3 4]] [[8 7] [6 5]]]] -> [[[[4]] [[8]]]] | ksize = {1, 1, 2, 2}, strides = "
           "{1, 1, 2, 2}, padding = 'VALID', data_format = 'NCHW'",
           "[[[[1 4 3 2]]]] -> [[[[4 3]]]] | ksize = {1, 1, 1, 2}, strides = {1, 1, 1, 2}, "
           "padding = 'VALID'"},
  }));
  return ops.add({
      .name = "MaxPoolV2",
      .doc = "The largest of each window, whose sizes and strides are inputs.",
      .signature = str_cat("input: T, ksize: int32, strides: int32 -> output: T | ", types,
                           kPadding, format),
      .infer = [](InferContext& context) { return infer_pool(context, 1); },
      .cpu = kernel_with(max_pool, loop, BoundWindows{}),
      .grad = grad::max_pool,
      .cost = Cost::heavy,
      .examples = {str_cat(kImages,
                           ", [1 2 2 1], [1 1 1 1] -> [[[[4] [5]] [[8] [7]]]] | padding = "
                           "'VALID'")},
  });
}

Status add_max_pool_grads(OpRegistry& ops) {
  const std::string windows = " | ksize = {1, 2, 2, 1}, strides = {1, 1, 1, 1}, padding = 'VALID'";
  const std::string outputs = ", [[[[4] [5]] [[8] [7]]]], ";
  const std::string of_outputs = "[[[[1] [2]] [[3] [4]]]]";
  const std::string to_images = " -> [[[[0] [0] [2]] [[0] [1] [0]] [[3] [4] [0]]]]";
  const std::string of_images = "[[[[1] [2] [3]] [[4] [5] [6]] [[7] [8] [9]]]]";
  const std::string to_outputs = " -> [[[[5] [3]] [[7] [8]]]]";
  MR_TRY(ops.add({
      .name = "MaxPoolGrad",
      .doc = "The gradient of MaxPool: grad goes to the first of the largest of each window.",
      .signature = str_cat("orig_input: T, orig_output: T, grad: T -> output: T | ", kSizes,
                           kAnyPadding, kFormat, "T: real = float"),
      .infer = infer_as_images,
      .cpu = giving_kernel<Gate::none>(),
      .grad = grad::max_pool_grad,
      .cost = Cost::heavy,
      .examples = {str_cat(kImages, outputs, of_outputs, to_images, windows)},
  }));
  MR_TRY(ops.add({
      .name = "MaxPoolGradV2",
      .doc = "The gradient of MaxPoolV2 by its input.",
      .signature = str_cat("orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 "
                           "-> output: T | ",
                           kPadding, kFormat, "T: real = float"),
      .infer = infer_as_images,
      .cpu = giving_kernel<Gate::none>(),
      .grad = grad::max_pool_grad,
      .cost = Cost::heavy,
      .examples = {str_cat(kImages, outputs, of_outputs, ", [1 2 2 1], [1 1 1 1]", to_images,
                           " | padding = 'VALID'")},
  }));
  MR_TRY(ops.add({
      .name = "_MaxPoolReluGrad",
      .doc = "MaxPoolGrad and then ReluGrad by the same images: what goes to one that is not "
             "positive is lost. The planner writes it instead of the two.",
      .signature = str_cat("orig_input: T, orig_output: T, grad: T -> output: T | ", kSizes,
                           kAnyPadding, kFormat, "T: real = float"),
      .infer = infer_as_images,
      .cpu = giving_kernel<Gate::positive>(),
      .not_differentiable = "it is written where gradients have been made already",
      .cost = Cost::heavy,
      .examples =
          {str_cat(kImages, outputs, of_outputs, to_images, windows),
           "[[[[0 2] [0 0]]]], [[[[0 2]]]], [[[[5 6]]]] -> [[[[0 6] [0 0]]]] | ksize = {1, 1, 2, "
           "1}, strides = {1, 1, 2, 1}, padding = 'VALID'"},
  }));
  MR_TRY(ops.add({
      .name = "MaxPoolGradGrad",
      .doc = "The gradient of MaxPoolGrad by its grad: what stands where each window is largest.",
      .signature = str_cat("orig_input: T, orig_output: T, grad: T -> output: T | ", kSizes,
                           kPadding, kFormat, "T: real"),
      .infer = infer_as_output,
      .cpu = gathering_kernel(),
      .grad = grad::max_pool_grad_grad,
      .cost = Cost::heavy,
      .examples = {str_cat(kImages, outputs, of_images, to_outputs, windows)},
  }));
  return ops.add({
      .name = "MaxPoolGradGradV2",
      .doc = "The gradient of MaxPoolGradV2 by its grad.",
      .signature = str_cat("orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 "
                           "-> output: T | ",
                           kPadding, kFormat, "T: real"),
      .infer = infer_as_output,
      .cpu = gathering_kernel(),
      .grad = grad::max_pool_grad_grad,
      .cost = Cost::heavy,
      .examples = {str_cat(kImages, outputs, of_images, ", [1 2 2 1], [1 1 1 1]", to_outputs,
                           " | padding = 'VALID'")},
  });
}

// --- volumes ---

// What arrives at an output goes to every element of its window that is as large: over images it is
// the first alone, but TensorFlow's volumes have it so.
void scatter_to_equals(const PoolShape& pool, int64_t row, const float* volume, const float* pooled,
                       const float* moved, float* result) {
  const int64_t channels = pool.channels, width = pool.slides.x.out;
  pooled += row * width * channels;
  moved += row * width * channels;
  const auto windows = windows_of_row(pool.slides, row);
  for (int64_t ox = 0; ox < width; ++ox, pooled += channels, moved += channels) {
    each_place(windows[ox], [&](int64_t pixel) {
      for (int64_t c = 0; c < channels; ++c)
        if (volume[pixel * channels + c] == pooled[c]) result[pixel * channels + c] += moved[c];
    });
  }
}

// In float: each of the two types may be a narrow one.
Status volume_max_pool_grad(KernelContext& context, const Windows& windows) {
  const CancelProbe whole(context);
  MR_ASSIGN(const PoolShape pool, pool_of(windows, context.input(0).shape()));
  MR_TRY(check_pooled(windows, pool, context.input(1).shape(), "orig_output"));
  MR_TRY(check_pooled(windows, pool, context.input(2).shape(), "grad"));
  Tensor inputs[3];
  for (int slot = 0; slot < 3; ++slot) {
    MR_ASSIGN(const Tensor wide, widened(context.input(slot), whole));
    MR_ASSIGN(inputs[slot], channels_last(windows, wide, context));
  }
  MR_ASSIGN(Tensor result, Tensor::zeros(DType::f32, inputs[0].shape()));
  const int64_t rows = pool.slides.rows_out();
  const auto* volumes = inputs[0].flat<float>().data();
  if (inputs[2].num_elements() > 0) {
    MR_TRY(share_range(context, pool.batch, pool.row_cost() * rows,
                       [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                         for (int64_t at = begin * rows; at < end * rows; ++at) {
                           const int64_t image = at / rows * pool.image_elements();
                           const int64_t output = at / rows * pool.output_elements();
                           scatter_to_equals(pool, at % rows, volumes + image,
                                             inputs[1].flat<float>().data() + output,
                                             inputs[2].flat<float>().data() + output,
                                             result.mutable_flat<float>().data() + image);
                           if (!probe.go_on(pool.row_cost())) return probe.status();
                         }
                         return {};
                       }));
  }
  MR_ASSIGN(result, narrowed(result, context.output_dtype(0), whole));
  return context.set_output(0, in_format(windows, result, context));
}

constexpr std::string_view kVolumeWindows =
    "ksize: list(int) >= 5, strides: list(int) >= 5, padding: {'SAME', 'VALID'}, data_format: "
    "{'NDHWC', 'NCDHW'} = 'NDHWC', ";

Status add_volume_max_pools(OpRegistry& ops) {
  const std::string windows =
      " | ksize = {1, 2, 1, 2, 1}, strides = {1, 1, 1, 1, 1}, padding = 'VALID'";
  const std::string volumes = "[[[[[1] [2] [5]]] [[[3] [4] [0]]]]]";
  const auto loop = cpu::loop_of_input<cpu::Real>([]<class T>() { return &max_row<T>; });
  MR_TRY(ops.add({
      .name = "MaxPool3D",
      .doc = "The largest of each window over volumes.",
      .signature =
          str_cat("input: T -> output: T | ", kVolumeWindows, "T: {half, bfloat16, float}"),
      .infer = [](InferContext& context) { return infer_pool(context, 0); },
      .cpu = kernel_with(max_pool, loop, BoundWindows{}),
      .grad = grad::volume_max_pool,
      .cost = Cost::heavy,
      .examples = {volumes + " -> [[[[[4] [5]]]]]" + windows,
                   "[[[[[1 2 5]]] [[[3 4 0]]]]] -> [[[[[2 5]]] [[[4 0]]]]] | ksize = {1, 1, 1, 1, "
                   "2}, strides = {1, 1, 1, 1, 2}, padding = 'SAME', data_format = 'NCDHW'"},
  }));
  MR_TRY(ops.add({
      .name = "MaxPool3DGrad",
      .doc = "The gradient of MaxPool3D: grad goes to all of the largest of each window.",
      .signature = str_cat("orig_input: TInput, orig_output: TInput, grad: T -> output: T | ",
                           kVolumeWindows,
                           "T: {half, bfloat16, float} = float, TInput: {half, "
                           "bfloat16, float} = float"),
      .infer = infer_as_images,
      .cpu = kernel_with(volume_max_pool_grad, BoundWindows{}),
      .grad = grad::volume_max_pool_grad,
      .cost = Cost::heavy,
      .examples = {volumes +
                   ", [[[[[4] [5]]]]], [[[[[7] [8]]]]] -> [[[[[0] [0] [8]]] [[[0] [7] "
                   "[0]]]]]" +
                   windows},
  }));
  return ops.add({
      .name = "MaxPool3DGradGrad",
      .doc = "The gradient of MaxPool3DGrad by its grad: what stands where each window is largest.",
      .signature = str_cat("orig_input: T, orig_output: T, grad: T -> output: T | ", kVolumeWindows,
                           "T: real"),
      .infer = infer_as_output,
      .cpu = gathering_kernel(),
      .grad = grad::volume_max_pool_grad_grad,
      .cost = Cost::heavy,
      .examples = {volumes +
                   ", [[[[[4] [5]]]]], [[[[[1] [2] [3]]] [[[4] [5] [6]]]]] -> [[[[[5] "
                   "[3]]]]]" +
                   windows},
  });
}

}  // namespace

Status register_max_pools(OpRegistry& ops) {
  MR_TRY(add_max_pools(ops));
  MR_TRY(add_max_pool_grads(ops));
  return add_volume_max_pools(ops);
}

}  // namespace millrace
