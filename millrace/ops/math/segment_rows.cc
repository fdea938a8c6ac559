#include "millrace/ops/math/segment_rows.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "millrace/op/gradient.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

template <class T>
void set_to_limit(Tensor& tensor, Empty empty) {
  using Limits = std::numeric_limits<cpu::Math<T>>;
  cpu::Math<T> limit = empty == Empty::lowest ? Limits::lowest() : Limits::max();
  // The limits of the narrow floats are not those of the type that they are computed in.
  if constexpr (std::is_same_v<T, Half>) limit = empty == Empty::lowest ? -65504.f : 65504.f;
  if constexpr (std::is_same_v<T, BFloat16>)
    limit = empty == Empty::lowest ? -0x1.fep127f : 0x1.fep127f;
  for (T& element : tensor.mutable_flat<T>()) element = static_cast<T>(limit);
}

}  // namespace

Result<FoldLoops> BoundFolding::read(const KernelSpec& spec) const {
  MR_ASSIGN(const cpu::BinaryLoop fold, cpu::LoopFor{folding.loop_for}.read(spec));
  MR_ASSIGN(const cpu::BinaryLoop divide, cpu::LoopFor{quotient_loop}.read(spec));
  return FoldLoops{folding, fold, divide};
}

Result<Tensor> empty_segments(DType dtype, const Shape& shape, Empty empty) {
  MR_ASSIGN(Tensor made, Tensor::zeros(dtype, shape));
  if (empty == Empty::zero) return made;
  if (empty == Empty::one) {
    MR_ASSIGN(const Tensor one, scalar_of(dtype, 1));
    const Strides everywhere(shape.rank(), 0);
    return copied_box(shape, one, {0, everywhere}, {});
  }
  using Set = void (*)(Tensor&, Empty);
  const Set set =
      cpu::pick<Set>(cpu::Real(), dtype, []<class T>() -> Set { return &set_to_limit<T>; });
  if (set != nullptr) set(made, empty);
  return made;
}

Result<Tensor> divisor_of(DType dtype, int64_t number, Folding::By by) {
  const auto n = static_cast<double>(number);
  return scalar_of(dtype, by == Folding::By::number ? n : std::sqrt(n));
}

Status fold_rows(const RowsIn& in, std::span<const int64_t> rows, std::span<const int64_t> ids,
                 const FoldLoops& loops, Tensor& out, CancelProbe probe) {
  char* const all = static_cast<char*>(out.mutable_data());
  const bool divides = loops.folding.divide != Folding::By::nothing;
  const int64_t segments = in.length == 0 ? 0 : out.num_elements() / in.length;
  std::vector<int64_t> counts(divides ? static_cast<size_t>(segments) : 0, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || in.length == 0) continue;
    const int64_t row = rows.empty() ? static_cast<int64_t>(i) : rows[i];
    char* to = all + ids[i] * in.bytes;
    loops.fold(to, 1, in.data + row * in.bytes, 1, to, in.length);
    if (divides) ++counts[static_cast<size_t>(ids[i])];
    if (!probe.go_on(in.length)) return probe.status();
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 2) continue;
    MR_ASSIGN(const Tensor by, divisor_of(out.dtype(), counts[i], loops.folding.divide));
    char* to = all + static_cast<int64_t>(i) * in.bytes;
    loops.divide(to, 1, by.data(), 0, to, in.length);
  }
  return {};
}

RowsIn::RowsIn(const Tensor& tensor, int64_t number)
    : data(static_cast<const char*>(tensor.data())),
      length(number == 0 ? 0 : tensor.num_elements() / number),
      bytes(length * static_cast<int64_t>(dtype_size(tensor.dtype()))) {}

void clear_gaps(Tensor& out, std::span<const int64_t> ids) {
  const int64_t segments = out.shape().dim(0);
  if (out.num_elements() == 0) return;
  const RowsIn rows(out, segments);
  char* const all = static_cast<char*>(out.mutable_data());
  size_t next = 0;
  for (int64_t segment = 0; segment < segments; ++segment) {
    const bool has_rows = next < ids.size() && ids[next] == segment;
    if (!has_rows) std::memset(all + segment * rows.bytes, 0, static_cast<size_t>(rows.bytes));
    while (next < ids.size() && ids[next] == segment) ++next;
  }
}

Result<int64_t> read_segments(const Tensor& tensor) {
  if (!tensor.shape().is_scalar())
    return invalid("num_segments should be a scalar, not shape ", tensor.shape().to_string());
  MR_ASSIGN(const int64_t segments, read_integer(tensor, "num_segments"));
  if (segments >= 0) return segments;
  return invalid("Input num_segments == ", segments, " must not be negative.");
}

// In the order in which TensorFlow looks: how many segments there are follows from the last id.
Status check_sorted(std::span<const int64_t> ids) {
  if (ids.empty()) return {};
  if (ids.back() < 0)
    return invalid("segment ids must be >= 0: segment_ids[", ids.size() - 1, "] = ", ids.back());
  if (ids.back() == std::numeric_limits<int64_t>::max())
    return invalid("segment ids must be < 2^63 - 1");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + 1 < ids.size() && ids[i + 1] < ids[i]) {
      return invalid("segment ids are not increasing: segment_ids[", i + 1, "] = ", ids[i + 1],
                     " after ", ids[i]);
    }
    if (ids[i] >= 0 && ids[i] <= ids.back()) continue;
    return invalid("Segment id ", ids[i], " out of range [0, ", ids.back() + 1,
                   "), possibly because 'segment_ids' input is not sorted: segment_ids[", i,
                   "] = ", ids[i]);
  }
  return {};
}

Result<Shape> segments_shape(int64_t segments, const Shape& data) {
  std::vector<int64_t> dims(data.dims().begin(), data.dims().end());
  dims[0] = segments;
  return Shape::create(dims);
}

Result<int64_t> number_of_segments(KernelContext& context, std::span<const int64_t> ids, int slot) {
  const int64_t needed = ids.empty() ? 0 : ids.back() + 1;
  if (context.num_inputs() <= slot) return needed;
  MR_ASSIGN(const int64_t segments, read_segments(context.input(slot)));
  if (needed <= segments) return segments;
  return invalid("segment ids must be < num_segments: ", needed - 1, " with num_segments ",
                 segments);
}

}  // namespace millrace
