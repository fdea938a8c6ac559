// Part of families.h: register_requantizations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/quantized.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/quantized_values.h"

namespace millrace {
namespace {

Result<float> range_end(KernelContext& context, int slot, std::string_view what) {
  const Tensor& end = context.input(slot);
  if (!end.shape().is_scalar())
    return invalid(what, " must be a scalar, got shape ", end.shape().to_string());
  if (std::isfinite(end.item<float>())) return end.item<float>();
  return invalid(what, " must be finite, not ", end.item<float>());
}

// Inputs 1 and 2.
Result<QuantizedRange> input_range(KernelContext& context) {
  QuantizedRange range{};
  MR_ASSIGN(range.min, range_end(context, 1, "input_min"));
  MR_ASSIGN(range.max, range_end(context, 2, "input_max"));
  return range;
}

// --- from one range to another ---

// 32 bits to 8 in fixed point, as TensorFlow does it: 16 bits are behind the point.
class FixedPoint {
 public:
  FixedPoint(QuantizedRange from, QuantizedRange to) {
    const float width = from.max - from.min, new_width = to.max - to.min;
    if (new_width == 0) return;
    const auto per_unit = static_cast<float>(255.0 / static_cast<double>(new_width));
    const auto middle = static_cast<float>((from.min + from.max) / 2.0);
    scale_ = whole(255.0 * kOne * static_cast<double>(width) / static_cast<double>(new_width));
    offset_ = whole(middle * per_unit * kOne) -
              whole(kOne * (static_cast<double>(to.min) * 255.0) / static_cast<double>(new_width)) +
              kOne / 2;
  }
  uint8_t operator()(int32_t number) const {
    const auto scaled = static_cast<int64_t>(static_cast<__int128>(number) * scale_ >> 32);
    return static_cast<uint8_t>(std::clamp<int64_t>((scaled + offset_) >> kShift, 0, 255));
  }

 private:
  static constexpr int kShift = 16;
  static constexpr int64_t kOne = 1 << kShift;
  // Far ranges end where sums of two still fit.
  static int64_t whole(double x) {
    return std::isnan(x) ? 0 : static_cast<int64_t>(std::clamp(x, -0x1p60, 0x1p60));
  }
  int64_t scale_ = 0, offset_ = kOne / 2;
};

using RequantizeLoop = Status (*)(const Tensor& from, QuantizedRange old_range,
                                  QuantizedRange new_range, Tensor& to, CancelProbe probe);

template <class From, class To>
Status requantize_loop(const Tensor& from, QuantizedRange old_range, QuantizedRange new_range,
                       Tensor& to, CancelProbe probe) {
  const From* const x = static_cast<const From*>(from.data());
  To* const y = static_cast<To*>(to.mutable_data());
  const auto convert = [&](auto one) {
    return probe.in_pieces(from.num_elements(), [&](int64_t begin, int64_t count) {
      for (int64_t i = begin; i < begin + count; ++i) y[i] = one(x[i]);
    });
  };
  if constexpr (std::is_same_v<From, int32_t> && std::is_same_v<To, uint8_t>) {
    return convert(FixedPoint(old_range, new_range));
  } else {
    const FromQuantized<From> read(old_range);
    const ToQuantized<To> write(new_range);
    return convert([&](From number) { return write(read(number)); });
  }
}

using QuantizedKept = cpu::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>;

template <class From>
RequantizeLoop requantize_loop_from(DType to) {
  return cpu::pick<RequantizeLoop>(
      QuantizedKept(), to, []<class To>() -> RequantizeLoop { return &requantize_loop<From, To>; });
}

// --- what of a range is used ---

using UsedLoop = Result<QuantizedRange> (*)(const Tensor& from, QuantizedRange range,
                                            CancelProbe probe);

// One number's float, by doubles: more exact than FromQuantized, as TensorFlow reads single ones.
template <class Q>
float float_of(Q number, QuantizedRange range) {
  if (range.min == range.max) return range.min;
  const double adjusted =
      static_cast<double>(range.max - range.min) * ((kSteps<Q> + 1) / kSteps<Q>);
  const double scale = adjusted / (kSteps<Q> + 1);
  const auto narrow = static_cast<float>(scale);
  const float first = std::round(range.min / narrow) * narrow;
  const double steps = static_cast<double>(number) - static_cast<double>(kLeastStep<Q>);
  return static_cast<float>(static_cast<double>(first) + steps * scale);
}

// The floats of the least number that there is, or 0 if that is less, and of the largest. Of no
// numbers they are, as in TensorFlow, those of the type's largest and of its least.
template <class Q>
Result<QuantizedRange> used_range(const Tensor& from, QuantizedRange range, CancelProbe probe) {
  const std::span numbers(static_cast<const Q*>(from.data()),
                          static_cast<size_t>(from.num_elements()));
  Q least = std::numeric_limits<Q>::max(), most = std::numeric_limits<Q>::lowest();
  MR_TRY(probe.in_pieces(from.num_elements(), [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) {
      least = std::min(least, numbers[static_cast<size_t>(i)]);
      most = std::max(most, numbers[static_cast<size_t>(i)]);
    }
  }));
  return QuantizedRange{std::min(0.f, float_of(least, range)), float_of(most, range)};
}

struct RequantizeLoops {
  RequantizeLoop convert = nullptr;
  UsedLoop used = nullptr;
};

struct BoundRequantize {
  Result<RequantizeLoops> read(const KernelSpec& spec) const {
    const DType from = kept_as(spec.inputs[0].dtype);
    RequantizeLoops loops;
    loops.used = cpu::pick<UsedLoop>(QuantizedKept(), from,
                                     []<class Q>() -> UsedLoop { return &used_range<Q>; });
    if (loops.used == nullptr) return cpu::no_loop(spec, from);
    if (spec.outputs[0].dtype == DType::f32) return loops;
    using LoopFrom = RequantizeLoop (*)(DType);
    const LoopFrom of_input =
        cpu::pick<LoopFrom>(QuantizedKept(), from,
                            []<class From>() -> LoopFrom { return &requantize_loop_from<From>; });
    loops.convert = of_input(kept_as(spec.outputs[0].dtype));
    if (loops.convert == nullptr) return cpu::no_loop(spec, spec.outputs[0].dtype);
    return loops;
  }
};

// --- the ops ---

void set_range(KernelContext& context, int slot, QuantizedRange range) {
  context.set_output(slot, Tensor::scalar(range.min));
  context.set_output(slot + 1, Tensor::scalar(range.max));
}

Status requantized(KernelContext& context, const RequantizeLoops& loops, QuantizedRange from,
                   QuantizedRange to) {
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(0).shape()));
  MR_TRY(loops.convert(context.input(0), from, to, made, CancelProbe(context)));
  context.set_output(0, std::move(made));
  set_range(context, 1, to);
  return {};
}

