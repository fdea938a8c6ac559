// Part of families.h: register_convolutions.
#include <algorithm>

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

// How a gradient is told the shape of what it makes: its sizes, or the tensor itself.
enum class Told : uint8_t { sizes, tensor };

struct Kind {
  Filter filter;
  Direction direction;
  Told told = Told::sizes;
};

// That outputs which came as an input are those that the shapes make.
Status check_outputs(std::string_view op, const Windows& windows, const ConvolutionShape& shape,
                     const Shape& outputs) {
  MR_TRY(check_axes(windows, outputs, "out_backprop"));
  if (outputs.dim(0) != shape.batch) {
    return invalid(op, ": input and out_backprop must have the same batch size. Input batch: ",
                   shape.batch, ", outbackprop batch: ", outputs.dim(0));
  }
  if (outputs.dim(windows.channels()) != shape.outputs) {
    return invalid(op, ": filter and out_backprop must have the same out_depth, but they have ",
                   shape.outputs, " and ", outputs.dim(windows.channels()));
  }
  const Slide* const slides[] = {&shape.slides.z, &shape.slides.y, &shape.slides.x};
  for (int n = 0; n < windows.spatial_axes(); ++n) {
    const Slide& slide = *slides[3 - windows.spatial_axes() + n];
    const int64_t actual = outputs.dim(windows.spatial(n));
    if (actual == slide.out) continue;
    return invalid(op, ": Size of out_backprop doesn't match computed: actual = ", actual,
                   ", computed = ", slide.out, " spatial_dim: ", windows.spatial(n),
                   " input: ", slide.in, " filter: ", slide.window, " output: ", actual,
                   " stride: ", slide.stride, " dilation: ", slide.dilation);
  }
  return {};
}

// A filter of as many axes as images have that is empty for want of outputs alone.
bool makes_no_outputs(const Windows& windows, const Shape& filter) {
  const auto dims = filter.dims();
  return filter.rank() == windows.axes() && dims.back() == 0 && std::ranges::count(dims, 0) == 1;
}

// input_sizes may leave out what the other inputs say: height and width are enough.
Result<std::vector<int64_t>> whole_sizes(std::string_view op, std::vector<int64_t> sizes,
                                         const Windows& windows, int64_t batch, int64_t channels) {
  const auto axes = static_cast<size_t>(windows.axes());
  if (sizes.size() == axes) return sizes;
  if (sizes.size() != axes - 2) {
    return invalid(op, " requires input_sizes to contain ", axes, " values or ", axes - 2,
                   " values, but got: ", sizes.size());
  }
  return image_dims(windows, batch, sizes, channels);
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(Kind kind, Windows windows)
      : kind_(kind), windows_(std::move(windows)), convolver_(kind.direction) {}

  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape images, images_shape(context));
    MR_ASSIGN(const Shape filter, filter_shape(context));
    if (kind_.direction == Direction::by_filter && makes_no_outputs(windows_, filter))
      return context.set_output(0, Tensor::zeros(context.output_dtype(0), filter));
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
  Result<Shape> images_shape(KernelContext& context) const {
    if (kind_.direction != Direction::by_images || kind_.told == Told::tensor)
      return context.input(0).shape();
    if (context.input(0).shape().rank() != 1) {
      return invalid(op_, ": input_sizes input must be 1-dim, not ",
                     context.input(0).shape().rank());
    }
    MR_ASSIGN(std::vector<int64_t> sizes, read_integers(context.input(0), "input_sizes"));
    const Shape& filter = context.input(1).shape();
    const Shape& outputs = context.input(2).shape();
    MR_TRY(check_axes(windows_, filter, "filter"));
    MR_TRY(check_axes(windows_, outputs, "out_backprop"));
    MR_ASSIGN(sizes, whole_sizes(op_, std::move(sizes), windows_, outputs.dim(0),
                                 filter.dim(windows_.axes() - 2)));
    return Shape::create(sizes);
  }

  Result<Shape> filter_shape(KernelContext& context) const {
    if (kind_.direction != Direction::by_filter || kind_.told == Told::tensor)
      return context.input(1).shape();
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
      MR_ASSIGN(const Shape rows,
                rows_shape(windows_, shape.batch, shape.slides, forward ? Side::out : Side::in,
                           forward ? shape.outputs : shape.channels));
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
  const std::string_view op_ = windows_.op();
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
  MR_ASSIGN(const PartialShape filter, context.input_of_rank(1, windows.axes()));
  MR_ASSIGN(const PartialShape outputs, context.input_of_rank(2, windows.axes()));
  MR_ASSIGN(auto sizes, constant_integers(context, 0, "input_sizes"));
  if (!sizes) {
    context.set_output(0, PartialShape::of_rank(windows.axes()));
    return {};
  }
  MR_ASSIGN(const auto whole, whole_sizes(context.attrs().op().name, *std::move(sizes), windows,
                                          outputs.dim(0), filter.dim(windows.axes() - 2)));
  return context.set_output(0, PartialShape::create(whole));
}

