// Part of families.h: register_batched_convolutions.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/nn/convolution_shape.h"
#include "millrace/ops/nn/families.h"

namespace millrace {
namespace {

// How many axes in front are the batch; the others are as windows know them.
Result<int> batch_axes(const Windows& windows, int64_t batch_dims, int rank) {
  if (batch_dims >= 0 && rank - (windows.axes() - 1) == batch_dims)
    return static_cast<int>(batch_dims);
  return invalid(windows.op(), ": input must have ", windows.axes() - 1,
                 " axes behind its batch_dims = ", batch_dims, ", which is not negative, but has ",
                 rank, " in all");
}

// With the first `axes` of them as one.
Result<Shape> with_one_batch(const Shape& shape, int axes) {
  std::vector<int64_t> dims = {1};
  for (int axis = 0; axis < axes; ++axis) {
    if (!__builtin_mul_overflow(dims[0], shape.dim(axis), dims.data())) continue;
    return invalid("a batch of ", shape.to_string(), " is too large");
  }
  for (int axis = axes; axis < shape.rank(); ++axis) dims.push_back(shape.dim(axis));
  return Shape::create(dims);
}

class BatchedConvolution final : public Kernel {
 public:
  BatchedConvolution(Windows windows, int64_t batch_dims, int64_t groups)
      : windows_(std::move(windows)), batch_dims_(batch_dims), groups_(groups) {}

  Status run(KernelContext& context) override {
    const CancelProbe probe(context);
    const Tensor& input = context.input(0);
    MR_ASSIGN(const int leading, batch_axes(windows_, batch_dims_, input.shape().rank()));
    MR_ASSIGN(const Shape one_batch, with_one_batch(input.shape(), leading));
    MR_ASSIGN(Tensor images, input.reshaped(one_batch));
    MR_ASSIGN(const ConvolutionShape shape,
              convolution_of(windows_, Filter::ordinary, one_batch, context.input(1).shape()));
    if (shape.groups != groups_) {
      return invalid(windows_.op(),
                     ": Input depth must be equal to filter depth times groups: ", shape.channels,
                     " vs ", shape.group_channels(), " times ", groups_);
    }
    MR_ASSIGN(images, widened(images, probe));
    MR_ASSIGN(images, channels_last(windows_, images, context));
    MR_ASSIGN(Tensor filter, widened(context.input(1), probe));
    MR_ASSIGN(const Shape rows,
              rows_shape(windows_, shape.batch, shape.slides, Side::out, shape.outputs));
    MR_ASSIGN(Tensor made, Tensor::allocate(images.dtype(), rows));
    MR_TRY(convolver_.run(context, shape, {images, filter, made}));
    MR_ASSIGN(made, narrowed(made, context.output_dtype(0), probe));
    MR_ASSIGN(made, in_format(windows_, made, context));
    const auto batch = input.shape().dims().first(static_cast<size_t>(leading));
    std::vector<int64_t> dims(batch.begin(), batch.end());
    const auto image = made.shape().dims().subspan(1);
    dims.insert(dims.end(), image.begin(), image.end());
    MR_ASSIGN(const Shape whole, Shape::create(dims));
    return context.set_output(0, made.reshaped(whole));
  }

 private:
  const Windows windows_;
  const int64_t batch_dims_, groups_;
  Convolver convolver_{onednn::Direction::forward};
};

Status infer_batched_convolution(InferContext& context) {
  const Result<Windows> known = Windows::of(context.attrs());
  if (known.status().code() == Code::unimplemented) return {};  // the kernel says so
  MR_ASSIGN(const Windows windows, known);
  MR_ASSIGN(const int64_t batch_dims, context.attrs().integer("batch_dims"));
  const PartialShape& input = context.input(0);
  MR_ASSIGN(const PartialShape filter, context.input_of_rank(1, windows.axes()));
  if (!input.has_rank()) return {};
  MR_ASSIGN(const int leading, batch_axes(windows, batch_dims, input.rank()));
  std::vector<int64_t> image(input.dims().begin() + leading, input.dims().end());
  image.insert(image.begin(), kUnknownDim);
  MR_ASSIGN(const PartialShape images, PartialShape::create(image));
  MR_ASSIGN(const std::vector<int64_t> made,
            convolved_dims(windows, Filter::ordinary, images, filter));
  std::vector<int64_t> dims(input.dims().begin(), input.dims().begin() + leading);
  dims.insert(dims.end(), made.begin() + 1, made.end());
  return context.set_output(0, PartialShape::create(dims));
}

}  // namespace

Status register_batched_convolutions(OpRegistry& ops) {
  return ops.add({
      .name = "Conv",
      .doc = "Moves filters over images, or over volumes if strides has five entries, and sums the "
             "products; filter is [(depth,) height, width, channels, outputs]. The first "
             "batch_dims axes of the input are its batch. A filter may have a share of the "
             "channels, if groups says how many shares there are.",
      .signature = "input: T, filter: T -> output: T | T: {half, bfloat16, float, double, int32}, "
                   "strides: list(int), padding: {'SAME', 'VALID', 'EXPLICIT'}, "
                   "explicit_paddings: list(int) = {}, "
                   "data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST', "
                   "dilations: list(int) = {}, batch_dims: int = 1, groups: int = 1",
      .infer = infer_batched_convolution,
      .cpu =
          kernel_from<BatchedConvolution>(BoundWindows{}, integer("batch_dims"), integer("groups")),
      .not_differentiable = "it has no gradient in TensorFlow; Conv2D and Conv3D have",
      .cost = Cost::heavy,
      .examples = {str_cat(
                       "[[[[1] [2]] [[3] [4]]]], [[[[1 2]]]] -> [[[[1 2] [2 4]] [[3 6] [4 8]]]]",
                       " | strides = {1, 1, 1, 1}, padding = 'VALID'"),
                   str_cat("[[[[[1] [2]]] [[[3] [4]]]]], [[[[[1]]]] [[[[2]]]]] -> [[[[[7] [10]]]]]",
                           " | strides = {1, 1, 1, 1, 1}, padding = 'VALID'"),
                   str_cat("[[[[[1 2]]]] [[[[3 4]]]]], [[[[10] [1]]]] -> [[[[[12]]]] [[[[34]]]]]",
                           " | strides = {1, 1, 1, 1}, padding = 'VALID', batch_dims = 2"),
                   str_cat("[[[1 2]]], [[[[10 1]]]] -> [[[10 2]]] | strides = {1, 1, 1, 1}",
                           ", padding = 'VALID', batch_dims = 0, groups = 2"),
                   str_cat("[[[[1 2 3]]]], [[[[1]] [[10]]]] -> [[[[0 10 21 32 3] [0 0 0 0 0]]]]",
                           " | strides = {1, 1, 1, 1}, padding = 'EXPLICIT'",
                           ", explicit_paddings = {0, 0, 0, 0, 0, 1, 2, 1}",
                           ", data_format = 'CHANNELS_FIRST'")},
  });
}

}  // namespace millrace
