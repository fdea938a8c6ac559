// Part of families.h: register_fake_quants.
#include <algorithm>
#include <cmath>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/stairs.h"

namespace millrace {
namespace {

struct FakeBits {
  float least = 0, most = 255;  // of the numbers that the bits make

  static Result<FakeBits> of(int64_t bits, bool narrow) {
    if (bits < 2 || bits > 16)
      return invalid("num_bits must be between 2 and 16, inclusive, but is: ", bits);
    return FakeBits{narrow ? 1.f : 0.f, static_cast<float>((1 << bits) - 1)};
  }
};

struct BoundFakeBits {
  Result<FakeBits> read(const KernelSpec& spec) const {
    MR_ASSIGN(const int64_t bits, spec.attrs.integer("num_bits"));
    MR_ASSIGN(const bool narrow, spec.attrs.boolean("narrow_range"));
    return FakeBits::of(bits, narrow);
  }
};

// The range moved a little so that 0 is one of the numbers in it.
struct NudgedRange {
  float low = 0, high = 0, scale = 0;

  NudgedRange(float min, float max, const FakeBits& bits) {
    scale = (max - min) / (bits.most - bits.least);
    const float zero = bits.least - min / scale;
    const float nudged = zero < bits.least  ? bits.least
                         : zero > bits.most ? bits.most
                                            : std::round(zero);
    low = (bits.least - nudged) * scale;
    high = (bits.most - nudged) * scale;
  }
  bool has(float x) const { return x >= low && x <= high; }
  float rounded(float x) const {
    const float inverse = 1.0f / scale;
    const float zero = std::floor(-low * inverse + 0.5f);
    const float inside = std::max(std::min(x, high), low);
    return std::floor((inside - low) * inverse - zero + 0.5f) * scale;
  }
};

// Of attributes; a range that comes as tensors may be any, as in TensorFlow.
Status check_fake_range(float min, float max) {
  if (min < max) return {};
  return invalid("min has to be smaller than max, was: ", min, " >= ", max);
}

// Each channel of the last axis has a range, or all have one.
Status check_ranges(const Tensor& inputs, const Tensor& min, const Tensor& max, bool by_channel) {
  if (!by_channel) {
    if (min.shape().is_scalar() && max.shape().is_scalar()) return {};
    return invalid("min and max must be scalars, got shapes ", min.shape().to_string(), " and ",
                   max.shape().to_string());
  }
  const int rank = inputs.shape().rank();
  if (rank < 1) return invalid("inputs must be at least rank 1");
  const Shape channels{inputs.shape().dim(rank - 1)};
  if (min.shape() == channels && max.shape() == channels) return {};
  return invalid("min and max must be vectors of ", channels.dim(0), " channels, got shapes ",
                 min.shape().to_string(), " and ", max.shape().to_string());
}

// visit(row of channels, index of its first element, range) for each range and its elements.
template <class Visit>
Status each_range(const Tensor& inputs, std::span<const float> min, std::span<const float> max,
                  const FakeBits& bits, CancelProbe probe, Visit visit) {
  const auto channels = static_cast<int64_t>(min.size());
  if (channels == 0) return {};
  const int64_t rows = inputs.num_elements() / channels;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const auto at = static_cast<size_t>(channel);
    const NudgedRange range(min[at], max[at], bits);
    const bool is_nothing = min[at] == 0 && max[at] == 0;
    for (int64_t row = 0; row < rows; ++row)
      visit(row * channels + channel, channel, range, is_nothing);
    if (!probe.go_on(rows)) return probe.status();
  }
  return {};
}

Result<Tensor> fake_quantized(KernelContext& context, const Tensor& inputs,
                              std::span<const float> min, std::span<const float> max,
                              const FakeBits& bits) {
  MR_ASSIGN(Tensor made, context.allocate(0, inputs.shape()));
  const std::span<const float> x = inputs.flat<float>();
  const std::span<float> y = made.mutable_flat<float>();
  MR_TRY(each_range(inputs, min, max, bits, CancelProbe(context),
                    [&](int64_t at, int64_t, const NudgedRange& range, bool is_nothing) {
                      const auto i = static_cast<size_t>(at);
                      y[i] = is_nothing ? 0 : range.rounded(x[i]);
                    }));
  return made;
}

Result<Tensor> fake_quant_args(KernelContext& context, const FakeBits& bits, float min, float max) {
  MR_TRY(check_fake_range(min, max));
  return fake_quantized(context, context.input(0), {&min, 1}, {&max, 1}, bits);
}

template <bool kByChannel>
Result<Tensor> fake_quant_vars(KernelContext& context, const FakeBits& bits) {
  MR_TRY(check_ranges(context.input(0), context.input(1), context.input(2), kByChannel));
  return fake_quantized(context, context.input(0), context.input(1).flat<float>(),
                        context.input(2).flat<float>(), bits);
}

// What arrives where the input is in its range; of the rest, what was below goes to min, what was
// above to max.
struct FakeGradients {
  Tensor inputs, min, max;
};

Result<FakeGradients> fake_gradients(KernelContext& context, std::span<const float> min,
                                     std::span<const float> max, const Shape& range_shape,
                                     const FakeBits& bits) {
  const Tensor &arriving = context.input(0), &inputs = context.input(1);
  if (arriving.shape() != inputs.shape()) {
    return invalid("gradient and input must be the same size: ", arriving.shape().to_string(),
                   " and ", inputs.shape().to_string());
  }
  FakeGradients made;
  MR_ASSIGN(made.inputs, Tensor::zeros(DType::f32, inputs.shape()));
  MR_ASSIGN(made.min, Tensor::zeros(DType::f32, range_shape));
  MR_ASSIGN(made.max, Tensor::zeros(DType::f32, range_shape));
  const std::span<const float> x = inputs.flat<float>(), dy = arriving.flat<float>();
  const std::span<float> by_input = made.inputs.mutable_flat<float>();
  const std::span<float> by_min = made.min.mutable_flat<float>();
  const std::span<float> by_max = made.max.mutable_flat<float>();
  MR_TRY(each_range(inputs, min, max, bits, CancelProbe(context),
                    [&](int64_t at, int64_t channel, const NudgedRange& range, bool is_nothing) {
                      const auto i = static_cast<size_t>(at), c = static_cast<size_t>(channel);
                      if (is_nothing || range.has(x[i])) {
                        by_input[i] = dy[i];
                      } else if (x[i] < range.low) {
                        by_min[c] += dy[i];
                      } else if (x[i] > range.high) {
                        by_max[c] += dy[i];
                      }
                    }));
  return made;
}

Result<Tensor> fake_quant_args_gradient(KernelContext& context, const FakeBits& bits, float min,
                                        float max) {
  MR_TRY(check_fake_range(min, max));
  MR_ASSIGN(const FakeGradients made,
            fake_gradients(context, {&min, 1}, {&max, 1}, Shape{1}, bits));
  return made.inputs;
}

template <bool kByChannel>
Status fake_quant_vars_gradient(KernelContext& context, const FakeBits& bits) {
  const Tensor &min = context.input(2), &max = context.input(3);
  MR_TRY(check_ranges(context.input(1), min, max, kByChannel));
  MR_ASSIGN(FakeGradients made,
            fake_gradients(context, min.flat<float>(), max.flat<float>(), min.shape(), bits));
  context.set_output(0, std::move(made.inputs));
  context.set_output(1, std::move(made.min));
  context.set_output(2, std::move(made.max));
  return {};
}

constexpr std::string_view kFakeAttrs = "num_bits: int = 8, narrow_range: bool = false";
Status register_fake_args(OpRegistry& ops) {
  const std::string attrs = str_cat("min: float = -6, max: float = 6, ", kFakeAttrs);
  MR_TRY(ops.add({
      .name = "FakeQuantWithMinMaxArgs",
      .doc = "The inputs rounded to what num_bits between min and max can say.",
      .signature = str_cat("inputs: float -> outputs: float | ", attrs),
      .infer = infer::same_as_input,
      .cpu = kernel_with(fake_quant_args, BoundFakeBits(), real("min"), real("max")),
      .grad = grad::fake_quant_args,
      .examples = {"[-2 0.3 0.6 9] -> [0 0 1 3] | min = 0, max = 3, num_bits = 2"},
  }));
  return ops.add({
      .name = "FakeQuantWithMinMaxArgsGradient",
      .doc = "The gradient of FakeQuantWithMinMaxArgs: what arrives, where the input is in range.",
      .signature = str_cat("gradients: float, inputs: float -> backprops: float | ", attrs),
      .infer = infer::same_as_input,
      .cpu = kernel_with(fake_quant_args_gradient, BoundFakeBits(), real("min"), real("max")),
      .not_differentiable = kSlopeOfStairs,
      .examples = {"[1 2 3 4], [-2 0.3 0.6 9] -> [0 2 3 0] | min = 0, max = 3, num_bits = 2"},
  });
}

template <bool kByChannel>
Status register_fake_vars(OpRegistry& ops) {
  const std::string name = str_cat("FakeQuantWithMinMaxVars", kByChannel ? "PerChannel" : "");
  MR_TRY(ops.add({
      .name = name,
      .doc = str_cat("The inputs rounded to what num_bits between min and max can say",
                     kByChannel ? ", which each channel of the last axis has of its own." : "."),
      .signature =
          str_cat("inputs: float, min: float, max: float -> outputs: float | ", kFakeAttrs),
      .infer = infer::same_as_input,
      .cpu = kernel_with(fake_quant_vars<kByChannel>, BoundFakeBits()),
      .grad = grad::fake_quant_vars,
      .examples = {kByChannel ? "[[-2 0.6] [2.2 9]], [0 0], [3 3] -> [[0 1] [2 3]] | num_bits = 2"
                              : "[-2 0.3 0.6 9], 0, 3 -> [0 0 1 3] | num_bits = 2"},
  }));
  return ops.add({
      .name = name + "Gradient",
      .doc = str_cat("The gradient of ", name,
                     ": what arrives, where the input is in range, to min where it is below, to "
                     "max where it is above."),
      .signature = str_cat("gradients: float, inputs: float, min: float, max: float -> "
                           "backprops_wrt_input: float, backprop_wrt_min: float, "
                           "backprop_wrt_max: float | ",
                           kFakeAttrs),
      .infer = infer_slope_of_stairs,
      .cpu = kernel_with(fake_quant_vars_gradient<kByChannel>, BoundFakeBits()),
      .not_differentiable = kSlopeOfStairs,
      .examples = {kByChannel ? "[[1 2] [3 4]], [[-2 0.6] [2.2 9]], [0 0], [3 3] -> [[0 2] [3 0]], "
                                "[1 0], [0 4] | num_bits = 2"
                              : "[1 2 3 4], [-2 0.3 0.6 9], 0, 3 -> [0 2 3 0], 1, 4 | "
                                "num_bits = 2"},
  });
}

}  // namespace

Status register_fake_quants(OpRegistry& ops) {
  MR_TRY(register_fake_args(ops));
  MR_TRY(register_fake_vars<false>(ops));
  return register_fake_vars<true>(ops);
}

}  // namespace millrace
