// Part of families.h: register_convolutions.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/nn/convolution_shape.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

using onednn::Direction;

struct Kind {
  Filter filter;
  Direction direction;
};

// That outputs which came as an input are those that the shapes make.
Status check_outputs(std::string_view op, const Windows& windows, const ConvolutionShape& shape,
                     const Shape& outputs) {
  MR_TRY(check_four_axes(outputs, "out_backprop"));
  if (outputs.dim(0) != shape.batch) {
    return invalid(op, ": input and out_backprop must have the same batch size. Input batch: ",
                   shape.batch, ", outbackprop batch: ", outputs.dim(0));
  }
  if (outputs.dim(windows.channels()) != shape.outputs) {
    return invalid(op, ": filter and out_backprop must have the same out_depth, but they have ",
                   shape.outputs, " and ", outputs.dim(windows.channels()));
  }
  for (const int n : {0, 1}) {
    const Slide& slide = n == 0 ? shape.slides.y : shape.slides.x;
    const int64_t actual = outputs.dim(windows.spatial(n));
    if (actual == slide.out) continue;
    return invalid(op, ": Size of out_backprop doesn't match computed: actual = ", actual,
                   ", computed = ", slide.out, " spatial_dim: ", windows.spatial(n),
                   " input: ", slide.in, " filter: ", slide.window, " output: ", actual,
                   " stride: ", slide.stride, " dilation: ", slide.dilation);
  }
  return {};
}

// input_sizes may leave out what the other inputs say: height and width are enough.
Result<std::vector<int64_t>> whole_sizes(std::string_view op, std::vector<int64_t> sizes,
                                         const Windows& windows, int64_t batch, int64_t channels) {
  if (sizes.size() == 4) return sizes;
  if (sizes.size() != 2) {
    return invalid(
        op, " requires input_sizes to contain 4 values or 2 values, but got: ", sizes.size());
  }
  const auto dims = image_dims(windows, batch, sizes[0], sizes[1], channels);
  return std::vector<int64_t>(dims.begin(), dims.end());
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(Kind kind, Windows windows)
      : kind_(kind), windows_(std::move(windows)), convolver_(kind.direction) {}

  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape images, images_shape(context));
    MR_ASSIGN(const Shape filter, filter_shape(context));
    MR_ASSIGN(const ConvolutionShape shape, convolution_of(windows_, kind_.filter, images, filter));
    MR_ASSIGN(const Shape outputs, output_shape(windows_, shape));
    if (kind_.direction != Direction::forward)
      MR_TRY(check_outputs(op_, windows_, shape, context.input(2).shape()));
    const DType wide = wide_type(context.output_dtype(0));
    MR_ASSIGN(Tensor x, operand(context, Direction::by_images, wide, shape, images));
    MR_ASSIGN(Tensor w, operand(context, Direction::by_filter, wide, shape, filter));
    MR_ASSIGN(Tensor y, operand(context, Direction::forward, wide, shape, outputs));
    MR_TRY(convolver_.run(context, shape, {x, w, y}));
    const Tensor& made = kind_.direction == Direction::forward     ? y
                         : kind_.direction == Direction::by_images ? x
                                                                   : w;
    MR_ASSIGN(Tensor result, narrowed(made, context.output_dtype(0), CancelProbe(context)));
    if (kind_.direction != Direction::by_filter)
      return context.set_output(0, in_format(windows_, result, context));
    context.set_output(0, std::move(result));
    return {};
  }

 private:
  static std::string_view name_of(Kind kind) {
    static constexpr std::string_view kNames[][3] = {
        {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
        {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
         "DepthwiseConv2dNativeBackpropFilter"}};
    return kNames[static_cast<int>(kind.filter)][static_cast<int>(kind.direction)];
  }

  Result<Shape> images_shape(KernelContext& context) const {
    if (kind_.direction != Direction::by_images) return context.input(0).shape();
    if (context.input(0).shape().rank() != 1) {
      return invalid(op_, ": input_sizes input must be 1-dim, not ",
                     context.input(0).shape().rank());
    }
    MR_ASSIGN(std::vector<int64_t> sizes, read_integers(context.input(0), "input_sizes"));
    const Shape& filter = context.input(1).shape();
    const Shape& outputs = context.input(2).shape();
    MR_TRY(check_four_axes(filter, "filter"));
    MR_TRY(check_four_axes(outputs, "out_backprop"));
    MR_ASSIGN(sizes, whole_sizes(op_, std::move(sizes), windows_, outputs.dim(0), filter.dim(2)));
    return Shape::create(sizes);
  }

  Result<Shape> filter_shape(KernelContext& context) const {
    if (kind_.direction != Direction::by_filter) return context.input(1).shape();
    if (context.input(1).shape().rank() != 1) {
      return invalid(op_, ": filter_sizes input must be 1-dim, not ",
                     context.input(1).shape().rank());
    }
    return read_shape(context.input(1), "filter_sizes");
  }

  // The tensor that `direction` would make: an input in the type and order that is computed in, or
  // room for what this kernel makes. Shapes are those of the node's format.
  Result<Tensor> operand(KernelContext& context, Direction direction, DType wide,
                         const ConvolutionShape& shape, const Shape& said) const {
    if (direction == kind_.direction) {
      if (direction == Direction::by_filter) return Tensor::allocate(wide, said);
      const bool forward = direction == Direction::forward;
      const Slides& s = shape.slides;
      MR_ASSIGN(const Shape rows,
                forward ? Shape::create(std::array{shape.batch, s.y.out, s.x.out, shape.outputs})
                        : Shape::create(std::array{shape.batch, s.y.in, s.x.in, shape.channels}));
      return Tensor::allocate(wide, rows);
    }
    const int slot = direction == Direction::by_images   ? 0
                     : direction == Direction::by_filter ? 1
                                                         : 2;
    MR_ASSIGN(Tensor made, widened(context.input(slot), CancelProbe(context)));
    if (direction == Direction::by_filter) return made;
    return channels_last(windows_, made, context);
  }

  const Kind kind_;
  const Windows windows_;
  const std::string_view op_ = name_of(kind_);
  Convolver convolver_;
};

