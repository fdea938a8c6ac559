// Part of families.h: register_eliminations.
#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"

namespace millrace {
namespace {

template <class T>
using Elimination = Eigen::PartialPivLU<Matrix<T>>;

// By the smallest pivot, which NaN makes false.
template <class T>
bool is_invertible(const Elimination<T>& lu) {
  return lu.matrixLU().diagonal().cwiseAbs().minCoeff() > 0;
}

// --- inverses ---

using InverseLoop = Status (*)(KernelContext& context, const Batch& batch, bool adjoint,
                               const Tensor& a, Tensor& made);

template <class T>
Status inverse_of(KernelContext& context, const Batch& batch, bool adjoint, const Tensor& a,
                  Tensor& made) {
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, 2 * cubed(n), [&](int64_t i) -> Status {
    const auto from = matrix_at<T>(a, i, n, n);
    const Elimination<T> lu(adjoint ? Matrix<T>(from.adjoint()) : Matrix<T>(from));
    if (!is_invertible(lu)) return invalid("Input is not invertible.");
    matrix_at<T>(made, i, n, n) = lu.inverse();
    return {};
  });
}

Status inverse(KernelContext& context, InverseLoop loop, bool adjoint) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), a.shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, batch, adjoint, a, made));
  return give(context, 0, made);
}

// --- solving ---

using SolveLoop = Status (*)(KernelContext& context, const Batch& batch, int64_t columns,
                             bool adjoint, const Tensor& a, const Tensor& b, Tensor& made);

template <class T>
Status solution_of(KernelContext& context, const Batch& batch, int64_t columns, bool adjoint,
                   const Tensor& a, const Tensor& b, Tensor& made) {
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, cubed(n) + static_cast<double>(n * n * columns),
                     [&](int64_t i) -> Status {
                       const auto from = matrix_at<T>(a, i, n, n);
                       const Elimination<T> lu(from);
                       if (!is_invertible(lu)) return invalid("Input matrix is not invertible.");
                       const auto right = matrix_at<T>(b, i, n, columns);
                       auto to = matrix_at<T>(made, i, n, columns);
                       if (adjoint)
                         to = lu.adjoint().solve(right);
                       else
                         to = lu.solve(right);
                       return {};
                     });
}

Status solve(KernelContext& context, SolveLoop loop, bool adjoint) {
  const Tensor &matrix = context.input(0), &rhs = context.input(1);
  MR_ASSIGN(const Batch batch, square_batch_of(matrix, 0));
  if (rhs.shape().rank() != matrix.shape().rank()) {
    return invalid("All input tensors must have the same rank: they are ",
                   matrix.shape().to_string(), " and ", rhs.shape().to_string());
  }
  MR_ASSIGN(const Batch right, batch_of(rhs, 1));
  if (right.leading != batch.leading) {
    return invalid("All input tensors must have the same outer dimensions: they are ",
                   matrix.shape().to_string(), " and ", rhs.shape().to_string());
  }
  if (right.rows != batch.rows) {
    return invalid("Input matrix and rhs are incompatible: they are ", matrix.shape().to_string(),
                   " and ", rhs.shape().to_string());
  }
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(const Tensor b, wide_input(context, 1));
  MR_ASSIGN(Tensor made, Tensor::allocate(b.dtype(), b.shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, batch, right.columns, adjoint, a, b, made));
  return give(context, 0, made);
}

Status infer_solve(InferContext& context) {
  MR_ASSIGN(const PartialBatch a, partial_square_batch(context, 0));
  MR_ASSIGN(const PartialBatch b, partial_batch(context, 1));
  if (!a.has_rank || !b.has_rank) {
    context.set_output(0, PartialShape::unknown());
    return {};
  }
  MR_ASSIGN(const PartialShape like, b.shape({b.rows, b.columns}));
  MR_ASSIGN(const PartialShape rows, a.shape({a.rows, b.columns}));
  return context.set_output(0, like.merge(rows));
}

// --- determinants ---