Status infer_by_filter(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  MR_TRY(context.input_of_rank(0, windows.axes()));
  MR_TRY(context.input_of_rank(2, windows.axes()));
  MR_ASSIGN(const auto sizes, constant_integers(context, 1, "filter_sizes"));
  if (!sizes) {
    context.set_output(0, PartialShape::of_rank(windows.axes()));
    return {};
  }
  MR_ASSIGN(const PartialShape filter, PartialShape::create(*sizes));
  if (filter.rank() != windows.axes()) {
    return invalid("filter_sizes must have ", windows.axes(), " elements, not ",
                   filter.to_string());
  }
  context.set_output(0, filter);
  return {};
}

// Where input `slot` is a tensor of the shape of what is made.
template <int slot>
Status infer_told(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  for (const int other : {0, 1, 2}) MR_TRY(context.input_of_rank(other, windows.axes()));
  context.set_output(0, context.input(slot));
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

// The gradients that take the tensor whose gradient they are, and not its sizes.
Status add_told_by_tensors(OpRegistry& ops, const std::string& by_images_attrs,
                           const std::string& by_filter_attrs) {
  MR_TRY(ops.add({
      .name = "Conv2DBackpropInputV2",
      .doc = "The gradient of Conv2D by its images `input`, of which only the shape is looked at.",
      .signature = "input: T, filter: T, out_backprop: T -> output: T" + by_images_attrs,
      .infer = infer_told<0>,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_images, Told::tensor}),
      .grad = grad::convolution_by_images,
      .cost = Cost::heavy,
      .examples = {"[[[[0] [0]] [[0] [0]]]], [[[[1 2]]]], [[[[1 1] [1 0]] [[0 1] [2 2]]]] -> "
                   "[[[[3] [1]] [[2] [6]]]] | strides = {1, 1, 1, 1}, padding = 'VALID'"},
  }));
  return ops.add({
      .name = "Conv2DBackpropFilterV2",
      .doc = "The gradient of Conv2D by its filter, of which only the shape is looked at.",
      .signature = "input: T, filter: T, out_backprop: T -> output: T" + by_filter_attrs,
      .infer = infer_told<1>,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_filter, Told::tensor}),
      .grad = grad::convolution_by_filter,
      .cost = Cost::heavy,
      .examples = {"[[[[1] [2]] [[3] [4]]]], [[[[0 0]]]], [[[[1 1] [1 0]] [[0 1] [2 2]]]] -> "
                   "[[[[11 12]]]] | strides = {1, 1, 1, 1}, padding = 'VALID'"},
  });
}

// --- volumes ---

constexpr std::string_view kVolumeAttrs =
    ", strides: list(int) >= 5, padding: {'SAME', 'VALID'}, data_format: {'NDHWC', 'NCDHW'} = "
    "'NDHWC', dilations: list(int) = {1, 1, 1, 1, 1}";
constexpr std::string_view kOldVolumeAttrs =
    " | T: {half, float, double}, strides: list(int) >= 5, padding: {'SAME', 'VALID'}, "
    "dilations: list(int) = {1, 1, 1, 1, 1}";
constexpr const char* kPlain = " | strides = {1, 1, 1, 1, 1}, padding = 'VALID'";