Status requantize(KernelContext& context, const RequantizeLoops& loops) {
  MR_ASSIGN(const QuantizedRange from, input_range(context));
  QuantizedRange to{};
  MR_ASSIGN(to.min, range_end(context, 3, "requested_output_min"));
  MR_ASSIGN(to.max, range_end(context, 4, "requested_output_max"));
  if (to.min > 0) return invalid("requested_output_min must be <= 0, but got ", to.min);
  if (to.max < to.min) {
    return invalid("requested_output_max must be >= requested_output_min, but got ", to.max,
                   " and ", to.min);
  }
  return requantized(context, loops, from, to);
}

Status shrink_range(KernelContext& context, const RequantizeLoops& loops) {
  MR_ASSIGN(const QuantizedRange from, input_range(context));
  MR_ASSIGN(const QuantizedRange used, loops.used(context.input(0), from, CancelProbe(context)));
  return requantized(context, loops, from, used);
}

Status tell_used_range(KernelContext& context, const RequantizeLoops& loops) {
  MR_ASSIGN(const QuantizedRange from, input_range(context));
  MR_ASSIGN(const QuantizedRange used, loops.used(context.input(0), from, CancelProbe(context)));
  set_range(context, 0, used);
  return {};
}

Status infer_requantized(InferContext& context) {
  for (int slot = 1; slot < context.num_inputs(); ++slot) MR_TRY(context.input_of_rank(slot, 0));
  context.set_output(0, context.num_outputs() == 3 ? context.input(0) : PartialShape::scalar());
  for (int slot = 1; slot < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::scalar());
  return {};
}

}  // namespace

Status register_requantizations(OpRegistry& ops) {
  constexpr const char* kTypes = "{qint8, quint8, qint32, qint16, quint16}";
  const std::string input = "input: Tinput, input_min: float, input_max: float";
  const std::string output = " -> output: out_type, output_min: float, output_max: float";
  const std::string types = str_cat(" | Tinput: ", kTypes, ", out_type: ", kTypes);
  constexpr const char* kSteps = "its input is steps";
  MR_TRY(ops.add({
      .name = "Requantize",
      .doc = "Numbers of a quantized type as those of another one and another range, which stand "
             "for the nearest floats.",
      .signature =
          input + ", requested_output_min: float, requested_output_max: float" + output + types,
      .infer = infer_requantized,
      .cpu = kernel_with(requantize, BoundRequantize()),
      .not_differentiable = kSteps,
      .examples =
          {"[-128 0 127], -12.8, 12.7, 0, 12.7 -> [-32768 -32768 32767], 0, 12.7 | Tinput = qint8, "
           "out_type = qint16",
           "[0 1073741824 2147483647], -255, 255, 0, 255 -> [0 128 255], 0, 255 | "
           "Tinput = qint32, out_type = quint8"},
  }));
  MR_TRY(ops.add({
      .name = "QuantizeDownAndShrinkRange",
      .doc = "Numbers of a quantized type as those of another one, whose range is what they use "
             "of theirs.",
      .signature = input + output + types,
      .infer = infer_requantized,
      .cpu = kernel_with(shrink_range, BoundRequantize()),
      .not_differentiable = kSteps,
      .examples = {"[0 51 102], 0, 255 -> [0 128 255], 0, 102 | Tinput = quint8, "
                   "out_type = quint8",
                   "[0 1073741824 2147483647], -255, 255 -> [0 128 255], 0, 255 | "
                   "Tinput = qint32, out_type = quint8"},
  }));
  return ops.add({
      .name = "RequantizationRange",
      .doc = "What numbers of a quantized type use of their range; its lower end is not above 0.",
      .signature = str_cat(input, " -> output_min: float, output_max: float | Tinput: ", kTypes),
      .infer = infer_requantized,
      .cpu = kernel_with(tell_used_range, BoundRequantize()),
      .not_differentiable = kSteps,
      .examples = {"[51 102], 0, 255 -> 0, 102 | Tinput = quint8",
                   "[-64 32], -128, 127 -> -64, 32 | Tinput = qint8"},
  });
}

}  // namespace millrace
