// Part of families.h: register_fractional_pool_gradients.
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/fractional_windows.h"

namespace millrace {
namespace {

Result<std::vector<int64_t>> read_cuts(const Tensor& tensor, std::string_view name) {
  if (tensor.shape().rank() != 1) {
    return invalid(name == "Row" ? "row" : "col", "_pooling_sequence must be a vector, received ",
                   "shape ", tensor.shape().to_string());
  }
  MR_ASSIGN(std::vector<int64_t> cuts, read_elements(tensor, name));
  for (size_t i = 0; i < cuts.size(); ++i) {
    if (cuts[i] < 0) {
      return invalid(name, " sequence tensor values must not be negative, got ", cuts[i],
                     " at place ", i);
    }
  }
  return cuts;
}

// As many windows as gradients arrived at; TensorFlow's clients may give more. Each must have an
// element, so that what arrives at it goes somewhere.
Result<CutAxis> axis_of(std::vector<int64_t> cuts, int64_t length, const Shape& arriving, int axis,
                        bool overlapping) {
  const std::string_view name = axis == 1 ? "row" : "col";
  const int64_t windows = arriving.dim(axis);
  if (static_cast<int64_t>(cuts.size()) < windows + 1) {
    return invalid("Given out_backprop shape ", arriving.to_string(), ", ", name,
                   "_seq_tensor must have at least ", windows + 1, " elements, but got ",
                   cuts.size());
  }
  cuts.resize(static_cast<size_t>(windows + 1));
  CutAxis made{length, std::move(cuts), overlapping};
  for (int64_t i = 0; i < windows; ++i) {
    if (made.begin(i) < made.end(i)) continue;
    return invalid(name, "_pooling_sequence leaves window ", i, " from ", made.begin(i),
                   " without an element of the ", length, " that there are");
  }
  return made;
}

// From the inputs `slot` and `slot + 1` on, for images of a shape.
Result<CutImages> read_cut_images(KernelContext& context, int slot, const Shape& images,
                                  const Shape& arriving, bool overlapping) {
  MR_ASSIGN(std::vector<int64_t> rows, read_cuts(context.input(slot), "Row"));
  MR_ASSIGN(std::vector<int64_t> columns, read_cuts(context.input(slot + 1), "Column"));
  if (images.rank() != 4 || arriving.rank() != 4) {
    return invalid("images and what arrived must be 4-dimensional, not of shapes ",
                   images.to_string(), " and ", arriving.to_string());
  }
  if (images.dim(0) != arriving.dim(0) || images.dim(3) != arriving.dim(3)) {
    return invalid("images of shape ", images.to_string(), " can't have been pooled to ",
                   arriving.to_string(), ": their batches or channels differ");
  }
  CutImages made{.batch = images.dim(0), .channels = images.dim(3)};
  MR_ASSIGN(made.rows, axis_of(std::move(rows), images.dim(1), arriving, 1, overlapping));
  MR_ASSIGN(made.columns, axis_of(std::move(columns), images.dim(2), arriving, 2, overlapping));
  return made;
}

using SpreadLoop = Status (*)(KernelContext&, const CutImages&, Tensor& made);

// What arrives at a window goes to its largest element.
template <class T>
Status spread_to_largest(KernelContext& context, const CutImages& cut, Tensor& made) {
  MR_ASSIGN(const Tensor places, places_of_largest<T>(cut, context.input(0), CancelProbe(context)));
  const auto images = context.input(0).flat<T>(), pooled = context.input(1).flat<T>();
  const auto arriving = context.input(2).flat<T>();
  const auto to = made.mutable_flat<T>();
  for (size_t i = 0; i < pooled.size(); ++i) {
    const auto at = static_cast<size_t>(places.flat<int64_t>()[i]);
    const T value = images[at];
    if (value != pooled[i] && value == value) {
      return invalid(
          "tensor_out_dup is not the same as tensor_out: orig_output is not what "
          "orig_input is pooled to");
    }
    to[at] = cpu::add(to[at], arriving[i]);
  }
  return {};
}

template <class T>
T from_double(double x) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (x >= static_cast<double>(Limits::max())) return Limits::max();
    if (x <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  }
  return static_cast<T>(x);
}

// It goes to all its elements alike; summed in doubles.
template <class T>
Status spread_to_all(KernelContext& context, const CutImages& cut, Tensor& made) {
  const auto arriving = context.input(1).flat<T>();
  MR_ASSIGN(Tensor total, Tensor::zeros(DType::f64, made.shape()));
  double* const sums = total.mutable_flat<double>().data();
  MR_TRY(cut.each_pixel(CancelProbe(context), [&](int64_t window, int64_t pixel) {
    const auto number = static_cast<double>(cut.pixels_of(window));
    for (int64_t c = 0; c < cut.channels; ++c) {
      sums[pixel * cut.channels + c] +=
          static_cast<double>(arriving[static_cast<size_t>(window * cut.channels + c)]) / number;
    }
  }));
  T* to = made.mutable_flat<T>().data();
  for (const double sum : total.flat<double>()) *to++ = from_double<T>(sum);
  return {};
}

Result<Tensor> fractional_max_pool_grad(KernelContext& context, SpreadLoop spread,
                                        bool overlapping) {
  const Shape& images = context.input(0).shape();
  const Shape& arriving = context.input(2).shape();
  MR_ASSIGN(const CutImages cut, read_cut_images(context, 3, images, arriving, overlapping));
  if (context.input(1).shape() != arriving) {
    return invalid("orig_output and out_backprop must have one shape, not ",
                   context.input(1).shape().to_string(), " and ", arriving.to_string());
  }
  MR_ASSIGN(Tensor made, Tensor::zeros(context.output_dtype(0), images));
  MR_TRY(spread(context, cut, made));
  return made;
}

Result<Tensor> fractional_avg_pool_grad(KernelContext& context, SpreadLoop spread,
                                        bool overlapping) {
  const Tensor& dims = context.input(0);
  if (dims.shape() != Shape{4}) {
    return invalid("original input tensor shape must be1-dimensional and 4 elements, not of shape ",
                   dims.shape().to_string());
  }
  MR_ASSIGN(const Shape images, read_shape(dims, "orig_input_tensor_shape"));
  MR_ASSIGN(const CutImages cut,
            read_cut_images(context, 2, images, context.input(1).shape(), overlapping));
  MR_ASSIGN(Tensor made, Tensor::zeros(context.output_dtype(0), images));
  MR_TRY(spread(context, cut, made));
  return made;
}

Status infer_fractional_max_pool_grad(InferContext& context) {
  return context.set_output(0, context.input_of_rank(0, 4));
}

Status infer_fractional_avg_pool_grad(InferContext& context) {
  if (const Tensor* dims = context.constant(0)) {
    MR_ASSIGN(const Shape images, read_shape(*dims, "orig_input_tensor_shape"));
    context.set_output(0, images);
  } else {
    context.set_output(0, PartialShape::of_rank(4));
  }
  return {};
}

constexpr std::string_view kFractionalTypes =
    " | T: {float, double, int32, int64}, overlapping: bool = false";
constexpr const char* kNoSecond = "it has no gradient in TensorFlow";

}  // namespace

