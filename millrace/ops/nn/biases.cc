// Part of families.h: register_biases.
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/nn/channel_rows.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

// A tensor with channels: `outer` times a row of `inner` elements for each channel.
struct Channels {
  int64_t outer = 1, count = 1, inner = 1;
};

// Channels are axis 1 of NCHW, however many axes follow, and the last one of NHWC.
int channel_axis(std::string_view data_format, int rank) {
  return data_format == "NCHW" ? 1 : rank - 1;
}

Result<Channels> channels_of(const Shape& shape, std::string_view data_format) {
  if (shape.rank() < 2) return invalid("Input tensor must be at least 2D: ", shape.to_string());
  const int axis = channel_axis(data_format, shape.rank());
  Channels channels{.count = shape.dim(axis)};
  for (int i = 0; i < axis; ++i) channels.outer *= shape.dim(i);
  for (int i = axis + 1; i < shape.rank(); ++i) channels.inner *= shape.dim(i);
  return channels;
}

// --- BiasAdd ---

Result<Tensor> bias_add(KernelContext& context, cpu::BinaryLoop loop, std::string_view format) {
  const Tensor& value = context.input(0);
  const Tensor& bias = context.input(1);
  MR_ASSIGN(const Channels channels, channels_of(value.shape(), format));
  if (bias.shape().rank() != 1) return invalid("Biases must be 1D: ", bias.shape().to_string());
  if (bias.num_elements() != channels.count) {
    return invalid("Must provide as many biases as the ", format == "NCHW" ? "channel" : "last",
                   " dimension of the input tensor: ", bias.shape().to_string(), " vs. ",
                   value.shape().to_string());
  }
  MR_ASSIGN(Tensor out, context.reuse_or_allocate(0, 0, value.shape()));
  // The same values as rows of channels, to which a column of biases is broadcast.
  const Shape as{channels.outer, channels.count, channels.inner};
  MR_ASSIGN(const Tensor rows, value.reshaped(as));
  MR_ASSIGN(const Tensor column, bias.reshaped({channels.count, 1}));
  MR_ASSIGN(Tensor sums, out.reshaped(as));
  MR_TRY(cpu::run_binary(context, loop, rows, column, sums));
  return out;
}

// --- BiasAddGrad ---

// What a channel's sum is kept in: exact for integers, which wrap around only at the end.
template <class T>
using ChannelSum =
    std::conditional_t<std::is_integral_v<T>, uint64_t,
                       std::conditional_t<cpu::kIsComplex<T>, std::complex<double>, double>>;

using ChannelSums = Status (*)(const Tensor& of, const Channels& channels, Tensor& sums,
                               CancelProbe& probe);

template <class T>
Status channel_sums(const Tensor& of, const Channels& channels, Tensor& sums, CancelProbe& probe) {
  using A = ChannelSum<T>;
  const auto wide = [](const T& x) { return static_cast<A>(static_cast<cpu::Math<T>>(x)); };
  MR_ASSIGN(Tensor kept, Tensor::zeros(dtype_of<A>, {channels.count}));
  A* const totals = kept.mutable_flat<A>().data();
  const T* x = of.flat<T>().data();
  for (int64_t i = 0; i < channels.outer; ++i) {
    if (channels.inner == 1) {
      for (int64_t c = 0; c < channels.count; ++c) totals[c] += wide(x[c]);
      x += channels.count;
      if (!probe.go_on(channels.count)) return probe.status();
      continue;
    }
    for (int64_t c = 0; c < channels.count; ++c, x += channels.inner) {
      A total = totals[c];
      MR_TRY(probe.in_pieces(channels.inner, [&](int64_t begin, int64_t count) {
        for (int64_t j = begin; j < begin + count; ++j) total += wide(x[j]);
      }));
      totals[c] = total;
      if (!probe.go_on(channels.inner)) return probe.status();
    }
  }
  T* out = sums.mutable_flat<T>().data();
  for (int64_t c = 0; c < channels.count; ++c)
    out[c] = static_cast<T>(static_cast<cpu::Math<T>>(totals[c]));
  return {};
}

// Of floats whose channels lie side by side: rows of a few channels are added as rows of many, of
// which every so many belong to one channel.
Status row_sums(KernelContext& context, const Channels& channels, Tensor& sums) {
  constexpr int64_t kWide = 256;
  const float* const x = context.input(0).flat<float>().data();
  const int64_t count = channels.count, times = std::max<int64_t>(1, kWide / count);
  const int64_t width = count * times, rows = channels.outer / times;
  const auto add = [=](int64_t row, float* first, float*) MR_LAMBDA_BODY {
    const float* const from = x + row * width;
    MR_INDEPENDENT
    for (int64_t c = 0; c < width; ++c) first[c] += from[c];
  };
  MR_ASSIGN(Tensor totals, sums_of_rows(context, rows, width, add));
  double* const total = totals.mutable_flat<double>().data();
  for (int64_t i = count; i < width; ++i) total[i % count] += total[i];
  for (int64_t i = rows * width; i < channels.outer * count; ++i)
    total[i % count] += static_cast<double>(x[i]);
  for (int64_t c = 0; c < count; ++c)
    sums.mutable_flat<float>()[static_cast<size_t>(c)] = static_cast<float>(total[c]);
  return {};
}

