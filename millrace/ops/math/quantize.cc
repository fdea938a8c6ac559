// Part of families.h: register_quantize.
#include <cmath>
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/along_axis.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/stairs.h"

namespace millrace {
namespace {

struct QuantizeOptions {
  bool is_signed = true, range_given = false, narrow = false, rounds_up = false;
  int64_t axis = -1;

  static Result<QuantizeOptions> from(const AttrView& attrs) {
    QuantizeOptions options;
    MR_ASSIGN(options.is_signed, attrs.boolean("signed_input"));
    MR_ASSIGN(options.range_given, attrs.boolean("range_given"));
    if (attrs.find("narrow_range") != nullptr) {
      MR_ASSIGN(options.narrow, attrs.boolean("narrow_range"));
    }
    if (attrs.find("axis") != nullptr) {
      MR_ASSIGN(options.axis, attrs.integer("axis"));
    }
    if (attrs.find("round_mode") != nullptr) {
      MR_ASSIGN(const std::string mode, attrs.string("round_mode"));
      options.rounds_up = mode == "HALF_UP";
    }
    if (options.axis < -1) return invalid("Axis must be at least -1. Found ", options.axis);
    return options;
  }
};
struct BoundQuantize {
  Result<QuantizeOptions> read(const KernelSpec& spec) const {
    return QuantizeOptions::from(spec.attrs);
  }
};

// The numbers of a slice between its bounds, rounded. `M` is the type it is computed in.
template <class M>
struct Quantizer {
  M low, high, scale = 1, inverse = 1;
  bool clamps, rounds_up;

