// Part of families.h: register_quantizations.
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/along_axis.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/quantized.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/quantized_values.h"

namespace millrace {
namespace {

// How floats lie on the numbers of a type: their range on all of them, the same with 0 on one, or
// 0 on 0 and the farther end of the range on that of the type.
enum class QuantizeMode : uint8_t { min_combined, min_first, scaled };

struct QuantizeHow {
  QuantizeMode mode = QuantizeMode::min_combined;
  bool ties_to_even = false, narrow = false;
  int64_t axis = -1;      // along which each slice has a range of its own
  float least_range = 0;  // times the larger end
};

struct BoundQuantizeHow {
  Result<QuantizeHow> read(const KernelSpec& spec) const {
    QuantizeHow how;
    MR_ASSIGN(const std::string mode, spec.attrs.string("mode"));
    if (mode == "MIN_FIRST") how.mode = QuantizeMode::min_first;
    if (mode == "SCALED") how.mode = QuantizeMode::scaled;
    MR_ASSIGN(how.narrow, spec.attrs.boolean("narrow_range"));
    MR_ASSIGN(how.axis, spec.attrs.integer("axis"));
    if (spec.attrs.find("round_mode") != nullptr) {
      MR_ASSIGN(const std::string rounding, spec.attrs.string("round_mode"));
      MR_ASSIGN(how.least_range, spec.attrs.real("ensure_minimum_range"));
      how.ties_to_even = rounding == "HALF_TO_EVEN";
    }
    if (spec.outputs[0].dtype == DType::bf16 && how.mode != QuantizeMode::min_combined) {
      return invalid("When output type is bfloat16, mode must be 'MIN_COMBINED', but is '", mode,
                     "'");
    }
    if (how.axis < -1) return invalid("axis should be at least -1, got ", how.axis);
    if (how.ties_to_even && how.mode != QuantizeMode::scaled) {
      return invalid("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '",
                     mode, "'");
    }
    return how;
  }
};

// One slice after the other, each with its range: [outer, slices, inner].
Result<AlongAxis> slices_of(const KernelContext& context, const QuantizeHow& how) {
  const Shape& shape = context.input(0).shape();
  if (how.axis >= shape.rank()) {
    return invalid("Axis must be less than input dimension(", shape.rank(), "), got ", how.axis);
  }
  const AlongAxis along = how.axis >= 0 ? AlongAxis(shape, static_cast<int>(how.axis))
                                        : AlongAxis(Shape{1, shape.num_elements()}, 0);
  const Shape& ranges = context.input(1).shape();
  if (ranges != context.input(2).shape()) {
    return invalid("min_range and max_range must have the same shape, not ", ranges.to_string(),
                   " and ", context.input(2).shape().to_string());
  }
  if (ranges.num_elements() != along.length || ranges.rank() > 1) {
    return invalid(
        "min_range and max_range must have as many elements as input on the "
        "quantization axis (",
        how.axis, "), ", along.length, ", not shape ", ranges.to_string());
  }
  if (how.axis >= 0 && along.length != 1 && how.mode == QuantizeMode::min_first)
    return unimplemented("MIN_FIRST mode is not implemented with axis != -1.");
  return along;
}

QuantizedRange range_at(const KernelContext& context, int64_t slice) {
  const auto at = static_cast<size_t>(slice);
  return {context.input(1).flat<float>()[at], context.input(2).flat<float>()[at]};
}

// body(slice, begin) for each straight run of a slice, `along.inner` elements, as they lie: slice
// by slice, memory would be gone through as often as there are slices.
template <class Body>
Status in_runs(const AlongAxis& along, int64_t elements, CancelProbe probe, Body body) {
  const auto slices = static_cast<size_t>(along.length);
  size_t slice = 0;
  for (int64_t begin = 0; begin < elements; begin += along.inner) {
    body(slice, begin);
    if (++slice == slices) slice = 0;
    if (!probe.go_on(along.inner)) return probe.status();
  }
  return {};
}

// --- QuantizeV2 ---

// What a range becomes that has 0 in it and is not too small.
QuantizedRange usable(QuantizedRange given, float least_range) {
  const float least =
      std::max(1.f, std::max(std::abs(given.min), std::abs(given.max))) * least_range;
  const float min = std::min(0.f, given.min);
  return {min, std::max(0.f, std::max(given.max, min + least))};
}

// Floats as numbers, and the range that these stand for.
template <class Q>
class Quantizing {
 public:
  Quantizing(QuantizedRange given, const QuantizeHow& how)
      : how_(how), range_(usable(given, how.least_range)), first_(range_) {
    if (how.mode == QuantizeMode::scaled) {
      const float low = kLeastStep<Q> + (how.narrow ? 1.f : 0.f), high = kMostStep<Q>;
      const float from_min = low * range_.min > 0 ? low / range_.min : FLT_MAX;
      const float from_max = high * range_.max > 0 ? high / range_.max : FLT_MAX;
      scale_ = std::min(from_min, from_max);
      range_ = {low / scale_, high / scale_};
    } else {
      scale_ = static_cast<float>(kSteps<Q>) / (range_.max - range_.min);
    }
  }
  QuantizedRange range() const { return range_; }

