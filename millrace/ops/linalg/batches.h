// Batches of matrices, as the kernels of this room see them: a tensor whose last two axes are a
// matrix and whose others count matrices.
//
// Kernels compute in float, double and complex128; half, bfloat16 and complex64 are widened on the
// way in and narrowed on the way out. (Eigen's decompositions of complex64 would be a minute of
// each build, and few programs use them.) Each matrix is one piece of work: matrices are shared
// with the step's pool, one of them never is, and a step that is cancelled ends between two
// matrices.
#pragma once

#include <algorithm>
#include <complex>

#include "absl/functional/function_ref.h"

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What matrices are computed in.
using MatrixTypes = cpu::Types<float, double, std::complex<double>>;

struct Batch {
  std::vector<int64_t> leading;  // axes that count matrices
  int64_t count = 0, rows = 0, columns = 0;

  int64_t elements() const { return rows * columns; }
  // The shape with matrices of another size, or with other trailing axes.
  Result<Shape> shape(std::initializer_list<int64_t> trailing) const;
};

// Of input `slot`. Errors: INVALID_ARGUMENT in TensorFlow's words.
Result<Batch> batch_of(const Tensor& tensor, int slot);
Result<Batch> square_batch_of(const Tensor& tensor, int slot);

// What matrices of a type are computed in.
DType matrix_type(DType dtype);
// Input `slot` in the type that it is computed in.
Result<Tensor> wide_input(KernelContext& context, int slot);
// Input `slot` in complex128, also if it is of reals.
Result<Tensor> complex_input(KernelContext& context, int slot);
// A tensor as output `slot`, in the output's type.
Status give(KernelContext& context, int slot, const Tensor& wide);

// work(i) for each matrix, which is worth `cost` steps. Errors: those of work; RESOURCE_EXHAUSTED
// if memory runs out while a matrix is taken apart; CANCELLED.
Status each_matrix(KernelContext& context, int64_t count, double cost,
                   absl::FunctionRef<Status(int64_t)> work);

// A loop for the type that input 0 is computed in: for kernel_with(). What it reads comes from
// wide_input(), never from the context, where it may be narrower.
template <class Make>
struct WideLoop {
  Make make;

  using Loop = decltype(std::declval<const Make&>().template operator()<float>());
  Result<Loop> read(const KernelSpec& spec) const {
    const DType dtype = matrix_type(spec.inputs[0].dtype);
    const Loop loop = cpu::pick<Loop>(MatrixTypes(), dtype, make);
    if (loop == nullptr) return cpu::no_loop(spec, dtype);
    return loop;
  }
};
template <class Make>
WideLoop<Make> wide_loop(Make make) {
  return {make};
}

// --- rules for shapes ---

// Input `slot` with at least two axes, the last two of one size if `square`.
struct PartialBatch {
  bool has_rank = false;
  std::vector<int64_t> leading;
  int64_t rows = kUnknownDim, columns = kUnknownDim;

  // Of unknown rank if the batch is.
  Result<PartialShape> shape(std::initializer_list<int64_t> trailing) const;
};
Result<PartialBatch> partial_batch(const InferContext& context, int slot);
Result<PartialBatch> partial_square_batch(const InferContext& context, int slot);

// Output 0 is as input 0, which is square.
Status infer_square(InferContext& context);

}  // namespace millrace