  Quantizer(M min, M max, int64_t bits, const QuantizeOptions& options)
      : low(min), high(max), clamps(options.range_given), rounds_up(options.rounds_up) {
    const auto count = static_cast<double>(int64_t{1} << (bits - (options.is_signed ? 1 : 0)));
    const M most = static_cast<M>(count - 1);
    const M least = options.is_signed ? static_cast<M>(options.narrow ? 1 - count : -count) : M(0);
    constexpr M kHuge = std::numeric_limits<M>::max();
    const M from_low = least * low > 0 ? least / low : kHuge;
    const M from_high = most * high > 0 ? most / high : kHuge;
    if (from_low < from_high) {
      scale = from_low;
      inverse = low / least;
      high = most * inverse;
    } else {
      scale = from_high;
      inverse = high / most;
      low = least * inverse;
    }
  }
  M apply(M x) const {
    if (clamps) x = std::min(std::max(x, low), high);
    const M steps = x * scale;
    return (rounds_up ? std::floor(steps + M(0.5)) : std::nearbyint(steps)) * inverse;
  }
};

struct QuantizeInputs {
  const Tensor &input, &min, &max;
  int64_t bits;
};
using QuantizeLoop = Status (*)(const QuantizeInputs& in, const QuantizeOptions& options,
                                Tensor& out, CancelProbe probe);

template <class T>
Status quantize_loop(const QuantizeInputs& in, const QuantizeOptions& options, Tensor& out,
                     CancelProbe probe) {
  using M = cpu::Math<T>;
  const std::span<const T> x = in.input.flat<T>();
  const std::span<T> y = out.mutable_flat<T>();
  if (options.axis >= 0 && x.empty()) return {};  // of any number of slices
  const bool by_slice = options.axis >= 0;
  const AlongAxis along = by_slice ? AlongAxis(in.input.shape(), static_cast<int>(options.axis))
                                   : AlongAxis(Shape{1, in.input.num_elements()}, 0);
  for (int64_t slice = 0; slice < along.length; ++slice) {
    const auto each = [&](auto visit) {
      for (int64_t outer = 0; outer < along.outer; ++outer) {
        const int64_t begin = (outer * along.length + slice) * along.inner;
        for (int64_t i = begin; i < begin + along.inner; ++i) visit(static_cast<size_t>(i));
      }
    };
    M low = 0, high = 0;
    if (options.range_given) {
      low = static_cast<M>(in.min.flat<T>()[static_cast<size_t>(by_slice ? slice : 0)]);
      high = static_cast<M>(in.max.flat<T>()[static_cast<size_t>(by_slice ? slice : 0)]);
      if (!(low <= high)) return invalid("Invalid range: input_min ", low, " > input_max ", high);
    } else if (!x.empty()) {
      low = std::numeric_limits<M>::max();
      high = std::numeric_limits<M>::lowest();
      each([&](size_t i) {
        low = std::min(low, static_cast<M>(x[i]));
        high = std::max(high, static_cast<M>(x[i]));
      });
    }
    const Quantizer<M> quantizer(low, high, in.bits, options);
    each([&](size_t i) { y[i] = static_cast<T>(quantizer.apply(static_cast<M>(x[i]))); });
    if (!probe.go_on(along.outer * along.inner)) return probe.status();
  }
  return {};
}

Status check_quantize(const QuantizeInputs& in, const QuantizeOptions& options) {
  const int64_t most = options.is_signed ? 62 : 63;
  if (in.bits < (options.is_signed ? 2 : 1) || in.bits > most) {
    return invalid("num_bits is out of range: ", in.bits, " with ",
                   options.is_signed ? "signed_input" : "unsigned input", " ",
                   options.is_signed ? "true" : "false");
  }
  if (options.axis >= in.input.shape().rank())
    return invalid("Axis should be -1 or less than the rank of the input, ",
                   in.input.shape().rank(), ", but is ", options.axis);
  if (!options.range_given) return {};
  const int64_t wanted =
      options.axis < 0 ? 1 : in.input.shape().dim(static_cast<int>(options.axis));
  for (const Tensor* bound : {&in.min, &in.max}) {
    if (bound->num_elements() == wanted && bound->shape().rank() <= 1) continue;
    return invalid("input_min and input_max must have ", wanted, " elements, got shape ",
                   bound->shape().to_string());
  }
  return {};
}

Result<Tensor> quantize(KernelContext& context, QuantizeLoop loop, const QuantizeOptions& options,
                        const QuantizeInputs& in) {
  MR_TRY(check_quantize(in, options));
  MR_ASSIGN(Tensor made, context.allocate(0, in.input.shape()));
  MR_TRY(loop(in, options, made, CancelProbe(context)));
  return made;
}

Result<Tensor> quantize_v2(KernelContext& context, QuantizeLoop loop,
                           const QuantizeOptions& options, int64_t bits) {
  return quantize(context, loop, options,
                  {context.input(0), context.input(1), context.input(2), bits});
}

Result<Tensor> quantize_v3(KernelContext& context, QuantizeLoop loop,
                           const QuantizeOptions& options) {
  MR_ASSIGN(const int64_t bits, read_integer(context.input(3), "num_bits"));
  return quantize(context, loop, options,
                  {context.input(0), context.input(1), context.input(2), bits});
}

// The first one has its range as attributes.
Result<Tensor> quantize_v1(KernelContext& context, QuantizeLoop loop,
                           const QuantizeOptions& options, int64_t bits, float min, float max) {
  MR_ASSIGN(const Tensor low, scalar_of(context.output_dtype(0), min));
  MR_ASSIGN(const Tensor high, scalar_of(context.output_dtype(0), max));
  return quantize(context, loop, options, {context.input(0), low, high, bits});
}

Status infer_quantize(InferContext& context) { return infer::same_as_input(context); }

// --- QuantizeAndDequantizeV4Grad: what arrives where the input is in range ---

using QuantizeGradLoop = void (*)(const Tensor& arriving, const QuantizeInputs& in,
                                  const AlongAxis& along, Tensor& out);

template <class T>
void quantize_grad_loop(const Tensor& arriving, const QuantizeInputs& in, const AlongAxis& along,
                        Tensor& out) {
  using M = cpu::Math<T>;
  const std::span<const T> x = in.input.flat<T>(), dy = arriving.flat<T>();
  const std::span<T> y = out.mutable_flat<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    const auto slice = static_cast<size_t>(static_cast<int64_t>(i) / along.inner % along.length);
    const M low = static_cast<M>(in.min.flat<T>()[slice]);
    const M high = static_cast<M>(in.max.flat<T>()[slice]);
    const M at = static_cast<M>(x[i]);
    y[i] = at >= low && at <= high ? dy[i] : T(M(0));
  }
}

Status quantize_gradient(KernelContext& context, QuantizeGradLoop loop, int64_t axis) {
  QuantizeOptions options;
  options.range_given = true;
  options.axis = axis;
  const Tensor& arriving = context.input(0);
  const QuantizeInputs in{context.input(1), context.input(2), context.input(3), 8};
  if (arriving.shape() != in.input.shape()) {
    return invalid("Gradient and Tensor must have the same shape: ", arriving.shape().to_string(),
                   " and ", in.input.shape().to_string());
  }
  if (axis < -1) return invalid("Axis must be at least -1. Found ", axis);
  MR_TRY(check_quantize(in, options));
  MR_ASSIGN(Tensor by_input, context.allocate(0, in.input.shape()));
  const AlongAxis along = axis >= 0 ? AlongAxis(in.input.shape(), static_cast<int>(axis))
                                    : AlongAxis(Shape{1, in.input.num_elements()}, 0);
  if (by_input.num_elements() > 0) loop(arriving, in, along, by_input);
  MR_ASSIGN(Tensor by_min, Tensor::zeros(arriving.dtype(), in.min.shape()));
  MR_ASSIGN(Tensor by_max, Tensor::zeros(arriving.dtype(), in.max.shape()));
  context.set_output(0, std::move(by_input));
  context.set_output(1, std::move(by_min));
  context.set_output(2, std::move(by_max));
  return {};
}

}  // namespace

