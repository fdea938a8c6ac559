// Occurrences: which numbers come, row by row, and how often, as a sparse tensor that has no more
// places than there are elements. What DenseCountSparseOutput and its kin share; see bins.h for
// counts that have a place for every number.
//
//   MR_ASSIGN(const std::vector<int64_t> values, read_elements(context.input(0), "values"));
//   return count_occurrences(context, values, {.limits = limits, .weights = weights, .add = add});
#pragma once

#include <optional>
#include <span>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What the attributes minlength, maxlength and binary_output say.
struct OccurrenceLimits {
  int64_t least = -1;       // numbers that the result has at least
  int64_t most = -1;        // numbers from here on are left out; -1 if none is
  bool only_marks = false;  // 1 for a number that comes; weights count for nothing

  // They as something to bind to a kernel.
  struct Bound {
    Result<OccurrenceLimits> read(const KernelSpec& spec) const;
  };
};

struct Occurrences {
  // In which row each value is; none if the values are a vector, and the result is one.
  std::optional<std::span<const int64_t>> rows_of_values = {};
  int64_t rows = 1;  // how many there are; those of the values are among them
  OccurrenceLimits limits;
  Tensor weights;                 // one for each value, or none at all; of the result's type
  cpu::BinaryLoop add = nullptr;  // of that type
};

// Outputs 0 to 2: int64 places [n, rank] in row-major order, counts [n], int64 shape [rank]; the
// rank is 2 with rows, else 1. The last size is that of `most`, or what the largest number and
// `least` need. Errors: INVALID_ARGUMENT for negative values and for no rows; RESOURCE_EXHAUSTED.
Status count_occurrences(KernelContext& context, std::span<const int64_t> values,
                         const Occurrences& how);

// The rule of the three outputs; `rank` may be kUnknownDim.
void set_occurrences(InferContext& context, int64_t rank);

}  // namespace millrace
