// Accumulator: gradients of several workers, summed up until somebody takes what there is, on a
// device, shared by every graph that names it.
//
// A gradient comes with the global step at which its worker began. What is older than the
// accumulator's own step is dropped without a word: it was computed from values that are gone. A
// take waits until enough gradients came, gives their mean or sum, starts from nothing again, and
// moves the step on by one. Of a sparse accumulator gradients are rows with their indices; the mean
// of a row is over the gradients that had it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/op/resource.h"
#include "millrace/ops/state/awaited.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What two handles of one accumulator must agree on.
struct AccumulatorSpec {
  DType dtype = DType::invalid;
  PartialShape shape;  // of the gradients, where it is known
  bool is_mean = true;
  bool is_sparse = false;
};

// Some rows of a gradient. The indices are a vector, and grow.
struct GradientRows {
  Tensor indices;  // int64
  Tensor values;   // a row per index
  std::optional<Tensor> shape;
};

class Accumulator final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "accumulator";

  Accumulator(AccumulatorSpec spec, std::string name);
  ~Accumulator() override;

  const AccumulatorSpec& spec() const { return spec_; }
  // Errors: INVALID_ARGUMENT saying how `other` differs.
  Status check_same(const AccumulatorSpec& other) const;

  // Of a dense one. Errors: INVALID_ARGUMENT for another shape, unless the gradient is stale.
  Status apply(int64_t local_step, const Tensor& gradient);
  // Of a sparse one. Errors: as above.
  Status apply(int64_t local_step, const GradientRows& rows);
  int32_t count() const;
  void set_global_step(int64_t step);
  // `required` > 0. `done` gets the mean or the sum, and which rows it is of if it is sparse.
  void take(int64_t required, Cancellation* cancellation, Done<GradientRows> done);

  std::string description() const override;
  void close(const Status& why) override;

 private:
  struct Gathered {
    int64_t global_step = 0;
    int32_t count = 0;
    Tensor sum;                     // of what came since the last take, if count > 0
    std::vector<int64_t> indices;   // of its rows
    std::vector<int64_t> together;  // how many gradients are in each row
  };

  Status check_shape(const Tensor& gradient, const Gathered& gathered) const;
  Status check_rows(const GradientRows& rows, const Gathered& gathered) const;
  Status add(const Tensor& gradient, Gathered& gathered) const;
  Status add(const GradientRows& rows, Gathered& gathered) const;
  Result<GradientRows> taken(Gathered& gathered) const;
  Result<GradientRows> taken_rows(Gathered& gathered) const;

  const AccumulatorSpec spec_;
  const std::string name_;
  Awaited<Gathered> gathered_;
};

}  // namespace millrace
