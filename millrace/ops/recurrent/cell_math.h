// What cells of recurrent nets share: arguments as floats, rows side by side, products, and the
// functions of their gates.
//
// Matrices are row-major and of float32. Errors are INVALID_ARGUMENT in TensorFlow's words.
#pragma once

#include <string_view>

#include "millrace/op/gradient.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/math/multiplier.h"

namespace millrace {

// Input `slot` as floats. Errors: "x must be rank 2 but is rank 1", for another rank.
Result<Tensor> float_input(KernelContext& context, int slot, std::string_view name, int rank);
// A tensor of floats as the type of output `slot`.
Status set_narrowed(KernelContext& context, int slot, const Tensor& made);

// Errors: "w.dim_size(0) != input_size + cell_size: 2 vs. 3".
Status check_dim(const Tensor& tensor, std::string_view name, int axis, int64_t wanted,
                 std::string_view called);

// What a shape rule knows of dim `axis`.
inline int64_t known_dim(const PartialShape& shape, int axis) {
  return shape.has_rank() ? shape.dim(axis) : kUnknownDim;
}

// Row by row the elements of a, then those of b: [rows, a's columns + b's].
Result<Tensor> side_by_side(const float* a, int64_t a_columns, const float* b, int64_t b_columns,
                            int64_t rows);
// Columns [begin, begin + count) of a matrix, into `to`.
void copy_columns(const Tensor& matrix, int64_t begin, int64_t count, float* to);
// The sum of all rows, added to `to`.
void add_rows(const Tensor& matrix, float* to);

// The elements of a tensor of floats.
inline const float* floats_of(const Tensor& tensor) {
  return static_cast<const float*>(tensor.data());
}
inline float* floats_in(Tensor& tensor) { return static_cast<float*>(tensor.mutable_data()); }

// The product of two matrices of float32.
Result<Tensor> product(KernelContext& context, const Tensor& a, const Tensor& b,
                       Side a_side = Side::as_is, Side b_side = Side::as_is);

// In place.
void sigmoids(float* x, int64_t n);
void tangents(float* x, int64_t n);

namespace grad {

// Of x and h, which went into a product side by side with w, what arrived at the product.
struct SideBySide {
  Endpoint x, h, w;
};
SideBySide of_product(GradContext& g, Endpoint x, Endpoint h, Endpoint w, Endpoint arriving);

}  // namespace grad

}  // namespace millrace
