// Part of families.h: register_ragged_ranges.
#include <cmath>
#include <limits>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"

namespace millrace {
namespace {

// How many steps there are from start to below (or above) limit; -1 if they are too many to count.
template <class M>
int64_t range_length(M start, M limit, M delta) {
  if (delta > 0 ? !(start < limit) : !(start > limit)) return 0;
  if constexpr (std::is_integral_v<M>) {
    const uint64_t distance = delta > 0
                                  ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step =
        delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t length = (distance - 1) / step + 1;
    return length > (uint64_t{1} << 62) ? -1 : static_cast<int64_t>(length);
  } else {
    // In the type itself, as TensorFlow: its rounding decides whether the last step counts.
    const M length = std::ceil(std::abs((limit - start) / delta));
    return length < M(4e18) ? static_cast<int64_t>(length) : -1;
  }
}

template <class T>
Status ragged_range(KernelContext& context) {
  using M = cpu::Math<T>;
  static constexpr std::string_view kNames[] = {"starts", "limits", "deltas"};
  int64_t rows = 1;
  bool is_vector = false;
  for (int slot = 0; slot < 3; ++slot) {
    const Shape& shape = context.input(slot).shape();
    if (shape.rank() > 1) return invalid(kNames[slot], " must be a scalar or vector");
    if (shape.rank() == 0) continue;
    if (is_vector && shape.dim(0) != rows)
      return invalid("starts, limits, and deltas must have the same shape");
    rows = shape.dim(0);
    is_vector = true;
  }
  const auto element = [&](int slot, int64_t row) {
    const Tensor& of = context.input(slot);
    return static_cast<M>(of.flat<T>()[of.shape().rank() == 0 ? 0 : static_cast<size_t>(row)]);
  };
  Splits splits = {0};
  for (int64_t row = 0; row < rows; ++row) {
    const M delta = element(2, row);
    if (delta == 0) return invalid("Requires delta != 0");
    const int64_t length = range_length<M>(element(0, row), element(1, row), delta);
    if (length < 0) {
      return invalid("Requires ((limit - start) / delta) <= ", std::numeric_limits<int64_t>::max(),
                     ": row ", row, " of the ranges has too many elements");
    }
    int64_t end = 0;
    const bool is_too_far =
        __builtin_add_overflow(splits.back(), length, &end) ||
        (context.output_dtype(0) == DType::i32 && end > std::numeric_limits<int32_t>::max());
    if (is_too_far) {
      return invalid("The total range size overflowed in row ", row, " of ", rows,
                     ": splits of the type ", dtype_name(context.output_dtype(0)),
                     " can't hold it");
    }
    splits.push_back(end);
  }
  MR_ASSIGN(Tensor made_splits, splits_tensor(context.output_dtype(0), splits));
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, {splits.back()}));
  T* out = made.mutable_flat<T>().data();
  CancelProbe probe(context);
  for (int64_t row = 0; row < rows; ++row) {
    M value = element(0, row);
    const M delta = element(2, row);
    const int64_t length = splits[static_cast<size_t>(row) + 1] - splits[static_cast<size_t>(row)];
    for (int64_t i = 0; i < length; ++i, value = cpu::add(value, delta)) {
      *out++ = static_cast<T>(value);
      if (!probe.go_on(1)) return probe.status();
    }
  }
  context.set_output(0, std::move(made_splits));
  context.set_output(1, std::move(made));
  return {};
}

using RaggedRange = Status (*)(KernelContext&);

Status run_ragged_range(KernelContext& context, RaggedRange range) { return range(context); }

Status infer_ragged_range(InferContext& context) {
  int64_t rows = 1;
  for (int slot = 0; slot < 3; ++slot) {
    const PartialShape& shape = context.input(slot);
    if (!shape.has_rank()) {
      rows = kUnknownDim;
    } else if (shape.rank() > 1) {
      return invalid("starts, limits and deltas must be scalars or vectors");
    } else if (shape.rank() == 1) {
      rows = shape.dim(0);
      break;
    }
  }
  const bool is_known = rows >= 0 && rows < std::numeric_limits<int64_t>::max();
  context.set_output(0, PartialShape{is_known ? rows + 1 : kUnknownDim});
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

}  // namespace

Status register_ragged_ranges(OpRegistry& ops) {
  return ops.add({
      .name = "RaggedRange",
      .doc = "For each row the numbers from its start to below its limit, by its delta.",
      .signature = "starts: T, limits: T, deltas: T -> rt_nested_splits: Tsplits, "
                   "rt_dense_values: T | T: {bfloat16, float, double, int32, int64} = int32, "
                   "Tsplits: {int32, int64} = int64",
      .infer = infer_ragged_range,
      .cpu = kernel_with(run_ragged_range,
                         cpu::loop_of_input<cpu::Types<BFloat16, float, double, int32_t, int64_t>>(
                             []<class T>() { return &ragged_range<T>; })),
      .not_differentiable = "as in TensorFlow: ranges have no gradient",
      .examples = {"[0 5 8], [3 5 12], 2 -> [0 2 2 4], [0 2 8 10]",
                   "4, [1 4], -1 -> [0 3 3], [4 3 2]"},
  });
}

}  // namespace millrace