// The sign of a pivot; NaN for one that is none, or infinite in some direction of the plane.
template <class T>
T direction(const T& pivot) {
  if constexpr (!Eigen::NumTraits<T>::IsComplex) {
    if (std::isinf(pivot)) return std::copysign(T(1), pivot);
  }
  const auto size = std::abs(pivot);
  return size == 0 ? T(0) : T(pivot / size);
}

using DeterminantLoop = Status (*)(KernelContext& context, const Batch& batch, const Tensor& a,
                                   Tensor& first, Tensor* logarithm);

// The determinant; or its sign in `first` and the logarithm of its size, which does not overflow.
template <class T>
Status determinant_of(KernelContext& context, const Batch& batch, const Tensor& a, Tensor& first,
                      Tensor* logarithm) {
  using Real = typename Eigen::NumTraits<T>::Real;
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, cubed(n) / 2, [&](int64_t i) -> Status {
    T sign(1);
    Real log_size(0);
    T product(1);
    if (n > 0) {
      const Elimination<T> lu(matrix_at<T>(a, i, n, n));
      product = lu.determinant();
      sign = T(static_cast<Real>(lu.permutationP().determinant()));
      for (int64_t k = 0; k < n; ++k) {
        const T pivot = lu.matrixLU()(k, k);
        sign *= direction(pivot);
        log_size += std::log(std::abs(pivot));
      }
      if (Eigen::numext::isnan(sign) || std::isnan(log_size)) {
        log_size = std::numeric_limits<Real>::quiet_NaN();
        sign = T(log_size);
      }
    }
    static_cast<T*>(first.mutable_data())[i] = logarithm != nullptr ? sign : product;
    if (logarithm != nullptr) static_cast<T*>(logarithm->mutable_data())[i] = T(log_size);
    return {};
  });
}

Status determinant(KernelContext& context, DeterminantLoop loop) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(const Shape shape, batch.shape({}));
  MR_ASSIGN(Tensor first, Tensor::allocate(a.dtype(), shape));
  if (context.num_outputs() == 1) {
    MR_TRY(loop(context, batch, a, first, nullptr));
    return give(context, 0, first);
  }
  MR_ASSIGN(Tensor logarithm, Tensor::allocate(a.dtype(), shape));
  MR_TRY(loop(context, batch, a, first, &logarithm));
  MR_TRY(give(context, 0, first));
  return give(context, 1, logarithm);
}

Status infer_determinant(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_square_batch(context, 0));
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    MR_TRY(context.set_output(slot, batch.shape({})));
  return {};
}

// --- Lu ---

using LuLoop = Status (*)(KernelContext& context, const Batch& batch, const Tensor& a, Tensor& made,
                          Tensor& places);

template <class T>
Status lu_of(KernelContext& context, const Batch& batch, const Tensor& a, Tensor& made,
             Tensor& places) {
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, cubed(n) / 2, [&](int64_t i) -> Status {
    const Elimination<T> lu(matrix_at<T>(a, i, n, n));
    if (!is_invertible(lu)) return invalid("Input is not invertible.");
    matrix_at<T>(made, i, n, n) = lu.matrixLU();
    const Eigen::PermutationMatrix<Eigen::Dynamic> rows = lu.permutationP().transpose();
    for (int64_t k = 0; k < n; ++k) {
      const int row = rows.indices()[k];
      if (places.dtype() == DType::i32)
        static_cast<int32_t*>(places.mutable_data())[i * n + k] = row;
      else
        static_cast<int64_t*>(places.mutable_data())[i * n + k] = row;
    }
    return {};
  });
}

Status take_apart(KernelContext& context, LuLoop loop) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), a.shape()));
  MR_ASSIGN(const Shape shape, batch.shape({batch.rows}));
  MR_ASSIGN(Tensor places, context.allocate(1, shape));
  if (made.num_elements() > 0) MR_TRY(loop(context, batch, a, made, places));
  context.set_output(1, std::move(places));
  return give(context, 0, made);
}

