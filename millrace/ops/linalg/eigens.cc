// Part of families.h: register_eigens.
#include <Eigen/Eigenvalues>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"

namespace millrace {
namespace {

// Columns after columns is what Eigen's solvers are made for.
template <class T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

// `values` and `vectors` begin where those of a matrix do; vectors may be null.
using EigenLoop = Status (*)(KernelContext& context, const Batch& batch, const Tensor& a,
                             Tensor& values, Tensor* vectors);

// Only the lower triangle is read. Values come the smallest first.
template <class T>
Status self_adjoint_of(KernelContext& context, const Batch& batch, const Tensor& a, Tensor& values,
                       Tensor* vectors) {
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, 10 * cubed(n), [&](int64_t i) -> Status {
    const Eigen::SelfAdjointEigenSolver<Columns<T>> solver(
        matrix_at<T>(a, i, n, n),
        vectors != nullptr ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    if (solver.info() != Eigen::Success) {
      return invalid(
          "Self-adjoint eigen decomposition was not successful. The input might not be "
          "valid.");
    }
    matrix_at<T>(values, i, n, 1) = solver.eigenvalues().template cast<T>();
    if (vectors != nullptr) matrix_at<T>(*vectors, i, n, n) = solver.eigenvectors();
    return {};
  });
}

// Of matrices of any kind, real ones as complex ones.
Status general_of(KernelContext& context, const Batch& batch, const Tensor& a, Tensor& values,
                  Tensor* vectors) {
  using C = std::complex<double>;
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, 30 * cubed(n), [&](int64_t i) -> Status {
    const auto from = matrix_at<C>(a, i, n, n);
    const char* const kFailed =
        "Eigen decomposition was not successful. The input might not be valid.";
    if (!from.allFinite()) return invalid(kFailed);
    const Eigen::ComplexEigenSolver<Columns<C>> solver(from, vectors != nullptr);
    if (solver.info() != Eigen::Success) return invalid(kFailed);
    matrix_at<C>(values, i, n, 1) = solver.eigenvalues();
    if (vectors != nullptr) matrix_at<C>(*vectors, i, n, n) = solver.eigenvectors();
    return {};
  });
}

Result<Tensor> room_for_vectors(DType dtype, const Batch& batch, bool wants) {
  if (!wants) return Tensor::allocate(dtype, Shape{0});
  MR_ASSIGN(const Shape shape, batch.shape({batch.rows, batch.rows}));
  return Tensor::allocate(dtype, shape);
}

// `a` is input 0 in the type that it is computed in, which is that of what it has.
Status eigenvalues(KernelContext& context, EigenLoop loop, const Batch& batch, const Tensor& a,
                   bool wants) {
  MR_ASSIGN(const Shape shape, batch.shape({batch.rows}));
  MR_ASSIGN(Tensor values, Tensor::allocate(a.dtype(), shape));
  MR_ASSIGN(Tensor vectors, room_for_vectors(a.dtype(), batch, wants));
  if (values.num_elements() > 0)
    MR_TRY(loop(context, batch, a, values, wants ? &vectors : nullptr));
  MR_TRY(give(context, 0, values));
  return give(context, 1, vectors);
}

Status self_adjoint(KernelContext& context, EigenLoop loop, bool wants) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  return eigenvalues(context, loop, batch, a, wants);
}

Status general(KernelContext& context, bool wants) {
  const DType in = context.input(0).dtype(), out = context.output_dtype(0);
  const bool is_wide = in == DType::f64 || in == DType::c128;
  if (out != (is_wide ? DType::c128 : DType::c64)) {
    return invalid("Invalid output dtype ", dtype_name(out), " of Eig for an input of ",
                   dtype_name(in), "; it must be ", is_wide ? "complex128" : "complex64");
  }
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, complex_input(context, 0));
  return eigenvalues(context, general_of, batch, a, wants);
}

