// Bins: how often each number comes, row by row. What dense, sparse and ragged counts share.
//
//   MR_ASSIGN(Bins bins, Bins::create({.rows = 2, .size = 4, .weights = weights, .add = add}));
//   for (size_t i = 0; i < values.size(); ++i) MR_TRY(bins.count(i, values[i], rows[i]));
//   return std::move(bins).take();
#pragma once

#include <optional>
#include <string_view>

#include "millrace/ops/loops/elementwise.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// The number of bins that a tensor says.
// Errors: INVALID_ARGUMENT for one that is no scalar, or negative.
Result<int64_t> read_number_of_bins(const Tensor& size);

class Bins {
 public:
  struct Options {
    std::optional<int64_t> rows = {};  // none: the bins are a vector
    int64_t size = 0;                  // of a row
    bool only_marks = false;           // 1 where a number comes at all; weights count for nothing
    Tensor weights;                    // of the bins' type; one for each element, or none at all
    cpu::BinaryLoop add = nullptr;     // of that type
    std::string_view refusal = "Input must be non-negative.";  // of a negative number
  };
  // All bins 0. Errors: RESOURCE_EXHAUSTED.
  static Result<Bins> create(Options options);

  // Counts element i, which is `value`, in a row that is there; one past the last bin is left out.
  // Errors: INVALID_ARGUMENT for a negative one.
  Status count(size_t i, int64_t value, int64_t row);

  Tensor take() && { return std::move(made_); }

 private:
  Bins(Options options, Tensor made, Tensor unit);

  const Options options_;
  const Tensor unit_;  // what one element counts that has no weight
  const int64_t width_;
  Tensor made_;
  const char* weights_ = nullptr;  // null if all count the same
  char* bins_ = nullptr;
};

}  // namespace millrace