Result<Tensor> bias_add_grad(KernelContext& context, ChannelSums loop, const std::string& format) {
  MR_ASSIGN(const Channels channels, channels_of(context.input(0).shape(), format));
  // Without elements there may still be any number of rows.
  if (context.input(0).num_elements() == 0)
    return Tensor::zeros(context.output_dtype(0), {channels.count});
  MR_ASSIGN(Tensor sums, context.allocate(0, {channels.count}));
  if (sums.dtype() == DType::f32 && channels.inner == 1) {
    MR_TRY(row_sums(context, channels, sums));
    return sums;
  }
  CancelProbe probe(context);
  MR_TRY(loop(context.input(0), channels, sums, probe));
  return sums;
}

// --- shapes ---

// Where channels come first TensorFlow asks for axes behind them, though its kernels do not.
Status check_has_channels(const InferContext& context, std::string_view format) {
  const PartialShape& value = context.input(0);
  const int least = format == "NCHW" ? 3 : 2;
  if (!value.has_rank() || value.rank() >= least) return {};
  return invalid("input 0 of ", context.attrs().op().name, " must be at least ", least,
                 "D if its data_format is ", format, ", not ", value.to_string());
}

Status infer_bias_add_as(InferContext& context, std::string_view format) {
  MR_TRY(check_has_channels(context, format));
  MR_ASSIGN(const PartialShape bias, context.input_of_rank(1, 1));
  const PartialShape& value = context.input(0);
  if (!value.has_rank()) return {};
  std::vector<int64_t> dims(value.dims().begin(), value.dims().end());
  int64_t& channels = dims[channel_axis(format, value.rank())];
  MR_ASSIGN(const PartialShape merged, PartialShape{channels}.merge(bias));
  channels = merged.dim(0);
  return context.set_output(0, PartialShape::create(dims));
}

Status infer_bias_add(InferContext& context) {
  MR_ASSIGN(const std::string format, context.attrs().string("data_format"));
  return infer_bias_add_as(context, format);
}

Status infer_bias_add_v1(InferContext& context) { return infer_bias_add_as(context, "NHWC"); }

Status infer_bias_add_grad(InferContext& context) {
  MR_ASSIGN(const std::string format, context.attrs().string("data_format"));
  MR_TRY(check_has_channels(context, format));
  const PartialShape& value = context.input(0);
  context.set_output(0, value.has_rank()
                            ? PartialShape{value.dim(channel_axis(format, value.rank()))}
                            : PartialShape::of_rank(1));
  return {};
}

}  // namespace

Status register_biases(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "BiasAdd",
      .doc = "Adds to each channel of value its bias. Channels are the last axis, or axis 1 of "
             "NCHW.",
      .signature = "value: T, bias: T -> output: T | T: number, "
                   "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
      .infer = infer_bias_add,
      .cpu = kernel_with([](KernelContext& context, cpu::BinaryLoop loop,
                            const std::string& format) { return bias_add(context, loop, format); },
                         cpu::LoopFor{cpu::addition_loop}, text("data_format")),
      .grad = grad::bias_add,
      .examples = {"[[1 2] [3 4]], [10 20] -> [[11 22] [13 24]]",
                   "[[[1 2] [3 4]]], [10 20] -> [[[11 12] [23 24]]] | data_format = 'NCHW'"},
  }));
  MR_TRY(ops.add({
      .name = "BiasAddV1",
      .doc = "Adds bias to the last axis of value.",
      .signature = "value: T, bias: T -> output: T | T: number",
      .infer = infer_bias_add_v1,
      .cpu = kernel_with([](KernelContext& context,
                            cpu::BinaryLoop loop) { return bias_add(context, loop, "NHWC"); },
                         cpu::LoopFor{cpu::addition_loop}),
      .grad = grad::bias_add_v1,
      .examples = {"[[1 2] [3 4]], [10 20] -> [[11 22] [13 24]]"},
  }));
  return ops.add({
      .name = "BiasAddGrad",
      .doc = "The gradient of a bias: the sum over all axes but that of the channels.",
      .signature = "out_backprop: T -> output: T | T: number, "
                   "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
      .infer = infer_bias_add_grad,
      .cpu = kernel_with(bias_add_grad, cpu::loop_of_input<cpu::Number>([]<class T>() {
                           return &channel_sums<T>;
                         }),
                         text("data_format")),
      .grad = grad::bias_add_grad,
      .examples = {"[[1 2] [3 4]] -> [4 6]",
                   "[[[1 2] [3 4]] [[5 6] [7 8]]] -> [14 22] | data_format = 'NCHW'"},
  });
}

}  // namespace millrace