Status add_volumes_by_images(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Conv3DBackpropInputV2",
      .doc = "The gradient of Conv3D by its volumes, of the shape input_sizes.",
      .signature = str_cat("input_sizes: Tshape, filter: T, out_backprop: T -> output: T | "
                           "T: floating",
                           kVolumeAttrs, ", Tshape: {int32, int64} = int32"),
      .infer = infer_by_images,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_images}),
      .grad = grad::volume_convolution_by_images,
      .cost = Cost::heavy,
      .examples = {str_cat("[1 2 1 2 1], [[[[[1]]]] [[[[2]]]]], [[[[[1] [3]]]]] -> [[[[[1] [3]]] "
                           "[[[2] [6]]]]]",
                           kPlain)},
  }));
  return ops.add({
      .name = "Conv3DBackpropInput",
      .doc = "The gradient of Conv3D by its volumes `input`, of which only the shape is looked at.",
      .signature = str_cat("input: T, filter: T, out_backprop: T -> output: T", kOldVolumeAttrs),
      .infer = infer_told<0>,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_images, Told::tensor}),
      .grad = grad::volume_convolution_by_images,
      .cost = Cost::heavy,
      .examples = {str_cat("[[[[[0] [0]]] [[[0] [0]]]]], [[[[[1]]]] [[[[2]]]]], [[[[[1] [3]]]]] "
                           "-> [[[[[1] [3]]] [[[2] [6]]]]]",
                           kPlain)},
  });
}

Status add_volumes_by_filter(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Conv3DBackpropFilterV2",
      .doc = "The gradient of Conv3D by its filter, of the shape filter_sizes.",
      .signature = str_cat("input: T, filter_sizes: int32, out_backprop: T -> output: T | "
                           "T: floating",
                           kVolumeAttrs),
      .infer = infer_by_filter,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_filter}),
      .grad = grad::volume_convolution_by_filter,
      .cost = Cost::heavy,
      .examples = {str_cat("[[[[[1] [2]]] [[[3] [4]]]]], [2 1 1 1 1], [[[[[1] [3]]]]] -> "
                           "[[[[[7]]]] [[[[15]]]]]",
                           kPlain)},
  }));
  return ops.add({
      .name = "Conv3DBackpropFilter",
      .doc = "The gradient of Conv3D by its filter, of which only the shape is looked at.",
      .signature = str_cat("input: T, filter: T, out_backprop: T -> output: T", kOldVolumeAttrs),
      .infer = infer_told<1>,
      .cpu = convolution_kernel({Filter::ordinary, Direction::by_filter, Told::tensor}),
      .grad = grad::volume_convolution_by_filter,
      .cost = Cost::heavy,
      .examples = {str_cat("[[[[[1] [2]]] [[[3] [4]]]]], [[[[[0]]]] [[[[0]]]]], [[[[[1] [3]]]]] "
                           "-> [[[[[7]]]] [[[[15]]]]]",
                           kPlain)},
  });
}

Status add_volumes(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Conv3D",
      .doc = "Moves filters over volumes and sums the products; filter is [depth, height, width, "
             "channels, outputs].",
      .signature = str_cat("input: T, filter: T -> output: T | T: floating", kVolumeAttrs),
      .infer = infer_convolution(Filter::ordinary),
      .cpu = convolution_kernel({Filter::ordinary, Direction::forward}),
      .grad = grad::volume_convolution,
      .cost = Cost::heavy,
      .examples =
          {str_cat("[[[[[1] [2]]] [[[3] [4]]]]], [[[[[1]]]] [[[[2]]]]] -> [[[[[7] [10]]]]]",
                   kPlain),
           "[[[[[1]]] [[[2]]] [[[3]]]]], [[[[[1]]]] [[[[10]]]]] -> [[[[[21]]] [[[3]]]]] | strides "
           "= {1, 2, 1, 1, 1}, padding = 'SAME'",
           "[[[[[1 2]]] [[[3 4]]]]], [[[[[1] [10]]]]] -> [[[[[31 42]]]]] | strides = {1, 1, 1, 1, "
           "1}, padding = 'VALID', data_format = 'NCDHW'"},
  }));
  MR_TRY(add_volumes_by_images(ops));
  return add_volumes_by_filter(ops);
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
  MR_TRY(add_told_by_tensors(ops, attrs(kTypes), attrs("{half, bfloat16, float, double}")));
  MR_TRY(add_depthwise(ops));
  return add_volumes(ops);
}

}  // namespace millrace