// The old form: values as the first row, vectors below.
Status in_one(KernelContext& context, EigenLoop loop) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  const int64_t n = batch.rows;
  MR_ASSIGN(const Shape shape, batch.shape({n}));
  MR_ASSIGN(Tensor values, Tensor::allocate(a.dtype(), shape));
  MR_ASSIGN(Tensor vectors, room_for_vectors(a.dtype(), batch, true));
  MR_ASSIGN(const Shape whole, batch.shape({n + 1, n}));
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), whole));
  if (made.num_elements() == 0) return give(context, 0, made);
  MR_TRY(loop(context, batch, a, values, &vectors));
  const auto row = static_cast<size_t>(n) * dtype_size(a.dtype());
  const auto* from_values = static_cast<const char*>(values.data());
  const auto* from_vectors = static_cast<const char*>(vectors.data());
  auto* to = static_cast<char*>(made.mutable_data());
  for (int64_t i = 0; i < batch.count; ++i) {
    to = std::copy_n(from_values, row, to);
    to = std::copy_n(from_vectors, row * static_cast<size_t>(n), to);
    from_values += row;
    from_vectors += row * static_cast<size_t>(n);
  }
  return give(context, 0, made);
}

Status infer_eigens(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_square_batch(context, 0));
  MR_ASSIGN(const bool wants, context.attrs().boolean("compute_v"));
  MR_TRY(context.set_output(0, batch.shape({batch.rows})));
  if (wants) return context.set_output(1, batch.shape({batch.rows, batch.rows}));
  context.set_output(1, PartialShape{0});
  return {};
}

Status infer_in_one(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_square_batch(context, 0));
  const int64_t n = batch.rows;
  int64_t rows = kUnknownDim;
  if (n != kUnknownDim && __builtin_add_overflow(n, 1, &rows))
    return invalid("matrices of ", n, " rows have no room for a row of eigenvalues");
  return context.set_output(0, batch.shape({rows, n}));
}

Status add_self_adjoint(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "The eigenvalues of each symmetric (Hermitian) matrix, the smallest first, and its "
             "eigenvectors, as columns. Only the lower triangle is read.",
      .signature = "input: T -> e: T, v: T | compute_v: bool = true, T: " + types,
      .infer = infer_eigens,
      .cpu = kernel_with(self_adjoint, wide_loop([]<class T>() { return &self_adjoint_of<T>; }),
                         boolean("compute_v")),
      .grad = grad::self_adjoint_eigen,
      .cost = Cost::heavy,
      .examples = {"[[2 0] [0 1]] -> [1 2], [] | compute_v = false", "[[2 1] [1 5]]",
                   "[[[3]] [[4]]] -> [[3] [4]], [[[1]] [[1]]]"},
  });
}

Status add_in_one(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc =
          "SelfAdjointEigV2 in its old form: the eigenvalues are the first row of what it gives, "
          "the eigenvectors stand below.",
      .signature = "input: T -> output: T | T: " + types,
      .infer = infer_in_one,
      .cpu = kernel_with(in_one, wide_loop([]<class T>() { return &self_adjoint_of<T>; })),
      .not_differentiable = "TensorFlow has none for it either; SelfAdjointEigV2 has one",
      .cost = Cost::heavy,
      .examples = {"[[3]] -> [[3] [1]]", "[[2 1] [1 5]]"},
  });
}

}  // namespace

Status register_eigens(OpRegistry& ops) {
  MR_TRY(add_self_adjoint(ops, "SelfAdjointEigV2", "{double, float, half, complex64, complex128}"));
  MR_TRY(add_self_adjoint(ops, "BatchSelfAdjointEigV2", "{double, float}"));
  MR_TRY(add_in_one(ops, "SelfAdjointEig", "{double, float, half}"));
  MR_TRY(add_in_one(ops, "BatchSelfAdjointEig", "{double, float}"));
  return ops.add({
      .name = "Eig",
      .doc = "The eigenvalues of each matrix, which are complex, and its eigenvectors, as columns.",
      .signature = "input: T -> e: Tout, v: Tout | compute_v: bool = true, T: {float, double, "
                   "complex64, complex128}, Tout: {complex64, complex128}",
      .infer = infer_eigens,
      .cpu = kernel_with(general, boolean("compute_v")),
      .grad = grad::eigen,
      .cost = Cost::heavy,
      .examples = {"[[2 0] [0 1]] -> [1 2], [] | compute_v = false, T = float, Tout = complex64",
                   "[[2 1] [1 5]] | T = float, Tout = complex64"},
  });
}

}  // namespace millrace