  Q operator()(float value) const {
    if (how_.mode == QuantizeMode::min_first) return first_(value);
    const float inside = std::max(std::min(value, range_.max), range_.min);
    if (how_.mode == QuantizeMode::scaled) {
      const float steps = inside * scale_;
      return step_of<Q>(how_.ties_to_even ? std::nearbyint(steps) : std::round(steps));
    }
    const float steps = (inside - range_.min) * scale_;
    constexpr auto kHalf = static_cast<float>((kSteps<Q> + 1) / 2);
    return step_of<Q>(std::is_signed_v<Q> ? std::round(steps - kHalf) : steps + 0.5f);
  }

 private:
  const QuantizeHow& how_;
  QuantizedRange range_;
  ToQuantized<Q> first_;
  float scale_;
};

using QuantizeV2Loop = Status (*)(KernelContext& context, const QuantizeHow& how,
                                  const AlongAxis& along, std::span<Tensor> made);

template <class Q>
Status quantize_slices(KernelContext& context, const QuantizeHow& how, const AlongAxis& along,
                       std::span<Tensor> made) {
  std::vector<Quantizing<Q>> of_slices;
  for (int64_t slice = 0; slice < along.length; ++slice) {
    const QuantizedRange given = range_at(context, slice);
    if (given.max < given.min) {
      return invalid("input_max_range must be larger than input_min_range, not ", given.max,
                     " and ", given.min);
    }
    const QuantizedRange used = of_slices.emplace_back(given, how).range();
    made[1].mutable_flat<float>()[static_cast<size_t>(slice)] = used.min;
    made[2].mutable_flat<float>()[static_cast<size_t>(slice)] = used.max;
  }
  const std::span<const float> from = context.input(0).flat<float>();
  Q* const to = static_cast<Q*>(made[0].mutable_data());
  return in_runs(along, std::ssize(from), CancelProbe(context), [&](size_t slice, int64_t begin) {
    const Quantizing<Q>& quantize = of_slices[slice];
    for (int64_t i = begin; i < begin + along.inner; ++i)
      to[i] = quantize(from[static_cast<size_t>(i)]);
  });
}

using Kept = cpu::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>;

template <class Loop, class Make>
struct BoundByKept {
  Make make;
  bool is_output;
  Result<Loop> read(const KernelSpec& spec) const {
    const DType type = (is_output ? spec.outputs : spec.inputs)[0].dtype;
    const Loop loop = cpu::pick<Loop>(Kept(), kept_as(type), make);
    if (loop == nullptr) return cpu::no_loop(spec, type);
    return loop;
  }
};

Status quantized_floats(KernelContext& context, QuantizeV2Loop loop, const QuantizeHow& how) {
  MR_ASSIGN(const AlongAxis along, slices_of(context, how));
  std::array<Tensor, 3> made;
  const Shape ranges = how.axis == -1 ? Shape{} : Shape{along.length};
  MR_ASSIGN(made[0], context.allocate(0, context.input(0).shape()));
  MR_ASSIGN(made[1], context.allocate(1, ranges));
  MR_ASSIGN(made[2], context.allocate(2, ranges));
  MR_TRY(loop(context, how, along, made));
  for (size_t i = 0; i < made.size(); ++i)
    context.set_output(static_cast<int>(i), std::move(made[i]));
  return {};
}

// --- Dequantize ---

// What is added to the numbers before they are scaled, the scale, and what is added then.
struct Unscaling {
  float before = 0, scale = 1, after = 0;
};

template <class Q>
Unscaling unscaling(QuantizedRange range, const QuantizeHow& how) {
  if (how.mode == QuantizeMode::min_combined) {
    constexpr auto kHalf = std::is_signed_v<Q> ? static_cast<float>((kSteps<Q> + 1) / 2) : 0.f;
    return {kHalf, (range.max - range.min) / static_cast<float>(kSteps<Q>), range.min};
  }
  const float from_max = range.max / kMostStep<Q>;
  if constexpr (std::is_signed_v<Q>) {
    const float low = kLeastStep<Q> + (how.narrow ? 1.f : 0.f);
    return {0, std::max(range.min / low, from_max), 0};
  } else {
    return {0, from_max, 0};
  }
}

// Numbers as the floats that they stand for.
template <class Q>
class Dequantizing {
 public:
  Dequantizing(QuantizedRange range, const QuantizeHow& how)
      : is_first_(how.mode == QuantizeMode::min_first),
        first_(range),
        factors_(unscaling<Q>(range, how)) {}
  float operator()(Q number) const {
    if (is_first_) return first_(number);
    return (static_cast<float>(number) + factors_.before) * factors_.scale + factors_.after;
  }

