// Two batches of matrices whose leading axes broadcast: which matrix of each goes with which.
#pragma once

#include "millrace/ops/linalg/batches.h"

namespace millrace {

class Pairs {
 public:
  // Errors: INVALID_ARGUMENT if a rank is below 2 or the batches do not broadcast.
  static Result<Pairs> of(const Tensor& a, const Tensor& b);

  Batch a, b;
  int64_t count = 0;

  int64_t of_a(int64_t i) const { return a_is_whole_ ? i : places_a_[static_cast<size_t>(i)]; }
  int64_t of_b(int64_t i) const { return b_is_whole_ ? i : places_b_[static_cast<size_t>(i)]; }
  // A result with matrices of a size.
  Result<Shape> shape(int64_t rows, int64_t columns) const;

 private:
  std::vector<int64_t> leading_;
  bool a_is_whole_ = true, b_is_whole_ = true;
  std::vector<int64_t> places_a_, places_b_;
};

}  // namespace millrace