struct BoundKind {
  Kind kind;
  Result<Kind> read(const KernelSpec&) const { return kind; }
};

KernelFactory convolution_kernel(Kind kind) {
  return kernel_from<ConvolutionKernel>(BoundKind{kind}, BoundWindows{});
}

// --- shapes ---

Status infer_by_images(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  MR_ASSIGN(const PartialShape filter, context.input_of_rank(1, 4));
  MR_ASSIGN(const PartialShape outputs, context.input_of_rank(2, 4));
  MR_ASSIGN(auto sizes, constant_integers(context, 0, "input_sizes"));
  if (!sizes) {
    context.set_output(0, PartialShape::of_rank(4));
    return {};
  }
  MR_ASSIGN(*sizes, whole_sizes(context.attrs().op().name, *std::move(sizes), windows,
                                outputs.dim(0), filter.dim(2)));
  return context.set_output(0, PartialShape::create(*sizes));
}

Status infer_by_filter(InferContext& context) {
  MR_TRY(Windows::of(context.attrs()));
  MR_TRY(context.input_of_rank(0, 4));
  MR_TRY(context.input_of_rank(2, 4));
  MR_ASSIGN(const auto sizes, constant_integers(context, 1, "filter_sizes"));
  if (!sizes) {
    context.set_output(0, PartialShape::of_rank(4));
    return {};
  }
  MR_ASSIGN(const PartialShape filter, PartialShape::create(*sizes));
  if (filter.rank() != 4)
    return invalid("filter_sizes must have 4 elements, not ", filter.to_string());
  context.set_output(0, filter);
  return {};
}

constexpr std::string_view kWindowAttrs =
    "strides: list(int), padding: {'SAME', 'VALID', 'EXPLICIT'}, explicit_paddings: list(int) = "
    "{}, data_format: {'NHWC', 'NCHW'} = 'NHWC', dilations: list(int) = {1, 1, 1, 1}";

Status add_depthwise(OpRegistry& ops) {
  const std::string attrs = str_cat(" | T: floating, ", kWindowAttrs);
  MR_TRY(ops.add({
      .name = "DepthwiseConv2dNative",
      .doc = "Convolves each channel of images with filters of its own; filter is [height, width, "
             "channels, outputs of each channel].",
      .signature = "input: T, filter: T -> output: T" + attrs,
      .infer = infer_convolution(Filter::depthwise),
      .cpu = convolution_kernel({Filter::depthwise, Direction::forward}),
      .grad = grad::depthwise,
      .cost = Cost::heavy,
      .examples = {"[[[[1 2] [3 4]]]], [[[[1 2] [3 4]]]] -> [[[[1 2 6 8] [3 6 12 16]]]] | strides "
                   "= {1, 1, 1, 1}, padding = 'VALID'",
                   "[[[[1 2] [3 4] [5 6]]]], [[[[1] [2]] [[3] [4]]]] -> [[[[10 20] [18 32] [5 "
                   "12]]]] | strides = {1, 1, 1, 1}, padding = 'SAME'"},
  }));
  MR_TRY(ops.add({
      .name = "DepthwiseConv2dNativeBackpropInput",
      .doc = "The gradient of DepthwiseConv2dNative by its images, of the shape input_sizes.",
      .signature = "input_sizes: int32, filter: T, out_backprop: T -> output: T" + attrs,
      .infer = infer_by_images,
      .cpu = convolution_kernel({Filter::depthwise, Direction::by_images}),
      .grad = grad::depthwise_by_images,
      .cost = Cost::heavy,
      .examples = {"[1 1 2 2], [[[[1 2] [3 4]]]], [[[[1 1 1 1] [1 0 0 1]]]] -> [[[[3 7] [1 4]]]] | "
                   "strides = {1, 1, 1, 1}, padding = 'VALID'"},
  }));
  return ops.add({
      .name = "DepthwiseConv2dNativeBackpropFilter",
      .doc = "The gradient of DepthwiseConv2dNative by its filter, of the shape filter_sizes.",
      .signature = "input: T, filter_sizes: int32, out_backprop: T -> output: T" + attrs,
      .infer = infer_by_filter,
      .cpu = convolution_kernel({Filter::depthwise, Direction::by_filter}),
      .grad = grad::depthwise_by_filter,
      .cost = Cost::heavy,
      .examples = {"[[[[1 2] [3 4]]]], [1 1 2 2], [[[[1 1 1 1] [1 0 0 1]]]] -> [[[[4 1] [2 6]]]] | "
                   "strides = {1, 1, 1, 1}, padding = 'VALID'"},
  });
}

}  // namespace