Status register_quantize(OpRegistry& ops) {
  const auto loop = cpu::loop_of_input<cpu::Floating>([]<class T>() { return &quantize_loop<T>; });
  const std::string doc =
      "The input rounded to what num_bits can say between the bounds, or "
      "between its own least and largest element.";
  MR_TRY(ops.add({
      .name = "QuantizeAndDequantize",
      .doc = doc,
      .signature = "input: T -> output: T | signed_input: bool = true, num_bits: int = 8, "
                   "range_given: bool = false, input_min: float = 0, input_max: float = 0, "
                   "T: floating",
      .infer = infer_quantize,
      .cpu = kernel_with(quantize_v1, loop, BoundQuantize(), integer("num_bits"), real("input_min"),
                         real("input_max")),
      .grad = grad::straight_through,
      .examples = {"[-1 0.3 1] -> [-1 0 1] | num_bits = 2"},
  }));
  for (const char* name : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}) {
    const bool is_last = std::string_view(name).ends_with("4");
    MR_TRY(ops.add({
        .name = name,
        .doc = doc,
        .signature = "input: T, input_min: T, input_max: T -> output: T | "
                     "signed_input: bool = true, num_bits: int = 8, range_given: bool = false, "
                     "T: floating, round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN', "
                     "narrow_range: bool = false, axis: int = -1",
        .infer = infer_quantize,
        .cpu = kernel_with(quantize_v2, loop, BoundQuantize(), integer("num_bits")),
        .grad = is_last ? grad::quantize_v4 : grad::straight_through,
        .examples = {"[-1 0.3 1], 0, 0 -> [-1 0 1] | num_bits = 2",
                     "[-4 0.25 0.75 9], -2, 1 -> [-2 0 1 1] | num_bits = 2, range_given = true",
                     "[[1 4] [2 8]], [0 0], [3 12] -> [[1 4] [2 8]] | num_bits = 2, axis = 1, "
                     "range_given = true, signed_input = false"},
    }));
  }
  MR_TRY(ops.add({
      .name = "QuantizeAndDequantizeV3",
      .doc = doc,
      .signature = "input: T, input_min: T, input_max: T, num_bits: int32 -> output: T | "
                   "signed_input: bool = true, range_given: bool = true, T: floating, "
                   "narrow_range: bool = false, axis: int = -1",
      .infer = infer_quantize,
      .cpu = kernel_with(quantize_v3, loop, BoundQuantize()),
      .grad = grad::straight_through,
      .examples = {"[-1 0.3 1], -2, 1, 2 -> [-1 0 1]"},
  }));
  return ops.add({
      .name = "QuantizeAndDequantizeV4Grad",
      .doc = "The gradient of QuantizeAndDequantizeV4: what arrives, where the input is in range.",
      .signature = "gradients: T, input: T, input_min: T, input_max: T -> input_backprop: T, "
                   "input_min_backprop: T, input_max_backprop: T | T: floating, axis: int = -1",
      .infer = infer_slope_of_stairs,
      .cpu = kernel_with(quantize_gradient, cpu::loop_of_input<cpu::Floating>([]<class T>() {
                           return &quantize_grad_loop<T>;
                         }),
                         integer("axis")),
      .not_differentiable = kSlopeOfStairs,
      .examples = {"[1 2 3], [-4 0 4], -2, 2 -> [0 2 0], 0, 0"},
  });
}

}  // namespace millrace
