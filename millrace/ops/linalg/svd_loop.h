// The loop of svd.h, for the sources that instantiate it.
#pragma once

#include <Eigen/SVD>
#include <limits>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/svd.h"

namespace millrace {

template <class T>
Status svd_of(KernelContext& context, const Batch& batch, const Tensor& a,
              const SvdResults& results) {
  using Real = typename Eigen::NumTraits<T>::Real;
  const int64_t rows = batch.rows, columns = batch.columns, inner = std::min(rows, columns);
  const int64_t u_columns = results.is_full ? rows : inner;
  const int64_t v_columns = results.is_full ? columns : inner;
  const double cost =
      20.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner);
  unsigned options = 0;
  if (results.wants_vectors) {
    options = results.is_full ? Eigen::ComputeFullU | Eigen::ComputeFullV
                              : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  return each_matrix(context, batch.count, cost, [&](int64_t i) -> Status {
    auto s = matrix_at<T>(results.s, i, inner, 1);
    const auto put = [&](const auto& u, const auto& v) {
      if (!results.wants_vectors) return;
      matrix_at<T>(results.u, i, rows, u_columns) = u;
      matrix_at<T>(results.v, i, columns, v_columns) = v;
    };
    if (inner == 0) {
      put(Matrix<T>::Identity(rows, u_columns), Matrix<T>::Identity(columns, v_columns));
      return {};
    }
    const auto from = matrix_at<T>(a, i, rows, columns);
    if (!from.allFinite()) {
      const T nan(std::numeric_limits<Real>::quiet_NaN());
      s.setConstant(nan);
      put(Matrix<T>::Constant(rows, u_columns, nan), Matrix<T>::Constant(columns, v_columns, nan));
      return {};
    }
    using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
    const Eigen::BDCSVD<Columns> svd(Columns(from), options);
    s = svd.singularValues().template cast<T>();
    if (results.wants_vectors) put(svd.matrixU(), svd.matrixV());
    return {};
  });
}

}  // namespace millrace