 private:
  bool is_first_;
  FromQuantized<Q> first_;
  Unscaling factors_;
};

using DequantizeLoop = Status (*)(KernelContext& context, const QuantizeHow& how,
                                  const AlongAxis& along, Tensor& out);

template <class Q>
Status dequantize_slices(KernelContext& context, const QuantizeHow& how, const AlongAxis& along,
                         Tensor& out) {
  std::vector<Dequantizing<Q>> of_slices;
  for (int64_t slice = 0; slice < along.length; ++slice)
    of_slices.emplace_back(range_at(context, slice), how);
  const Q* const from = static_cast<const Q*>(context.input(0).data());
  const std::span<float> to = out.mutable_flat<float>();
  return in_runs(along, std::ssize(to), CancelProbe(context), [&](size_t slice, int64_t begin) {
    const Dequantizing<Q> read = of_slices[slice];
    for (int64_t i = begin; i < begin + along.inner; ++i)
      to[static_cast<size_t>(i)] = read(from[i]);
  });
}

Result<Tensor> dequantize(KernelContext& context, DequantizeLoop loop, const QuantizeHow& how) {
  MR_ASSIGN(const AlongAxis along, slices_of(context, how));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, context.input(0).shape()));
  MR_TRY(loop(context, how, along, made));
  return narrowed(made, context.output_dtype(0), CancelProbe(context));
}

// --- shapes, ops ---

Status infer_ranges(InferContext& context) {
  MR_ASSIGN(const int64_t axis, context.attrs().integer("axis"));
  if (axis < -1) return invalid("axis should be at least -1, got ", axis);
  const PartialShape& input = context.input(0);
  const int rank = axis == -1 ? 0 : 1;
  MR_ASSIGN(PartialShape ranges, context.input_of_rank(1, rank));
  MR_ASSIGN(const PartialShape other, context.input_of_rank(2, rank));
  MR_ASSIGN(ranges, ranges.merge(other));
  if (!ranges.has_rank()) ranges = PartialShape::of_rank(rank);
  if (axis >= 0 && input.has_rank()) {
    if (axis >= input.rank())
      return invalid("Axis must be less than input dimension(", input.rank(), "), got ", axis);
    MR_ASSIGN(ranges, ranges.merge(PartialShape{input.dim(static_cast<int>(axis))}));
  }
  context.set_output(0, input);
  for (int slot = 1; slot < context.num_outputs(); ++slot) context.set_output(slot, ranges);
  return {};
}

constexpr const char* kQuantizedTypes = "{qint8, quint8, qint32, qint16, quint16}";
constexpr const char* kModes = "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'";

}  // namespace

Status register_quantizations(OpRegistry& ops) {
  const auto quantize_loop = []<class Q>() -> QuantizeV2Loop { return &quantize_slices<Q>; };
  const auto dequantize_loop = []<class Q>() -> DequantizeLoop { return &dequantize_slices<Q>; };
  MR_TRY(ops.add({
      .name = "QuantizeV2",
      .doc = "Floats as numbers of a quantized type, which stand for steps of a range; and that "
             "range, which has 0 in it and is not too small.",
      .signature = str_cat("input: float, min_range: float, max_range: float -> output: T, "
                           "output_min: float, output_max: float | T: ",
                           kQuantizedTypes, ", ", kModes,
                           ", round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = "
                           "'HALF_AWAY_FROM_ZERO', narrow_range: bool = false, axis: int = -1, "
                           "ensure_minimum_range: float = 0.01"),
      .infer = infer_ranges,
      .cpu = kernel_with(quantized_floats,
                         BoundByKept<QuantizeV2Loop, decltype(quantize_loop)>{quantize_loop, true},
                         BoundQuantizeHow()),
      .not_differentiable = "its result is steps",
      .examples = {"[1 1.25 1.75 127 255 500], 0, 255 -> [1 1 2 127 255 255], 0, 255 | T = quint8, "
                   "mode = 'MIN_FIRST'",
                   "[-1 0 0.5 2], 0, 1 -> [-128 -128 -1 127], 0, 1 | T = qint8",
                   "[[-1 0.25] [1 -4]], [-1 -2], [0.5 0.5] -> [[-128 32] [64 -128]], [-1 -2], "
                   "[0.9921875 1.984375] | T = qint8, mode = 'SCALED', axis = 0, "
                   "round_mode = 'HALF_TO_EVEN'"},
  }));
  return ops.add({
      .name = "Dequantize",
      .doc = "The floats that numbers of a quantized type stand for, which are steps of a range.",
      .signature = str_cat("input: T, min_range: float, max_range: float -> output: dtype | T: ",
                           kQuantizedTypes, ", ", kModes,
                           ", narrow_range: bool = false, axis: int = -1, "
                           "dtype: {bfloat16, float} = float"),
      .infer = infer_ranges,
      .cpu = kernel_with(
          dequantize,
          BoundByKept<DequantizeLoop, decltype(dequantize_loop)>{dequantize_loop, false},
          BoundQuantizeHow()),
      .not_differentiable = "its input is steps",
      .examples = {"[0 51 255], 1, 6 -> [1 2 6] | T = quint8",
                   "[1 2 255], 0, 255 -> [1 2 255] | T = quint8, mode = 'MIN_FIRST', dtype = float",
                   "[[-127 64] [127 0]], [-1 -1], [127 0.5] -> [[-127 64] [1 0]] | T = qint8, "
                   "mode = 'SCALED', axis = 0, narrow_range = true, dtype = float"},
  });
}

}  // namespace millrace