Status register_convolutions(OpRegistry& ops) {
  const auto attrs = [](std::string_view types) {
    return str_cat(" | T: ", types, ", use_cudnn_on_gpu: bool = true, ", kWindowAttrs);
  };
  constexpr std::string_view kTypes = "{half, bfloat16, float, double, int32}";
  MR_TRY(ops.add({
      .name = "Conv2D",
      .doc = "Moves filters over images and sums the products; filter is [height, width, channels, "
             "outputs].",
      .signature = "input: T, filter: T -> output: T" + attrs(kTypes),
      .infer = infer_convolution(Filter::ordinary),
      .cpu = convolution_kernel({Filter::ordinary, Direction::forward}),
      .grad = grad::convolution,
      .cost = Cost::heavy,
      .examples =
          {"[[[[1] [2]] [[3] [4]]]], [[[[1 2]]]] -> [[[[1 2] [2 4]] [[3 6] [4 8]]]] | strides = "
           "{1, 1, 1, 1}, padding = 'VALID'",
           "[[[[1] [2] [3]] [[4] [5] [6]] [[7] [8] [9]]]], [[[[1]] [[2]]] [[[3]] [[4]]]] -> "
           "[[[[37] [21]] [[23] [9]]]] | strides = {1, 2, 2, 1}, padding = 'SAME'",
           "[[[[1 2 3] [4 5 6]]]], [[[[1]] [[2]]]] -> [[[[0 0 0 0] [2 5 8 3] [8 14 17 6]]]] | "
           "strides = {1, 1, 1, 1}, padding = 'EXPLICIT', explicit_paddings = {0, 0, 0, 0, 1, 0, "
           "1, 1}, data_format = 'NCHW'",
           "[[[[1 2] [3 4] [5 6]]]], [[[[1 2]] [[3 4]]]] -> [[[[16 28]]]] | strides = {1, 1, 1, "
           "1}, padding = 'VALID', dilations = {1, 1, 2, 1}"},
  }));
  MR_TRY(ops.add({
      .name = "Conv2DBackpropInput",
      .doc = "The gradient of Conv2D by its images, of the shape input_sizes.",
      .signature = "input_sizes: int32, filter: T, out_backprop: T -> output: T" + attrs(kTypes),
      .infer = infer_by_images,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_images}),
      .grad = grad::convolution_by_images,
      .cost = Cost::heavy,
      .examples = {"[1 2 2 1], [[[[1 2]]]], [[[[1 1] [1 0]] [[0 1] [2 2]]]] -> [[[[3] [1]] [[2] "
                   "[6]]]] | strides = {1, 1, 1, 1}, padding = 'VALID'",
                   "[1 3], [[[[1]] [[2]]]], [[[[1] [10]]]] -> [[[[1] [2] [10]]]] | strides = {1, "
                   "2, 2, 1}, padding = 'SAME'"},
  }));
  MR_TRY(ops.add({
      .name = "Conv2DBackpropFilter",
      .doc = "The gradient of Conv2D by its filter, of the shape filter_sizes.",
      .signature = "input: T, filter_sizes: int32, out_backprop: T -> output: T" +
                   attrs("{half, bfloat16, float, double}"),
      .infer = infer_by_filter,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_filter}),
      .grad = grad::convolution_by_filter,
      .cost = Cost::heavy,
      .examples = {"[[[[1] [2]] [[3] [4]]]], [1 1 1 2], [[[[1 1] [1 0]] [[0 1] [2 2]]]] -> [[[[11 "
                   "12]]]] | strides = {1, 1, 1, 1}, padding = 'VALID'",
                   "[[[[1] [2] [3]]]], [1 2 1 1], [[[[1] [10]]]] -> [[[[31]] [[2]]]] | strides = "
                   "{1, 2, 2, 1}, padding = 'SAME'"},
  }));
  return add_depthwise(ops);
}

}  // namespace millrace