Status infer_lu(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_square_batch(context, 0));
  MR_TRY(context.set_output(0, batch.shape({batch.rows, batch.columns})));
  return context.set_output(1, batch.shape({batch.rows}));
}

constexpr const char* kAll = "{double, float, half, complex64, complex128}";

Status add_inverse(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "The inverse of each matrix, or of its adjoint.",
      .signature = "input: T -> output: T | adjoint: bool = false, T: " + types,
      .infer = infer_square,
      .cpu = kernel_with(inverse, wide_loop([]<class T>() { return &inverse_of<T>; }),
                         boolean("adjoint")),
      .grad = grad::matrix_inverse,
      .cost = Cost::heavy,
      .examples = {"[[4 0] [2 1]] -> [[0.25 0] [-0.5 1]]",
                   "[[[4 0] [2 1]]] -> [[[0.25 -0.5] [0 1]]] | adjoint = true"},
  });
}

Status add_solve(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "X with A X = B, or A^H X = B, for each matrix A.",
      .signature = "matrix: T, rhs: T -> output: T | adjoint: bool = false, T: " + types,
      .infer = infer_solve,
      .cpu = kernel_with(solve, wide_loop([]<class T>() { return &solution_of<T>; }),
                         boolean("adjoint")),
      .grad = grad::matrix_solve,
      .cost = Cost::heavy,
      .examples = {"[[4 0] [2 1]], [[8] [5]] -> [[2] [1]]",
                   "[[[4 0] [2 1]]], [[[8] [5]]] -> [[[-0.5] [5]]] | adjoint = true"},
  });
}

Status add_determinant(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "The determinant of each matrix.",
      .signature = "input: T -> output: T | T: " + types,
      .infer = infer_determinant,
      .cpu = kernel_with(determinant, wide_loop([]<class T>() { return &determinant_of<T>; })),
      .grad = grad::determinant,
      .cost = Cost::heavy,
      .examples = {"[[4 2] [2 3]] -> 8", "[[[4 1] [2 3]] [[0 1] [1 0]]] -> [10 -1]"},
  });
}

}  // namespace

Status register_eliminations(OpRegistry& ops) {
  MR_TRY(add_inverse(ops, "MatrixInverse", kAll));
  MR_TRY(add_inverse(ops, "BatchMatrixInverse", "{double, float}"));
  MR_TRY(add_solve(ops, "MatrixSolve", kAll));
  MR_TRY(add_solve(ops, "BatchMatrixSolve", "{double, float}"));
  MR_TRY(add_determinant(ops, "MatrixDeterminant", "{half, float, double, complex64, complex128}"));
  MR_TRY(add_determinant(ops, "BatchMatrixDeterminant", "{float, double, complex64, complex128}"));
  MR_TRY(ops.add({
      .name = "LogMatrixDeterminant",
      .doc = "The sign of the determinant of each matrix, and the logarithm of its size.",
      .signature = "input: T -> sign: T, log_abs_determinant: T | T: {half, float, double, "
                   "complex64, complex128}",
      .infer = infer_determinant,
      .cpu = kernel_with(determinant, wide_loop([]<class T>() { return &determinant_of<T>; })),
      .grad = grad::log_determinant,
      .cost = Cost::heavy,
      .examples = {"[[0 1] [1 0]] -> -1, 0", "[[[1]] [[-1]]] -> [1 -1], [0 0]"},
  }));
  return ops.add({
      .name = "Lu",
      .doc = "L and U of each matrix in one, the ones of L's diagonal left out, and which row came "
             "where.",
      .signature = str_cat("input: T -> lu: T, p: output_idx_type | T: ", kAll,
                           ", output_idx_type: {int32, int64} = int32"),
      .infer = infer_lu,
      .cpu = kernel_with(take_apart, wide_loop([]<class T>() { return &lu_of<T>; })),
      .not_differentiable = "TensorFlow has no gradient of Lu: take that of what it is used for",
      .cost = Cost::heavy,
      .examples = {"[[2 1] [4 8]] -> [[4 8] [0.5 -3]], [1 0]"},
  });
}

}  // namespace millrace
