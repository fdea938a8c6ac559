// Part of families.h: register_least_squares.
#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <limits>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"

namespace millrace {
namespace {

struct Fitting {
  bool fast = true;
  double regularizer = 0;
  double epsilon = 0;  // of the type of what is fitted, which may be narrower than what it is in
};

using FitLoop = Status (*)(KernelContext& context, const Batch& left, int64_t columns,
                           Fitting fitting, const Tensor& a, const Tensor& b, Tensor& made);

// By the normal equations: fast, and exact enough where the matrix is far from singular.
template <class T>
Status fit_normally(const Fitting& fitting, const Eigen::Map<const Matrix<T>>& a,
                    const Eigen::Map<const Matrix<T>>& b, Eigen::Map<Matrix<T>> x) {
  const bool is_tall = a.rows() >= a.cols();
  const int64_t n = is_tall ? a.cols() : a.rows();
  Matrix<T> gramian = Matrix<T>::Zero(n, n);
  if (is_tall)
    gramian.template selfadjointView<Eigen::Lower>().rankUpdate(a.adjoint());
  else
    gramian.template selfadjointView<Eigen::Lower>().rankUpdate(a);
  gramian.diagonal().array() +=
      T(static_cast<typename Eigen::NumTraits<T>::Real>(fitting.regularizer));
  const Eigen::LLT<Eigen::Ref<Matrix<T>>, Eigen::Lower> llt(gramian);
  if (llt.info() != Eigen::Success) {
    return invalid(
        "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or "
        "provide an l2_regularizer > 0.");
  }
  if (is_tall) {
    x = a.adjoint() * b;
    llt.solveInPlace(x);
  } else {
    x = a.adjoint() * llt.solve(b);
  }
  return {};
}

// By a complete orthogonal decomposition A = Q [T 0; 0 0] Z P', which needs no full rank. Its own
// solve() is not called: it makes every product of Eigen's anew and took half this file's time to
// compile, while right sides are narrow.
template <class T>
void fit_orthogonally(const Fitting& fitting, const Eigen::Map<const Matrix<T>>& a,
                      const Eigen::Map<const Matrix<T>>& b, Eigen::Map<Matrix<T>> x) {
  using Real = typename Eigen::NumTraits<T>::Real;
  Eigen::CompleteOrthogonalDecomposition<Matrix<T>> parts(a.rows(), a.cols());
  const int64_t shorter = std::min(a.rows(), a.cols());
  parts.setThreshold(static_cast<Real>(fitting.epsilon * static_cast<double>(shorter)));
  parts.compute(a);
  const int64_t rank = parts.rank();
  Matrix<T> rest = b;
  Eigen::Matrix<T, 1, Eigen::Dynamic> row(b.cols());
  for (int64_t k = 0; k < rank; ++k) {
    rest.bottomRows(a.rows() - k)
        .applyHouseholderOnTheLeft(parts.matrixQTZ().col(k).tail(a.rows() - k - 1),
                                   parts.hCoeffs().coeff(k), row.data());
  }
  Matrix<T> fitted = Matrix<T>::Zero(a.cols(), b.cols());
  fitted.topRows(rank) = rest.topRows(rank);
  auto known = fitted.topRows(rank);
  parts.matrixT()
      .topLeftCorner(rank, rank)
      .template triangularView<Eigen::Upper>()
      .solveInPlace(known);
  if (rank < a.cols()) fitted = parts.matrixZ().adjoint().lazyProduct(fitted).eval();
  x = parts.colsPermutation() * fitted;
}

template <class T>
Status fit_of(KernelContext& context, const Batch& left, int64_t columns, Fitting fitting,
              const Tensor& a, const Tensor& b, Tensor& made) {
  const double cost = static_cast<double>(left.elements()) *
                      static_cast<double>(std::min(left.rows, left.columns) + columns);
  return each_matrix(context, left.count, cost, [&](int64_t i) -> Status {
    const auto matrix = matrix_at<T>(a, i, left.rows, left.columns);
    const auto right = matrix_at<T>(b, i, left.rows, columns);
    auto x = matrix_at<T>(made, i, left.columns, columns);
    if (left.rows == 0) {
      x.setZero();
      return {};
    }
    if (fitting.fast) return fit_normally<T>(fitting, matrix, right, x);
    fit_orthogonally<T>(fitting, matrix, right, x);
    return {};
  });
}

Status fit(KernelContext& context, FitLoop loop, bool fast) {
  const Tensor &matrix = context.input(0), &rhs = context.input(1);
  MR_ASSIGN(const Batch left, batch_of(matrix, 0));
  MR_ASSIGN(const Batch right, batch_of(rhs, 1));
  if (left.leading != right.leading) {
    return invalid("All input tensors must have the same outer dimensions: they are ",
                   matrix.shape().to_string(), " and ", rhs.shape().to_string());
  }
  if (left.rows != right.rows) {
    return invalid("Input matrix and rhs are incompatible: they are ", matrix.shape().to_string(),
                   " and ", rhs.shape().to_string());
  }
  const Tensor& regularizer = context.input(2);
  if (!regularizer.shape().is_scalar())
    return invalid("l2_regularizer must be a scalar, not of shape ",
                   regularizer.shape().to_string());
  const DType dtype = matrix.dtype();
  const bool is_double = dtype == DType::f64 || dtype == DType::c128;
  const Fitting fitting{
      fast, regularizer.flat<double>()[0],
      is_double ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon()};
  if (!(fitting.regularizer >= 0))
    return invalid("l2_regularizer must be >= 0, but is ", fitting.regularizer);
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(const Tensor b, wide_input(context, 1));
  MR_ASSIGN(const Shape shape, left.shape({left.columns, right.columns}));
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), shape));
  if (made.num_elements() > 0) MR_TRY(loop(context, left, right.columns, fitting, a, b, made));
  return give(context, 0, made);
}

Status infer_fit(InferContext& context) {
  MR_ASSIGN(const PartialBatch a, partial_batch(context, 0));
  MR_ASSIGN(const PartialBatch b, partial_batch(context, 1));
  MR_TRY(context.input_of_rank(2, 0));
  if (a.has_rank && b.has_rank && a.rows != kUnknownDim && b.rows != kUnknownDim &&
      a.rows != b.rows) {
    return invalid("Dimensions must be equal, but are ", a.rows, " and ", b.rows,
                   ": the matrix and the right side have not as many rows");
  }
  return context.set_output(0, a.shape({a.columns, b.has_rank ? b.columns : kUnknownDim}));
}

Status add_fit(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "X for which |A X - B|^2 + l2_regularizer |X|^2 is least, for each matrix A; the "
             "shortest such X. If fast, by normal equations; else by an orthogonal decomposition, "
             "without the regularizer.",
      .signature = "matrix: T, rhs: T, l2_regularizer: double -> output: T | T: " + types +
                   ", fast: bool = true",
      .infer = infer_fit,
      .cpu = kernel_with(fit, wide_loop([]<class T>() { return &fit_of<T>; }), boolean("fast")),
      .grad = grad::least_squares,
      .cost = Cost::heavy,
      .examples = {"[[1 0] [0 2] [1 0]], [[1] [4] [3]], 0 -> [[2] [2]]",
                   "[[1 1]], [[6]], 1 -> [[2] [2]]"},
  });
}

}  // namespace

Status register_least_squares(OpRegistry& ops) {
  MR_TRY(add_fit(ops, "MatrixSolveLs", "{double, float, half, complex64, complex128}"));
  return add_fit(ops, "BatchMatrixSolveLs", "{double, float}");
}

}  // namespace millrace
