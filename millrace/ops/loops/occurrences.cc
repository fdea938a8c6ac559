#include "millrace/ops/loops/occurrences.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"

namespace millrace {
namespace {

struct Occurrence {
  int64_t row, value;
  size_t place;  // of the value, which is that of its weight
};

bool is_same_number(const Occurrence& a, const Occurrence& b) {
  return a.row == b.row && a.value == b.value;
}

// How many numbers a row of the result has.
Result<int64_t> size_of_row(int64_t largest, const OccurrenceLimits& limits) {
  if (limits.most >= 0) return limits.most;
  if (largest == std::numeric_limits<int64_t>::max())
    return invalid("the value ", largest, " is too large to be counted: no size is above it");
  return std::max(largest + 1, limits.least);
}

}  // namespace

Result<OccurrenceLimits> OccurrenceLimits::Bound::read(const KernelSpec& spec) const {
  MR_ASSIGN(const int64_t least, spec.attrs.integer("minlength"));
  MR_ASSIGN(const int64_t most, spec.attrs.integer("maxlength"));
  MR_ASSIGN(const bool only_marks, spec.attrs.boolean("binary_output"));
  return OccurrenceLimits{.least = least, .most = most, .only_marks = only_marks};
}

Status count_occurrences(KernelContext& context, std::span<const int64_t> values,
                         const Occurrences& how) {
  if (how.rows < 1)
    return invalid("there are ", how.rows, " rows, and counts need one or more of them");
  CancelProbe probe(context);
  std::vector<Occurrence> found;
  int64_t largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t value = values[i];
    if (value < 0) {
      return invalid("Input values must all be non-negative, but there is ", value, " at place ",
                     i);
    }
    if (how.limits.most >= 0 && value >= how.limits.most) continue;
    largest = std::max(largest, value);
    found.push_back({how.rows_of_values ? (*how.rows_of_values)[i] : 0, value, i});
    if (!probe.go_on(1)) return probe.status();
  }
  // Weights are added in the order in which they came: sums of floats depend on it.
  std::ranges::sort(found, [](const Occurrence& a, const Occurrence& b) {
    return std::tie(a.row, a.value, a.place) < std::tie(b.row, b.value, b.place);
  });
  int64_t number = 0;
  for (size_t i = 0; i < found.size(); ++i)
    if (i == 0 || !is_same_number(found[i - 1], found[i])) ++number;
  MR_ASSIGN(const int64_t size, size_of_row(largest, how.limits));

  const int64_t rank = how.rows_of_values ? 2 : 1;
  const DType dtype = how.weights.dtype();
  const auto width = static_cast<int64_t>(dtype_size(dtype));
  MR_ASSIGN(Tensor places, context.allocate(0, Shape{number, rank}));
  MR_ASSIGN(Tensor counts, Tensor::zeros(dtype, {number}));
  MR_ASSIGN(const Tensor unit, scalar_of(dtype, 1));
  const bool is_weighed = !how.limits.only_marks && how.weights.num_elements() > 0;
  const auto* const weights = static_cast<const char*>(how.weights.data());
  int64_t* place = places.mutable_flat<int64_t>().data();
  auto* const first = static_cast<char*>(counts.mutable_data());
  int64_t last = -1;  // the count that is being made
  for (size_t i = 0; i < found.size(); ++i) {
    const bool is_first = i == 0 || !is_same_number(found[i - 1], found[i]);
    if (is_first) {
      ++last;
      if (rank == 2) *place++ = found[i].row;
      *place++ = found[i].value;
    }
    char* const count = first + last * width;
    const void* const weight =
        is_weighed ? weights + static_cast<int64_t>(found[i].place) * width : unit.data();
    if (!how.limits.only_marks) {
      how.add(count, 1, weight, 1, count, 1);
    } else if (is_first) {
      std::memcpy(count, weight, static_cast<size_t>(width));
    }
    if (!probe.go_on(1)) return probe.status();
  }
  context.set_output(0, std::move(places));
  context.set_output(1, std::move(counts));
  context.set_output(
      2, rank == 2 ? Tensor::vector<int64_t>({how.rows, size}) : Tensor::vector<int64_t>({size}));
  return {};
}

void set_occurrences(InferContext& context, int64_t rank) {
  context.set_output(0, PartialShape{kUnknownDim, rank});
  context.set_output(1, PartialShape::of_rank(1));
  context.set_output(2, PartialShape{rank});
}

}  // namespace millrace
