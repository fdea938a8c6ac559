// Part of families.h: register_qrs.
#include <Eigen/QR>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"

namespace millrace {
namespace {

using QrLoop = Status (*)(KernelContext& context, const Batch& batch, int64_t inner,
                          const Tensor& a, Tensor& q, Tensor& r);

// Q is rows x inner, R inner x columns.
template <class T>
Status qr_of(KernelContext& context, const Batch& batch, int64_t inner, const Tensor& a, Tensor& q,
             Tensor& r) {
  const int64_t rows = batch.rows, columns = batch.columns;
  const double cost =
      2.0 * static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(columns);
  return each_matrix(context, batch.count, cost, [&](int64_t i) -> Status {
    auto to_q = matrix_at<T>(q, i, rows, inner);
    auto to_r = matrix_at<T>(r, i, inner, columns);
    if (batch.elements() == 0) {
      to_q.setIdentity();
      return {};
    }
    const Eigen::HouseholderQR<Matrix<T>> qr(matrix_at<T>(a, i, rows, columns));
    to_q.setIdentity();
    to_q.applyOnTheLeft(qr.householderQ());
    to_r.setZero();
    const int64_t kept = std::min(inner, rows);
    to_r.topRows(kept) = qr.matrixQR().topRows(kept).template triangularView<Eigen::Upper>();
    return {};
  });
}

Status take_apart_orthogonally(KernelContext& context, QrLoop loop, bool full) {
  MR_ASSIGN(const Batch batch, batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  const int64_t inner = full ? batch.rows : std::min(batch.rows, batch.columns);
  MR_ASSIGN(const Shape q_shape, batch.shape({batch.rows, inner}));
  MR_ASSIGN(const Shape r_shape, batch.shape({inner, batch.columns}));
  MR_ASSIGN(Tensor q, Tensor::allocate(a.dtype(), q_shape));
  MR_ASSIGN(Tensor r, Tensor::allocate(a.dtype(), r_shape));
  if (q.num_elements() > 0 || r.num_elements() > 0) MR_TRY(loop(context, batch, inner, a, q, r));
  MR_TRY(give(context, 0, q));
  return give(context, 1, r);
}

Status infer_qr(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_batch(context, 0));
  MR_ASSIGN(const bool full, context.attrs().boolean("full_matrices"));
  int64_t inner = batch.rows;
  if (!full) {
    const bool is_known = batch.rows != kUnknownDim && batch.columns != kUnknownDim;
    inner = is_known ? std::min(batch.rows, batch.columns) : kUnknownDim;
  }
  MR_TRY(context.set_output(0, batch.shape({batch.rows, inner})));
  return context.set_output(1, batch.shape({inner, batch.columns}));
}

}  // namespace

Status register_qrs(OpRegistry& ops) {
  return ops.add({
      .name = "Qr",
      .doc = "Each matrix as the product of an orthogonal (unitary) one and an upper triangle.",
      .signature = "input: T -> q: T, r: T | full_matrices: bool = false, T: {double, float, half, "
                   "complex64, complex128}",
      .infer = infer_qr,
      .cpu = kernel_with(take_apart_orthogonally, wide_loop([]<class T>() { return &qr_of<T>; }),
                         boolean("full_matrices")),
      .grad = grad::qr,
      .cost = Cost::heavy,
      .examples = {"[[0 5] [-2 1]] -> [[0 1] [1 0]], [[-2 1] [0 5]]", "[[[3 5] [1 2] [0 1]]]",
                   "[[1 2 3] [4 5 7]]", "[[1 2] [4 5] [3 1]] | full_matrices = true"},
  });
}

}  // namespace millrace
