// Part of families.h: register_choleskys.
#include <Eigen/Cholesky>
#include <limits>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"

namespace millrace {
namespace {

using Batched = Status (*)(KernelContext& context, const Batch& batch, const Tensor& a,
                           Tensor& made);

// Only the lower triangle is read. What has no such triangle gives NaN, as in TensorFlow.
template <class T>
Status cholesky_of(KernelContext& context, const Batch& batch, const Tensor& a, Tensor& made) {
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, cubed(n) / 3, [&](int64_t i) -> Status {
    auto lower = matrix_at<T>(made, i, n, n);
    const Eigen::LLT<Matrix<T>, Eigen::Lower> llt(matrix_at<T>(a, i, n, n));
    lower = llt.matrixL();
    if (llt.info() == Eigen::Success) return {};
    const T nan(std::numeric_limits<typename Eigen::NumTraits<T>::Real>::quiet_NaN());
    lower.template triangularView<Eigen::Lower>().setConstant(nan);
    return {};
  });
}

Result<Tensor> cholesky(KernelContext& context, Batched loop) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), a.shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, batch, a, made));
  return made;
}

using BatchedGrad = Status (*)(KernelContext& context, const Batch& batch, const Tensor& l,
                               const Tensor& grad, Tensor& made);

// With P the lower triangle of a matrix whose diagonal is halved, and A = L L^T:
// the gradient by A is L^-T P(L^T G) L^-1, made symmetric.
template <class T>
Status cholesky_grad_of(KernelContext& context, const Batch& batch, const Tensor& l,
                        const Tensor& grad, Tensor& made) {
  const int64_t n = batch.rows;
  return each_matrix(context, batch.count, 3 * cubed(n), [&](int64_t i) -> Status {
    const Matrix<T> lower = matrix_at<T>(l, i, n, n).template triangularView<Eigen::Lower>();
    const Matrix<T> g = matrix_at<T>(grad, i, n, n).template triangularView<Eigen::Lower>();
    Matrix<T> middle = (lower.adjoint() * g).eval().template triangularView<Eigen::Lower>();
    middle.diagonal() *= T(0.5);
    const auto upper = lower.adjoint().template triangularView<Eigen::Upper>();
    upper.solveInPlace(middle);
    Matrix<T> turned = middle.adjoint();
    upper.solveInPlace(turned);
    matrix_at<T>(made, i, n, n) = (turned + turned.adjoint()) * T(0.5);
    return {};
  });
}

Status cholesky_grad(KernelContext& context, BatchedGrad loop) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  if (context.input(1).shape() != context.input(0).shape()) {
    return invalid(
        "Input matrix and gradient must have same shape: ", context.input(0).shape().to_string(),
        " and ", context.input(1).shape().to_string());
  }
  MR_ASSIGN(const Tensor l, wide_input(context, 0));
  MR_ASSIGN(const Tensor grad, wide_input(context, 1));
  MR_ASSIGN(Tensor made, Tensor::allocate(l.dtype(), l.shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, batch, l, grad, made));
  return give(context, 0, made);
}

Status infer_grad(InferContext& context) {
  MR_TRY(partial_square_batch(context, 0));
  return context.set_output(0, context.input(0).merge(context.input(1)));
}

struct RealLoop {
  Result<BatchedGrad> read(const KernelSpec& spec) const {
    return spec.inputs[0].dtype == DType::f64 ? &cholesky_grad_of<double>
                                              : &cholesky_grad_of<float>;
  }
};

OpDef cholesky_op(std::string name, const std::string& types) {
  return {
      .name = std::move(name),
      .doc =
          "The lower triangle L of each matrix A = L L^H. Only A's lower triangle is read; where "
          "A is not positive definite, L is NaN.",
      .signature = "input: T -> output: T | T: " + types,
      .infer = infer_square,
      .cpu = kernel_with(
          [](KernelContext& context, Batched loop) -> Status {
            MR_ASSIGN(const Tensor made, cholesky(context, loop));
            return give(context, 0, made);
          },
          wide_loop([]<class T>() { return &cholesky_of<T>; })),
      .grad = grad::cholesky,
      .cost = Cost::heavy,
      // Of more elements the gradient is shared by both triangles, of which one alone is read: no
      // finite difference says so.
      .examples = {"[[4]] -> [[2]]", "[[[1]] [[9]]] -> [[[1]] [[3]]]"},
  };
}

OpDef cholesky_grad_op(std::string name, const std::string& types) {
  return {
      .name = std::move(name),
      .doc = "The gradient of Cholesky by its input, from its output l and what arrives there.",
      .signature = "l: T, grad: T -> output: T | T: " + types,
      .infer = infer_grad,
      .cpu = kernel_with(cholesky_grad, RealLoop{}),
      .not_differentiable =
          "the gradient of Cholesky is made of other ops where it is wanted again",
      .cost = Cost::heavy,
      .examples = {"[[2 0] [1 3]], [[1 5] [2 3]] -> [[0.125 0.25] [0.25 0.5]]"},
  };
}

}  // namespace

Status register_choleskys(OpRegistry& ops) {
  MR_TRY(ops.add(cholesky_op("Cholesky", "{double, float, half, complex64, complex128}")));
  MR_TRY(ops.add(cholesky_op("BatchCholesky", "{double, float}")));
  MR_TRY(ops.add(cholesky_grad_op("CholeskyGrad", "{half, float, double}")));
  return ops.add(cholesky_grad_op("BatchCholeskyGrad", "{float, double}"));
}

}  // namespace millrace