Status register_fractional_pool_gradients(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "FractionalMaxPoolGrad",
      .doc = "The gradient of FractionalMaxPool: what arrives at a window goes to the first of its "
             "largest elements.",
      .signature = str_cat("orig_input: T, orig_output: T, out_backprop: T, "
                           "row_pooling_sequence: int64, col_pooling_sequence: int64 -> output: T",
                           kFractionalTypes),
      .infer = infer_fractional_max_pool_grad,
      .cpu = kernel_with(
          fractional_max_pool_grad,
          cpu::loop_of_input<FractionalTypes>([]<class T>() { return &spread_to_largest<T>; }),
          boolean("overlapping")),
      .not_differentiable = kNoSecond,
      .examples = {"[[[[1] [2] [3]] [[4] [6] [6]] [[7] [8] [9]]]], [[[[6] [6]] [[8] [9]]]], "
                   "[[[[10] [20]] [[30] [40]]]], [0 2 3], [0 2 3] -> "
                   "[[[[0] [0] [0]] [[0] [10] [20]] [[0] [30] [40]]]]",
                   "[[[[1] [2] [3]] [[4] [6] [6]] [[7] [8] [9]]]], [[[[9] [9]] [[9] [9]]]], "
                   "[[[[10] [20]] [[30] [40]]]], [0 2 3], [0 2 3] -> "
                   "[[[[0] [0] [0]] [[0] [0] [0]] [[0] [0] [100]]]] | overlapping = true"},
  }));
  return ops.add({
      .name = "FractionalAvgPoolGrad",
      .doc = "The gradient of FractionalAvgPool: what arrives at a window goes to all its elements "
             "alike.",
      .signature = str_cat("orig_input_tensor_shape: int64, out_backprop: T, "
                           "row_pooling_sequence: int64, col_pooling_sequence: int64 -> output: T",
                           kFractionalTypes),
      .infer = infer_fractional_avg_pool_grad,
      .cpu = kernel_with(
          fractional_avg_pool_grad,
          cpu::loop_of_output<FractionalTypes>([]<class T>() { return &spread_to_all<T>; }),
          boolean("overlapping")),
      .not_differentiable = kNoSecond,
      .examples = {"[1 3 3 1], [[[[8] [4]] [[6] [5]]]], [0 2 3], [0 2 3] -> "
                   "[[[[2] [2] [2]] [[2] [2] [2]] [[3] [3] [5]]]]",
                   "[1 1 3 1], [[[[6] [4]]]], [0 1], [0 2 3] -> [[[[2] [2] [6]]]] | "
                   "overlapping = true"},
  });
}

}  // namespace millrace
