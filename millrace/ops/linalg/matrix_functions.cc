// Part of families.h: register_matrix_functions.
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/MatrixFunctions>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"

namespace millrace {
namespace {

// Whatever the type of a matrix, its function is that of complex double: functions of matrices are
// seldom called, and each type that they are compiled for takes most of a minute.
using C = std::complex<double>;
using Dense = Eigen::Matrix<C, Eigen::Dynamic, Eigen::Dynamic>;
using MatrixFunction = Status (*)(const Dense& from, Dense& to);

// What is left of an imaginary part by rounding, for each unit of the whole.
constexpr double kRounding = 1e-6;

using FunctionLoop = Status (*)(KernelContext& context, MatrixFunction of, const Batch& batch,
                                const Tensor& a, Tensor& made);

// of(from, to) for each matrix; what has elements that are not finite gives NaN, and so does a real
// matrix whose function is not real.
template <class T>
Status each_function(KernelContext& context, MatrixFunction of, const Batch& batch, const Tensor& a,
                     Tensor& made) {
  using Real = typename Eigen::NumTraits<T>::Real;
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, 30 * cubed(n), [&](int64_t i) -> Status {
    const auto given = matrix_at<T>(a, i, n, n);
    auto wanted = matrix_at<T>(made, i, n, n);
    Dense from(n, n), to(n, n);
    for (int64_t row = 0; row < n; ++row)
      for (int64_t column = 0; column < n; ++column) from(row, column) = C(given(row, column));
    bool fits = from.allFinite();
    if (fits) {
      MR_TRY(of(from, to));
      if constexpr (!Eigen::NumTraits<T>::IsComplex)
        fits = to.imag().cwiseAbs().maxCoeff() <= kRounding * to.cwiseAbs().maxCoeff();
    }
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        if (!fits) {
          wanted(row, column) = T(std::numeric_limits<Real>::quiet_NaN());
        } else if constexpr (Eigen::NumTraits<T>::IsComplex) {
          wanted(row, column) = T(to(row, column));
        } else {
          wanted(row, column) = static_cast<T>(to(row, column).real());
        }
      }
    }
    return {};
  });
}

Status exponential_of(const Dense& from, Dense& to) {
  to = from.exp();
  return {};
}

Status square_root_of(const Dense& from, Dense& to) {
  to = from.sqrt();
  return {};
}

// Of an upper triangle, in place.
void take_root(Dense& t) {
  for (int64_t j = 0; j < t.cols(); ++j) {
    t(j, j) = std::sqrt(t(j, j));
    for (int64_t i = j - 1; i >= 0; --i) {
      C rest = t(i, j);
      for (int64_t k = i + 1; k < j; ++k) rest -= t(i, k) * t(k, j);
      t(i, j) = rest / (t(i, i) + t(j, j));
    }
  }
}

// The points of Gauss and Legendre on [0, 1], seven of them, and their weights.
struct Node {
  double point, weight;
};
constexpr Node kNodes[] = {
    {0.025446043828620736, 0.064742483084434851}, {0.12923440720030277, 0.13985269574463832},
    {0.29707742431130141, 0.19091502525255947},   {0.5, 0.20897959183673470},
    {0.70292257568869859, 0.19091502525255947},   {0.87076559279969723, 0.13985269574463832},
    {0.97455395617137926, 0.064742483084434851}};

// By roots of the triangle of Schur until it is near the identity, and then by
// log(I + X) = the sum of w X (I + x X)^-1 over the points x and weights w of Gauss and Legendre.
// Eigen's own goes on taking roots for ever where an eigenvalue is 0.
Status logarithm_of(const Dense& from, Dense& to) {
  const Eigen::ComplexSchur<Dense> schur(from);
  if (schur.info() != Eigen::Success)
    return invalid("the Schur form of a matrix was not found; the input might not be valid");
  Dense t = schur.matrixT().triangularView<Eigen::Upper>();
  if ((t.diagonal().array() == C(0)).any())
    return invalid("a matrix with an eigenvalue of 0 has no logarithm");
  const int64_t n = t.rows();
  const Dense one = Dense::Identity(n, n);
  constexpr int kMostRoots = 100;
  int roots = 0;
  for (; roots < kMostRoots && !((t - one).cwiseAbs().colwise().sum().maxCoeff() < 0.25); ++roots)
    take_root(t);
  const Dense x = t - one;
  Dense sum = Dense::Zero(n, n);
  for (const Node& node : kNodes) {
    const Dense below = one + C(node.point) * x;
    sum += C(node.weight) * below.triangularView<Eigen::Upper>().solve(x);
  }
  sum *= C(std::ldexp(1.0, roots));
  to = schur.matrixU() * sum * schur.matrixU().adjoint();
  return {};
}

template <MatrixFunction of>
Status function(KernelContext& context, FunctionLoop loop) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), a.shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, of, batch, a, made));
  return give(context, 0, made);
}

template <MatrixFunction of>
auto kernel_of() {
  return kernel_with(function<of>, wide_loop([]<class T>() { return &each_function<T>; }));
}

constexpr const char* kAnyType =
    "input: T -> output: T | T: {double, float, half, complex64, "
    "complex128}";

}  // namespace

Status register_matrix_functions(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "MatrixExponential",
      .doc = "The exponential of each matrix: I + A + A^2 / 2 + A^3 / 6 and so on.",
      .signature = kAnyType,
      .infer = infer_square,
      .cpu = kernel_of<exponential_of>(),
      .grad = grad::matrix_function,
      .cost = Cost::heavy,
      .examples = {"[[0 1] [0 0]] -> [[1 1] [0 1]]", "[[[0]]] -> [[[1]]]"},
  }));
  MR_TRY(ops.add({
      .name = "MatrixLogarithm",
      .doc = "The matrix whose exponential each matrix is, by the principal logarithm.",
      .signature = "input: T -> output: T | T: {complex64, complex128}",
      .infer = infer_square,
      .cpu = kernel_of<logarithm_of>(),
      .grad = grad::matrix_function,
      .cost = Cost::heavy,
      .examples = {"[[1 1] [0 1]] -> [[0 1] [0 0]]", "[[[1]]] -> [[[0]]]"},
  }));
  return ops.add({
      .name = "MatrixSquareRoot",
      .doc = "The matrix whose square each matrix is, by the principal root.",
      .signature = kAnyType,
      .infer = infer_square,
      .cpu = kernel_of<square_root_of>(),
      .grad = grad::matrix_function,
      .cost = Cost::heavy,
      .examples = {"[[4 0] [0 9]] -> [[2 0] [0 3]]", "[[[5 4] [4 5]]] -> [[[2 1] [1 2]]]"},
  });
}

}  // namespace millrace
