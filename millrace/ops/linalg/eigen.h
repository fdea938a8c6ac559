// Eigen's matrices over the elements of tensors, row after row. For sources of this room alone:
// Eigen's headers take seconds to compile, so each source takes in no more than it needs.
#pragma once

#include <Eigen/Core>

#include "millrace/ops/linalg/batches.h"

namespace millrace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Matrix `i` of a tensor of matrices rows x columns.
template <class T>
Eigen::Map<const Matrix<T>> matrix_at(const Tensor& tensor, int64_t i, int64_t rows,
                                      int64_t columns) {
  return {static_cast<const T*>(tensor.data()) + i * rows * columns, rows, columns};
}
template <class T>
Eigen::Map<Matrix<T>> matrix_at(Tensor& tensor, int64_t i, int64_t rows, int64_t columns) {
  return {static_cast<T*>(tensor.mutable_data()) + i * rows * columns, rows, columns};
}

// How many steps it takes to solve for, or take apart, n x n.
inline double cubed(int64_t n) {
  const auto size = static_cast<double>(n);
  return size * size * size;
}

}  // namespace millrace
