// Reading the small integer tensors and axes by which one tensor tells an op how to treat another.
// Errors are INVALID_ARGUMENT and name the argument by `what`, with its value and what is allowed.
#pragma once

#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/infer.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// The elements of an integer tensor of any shape, in row-major order.
Result<std::vector<int64_t>> read_elements(const Tensor& tensor, std::string_view what);
// The elements of an integer tensor of rank 0 or 1.
Result<std::vector<int64_t>> read_integers(const Tensor& tensor, std::string_view what);
// The only element of an integer tensor.
Result<int64_t> read_integer(const Tensor& tensor, std::string_view what);
// A shape given as a vector of dims.
Result<Shape> read_shape(const Tensor& tensor, std::string_view what);
// The shape that known elements say, as far as they do; INVALID_ARGUMENT for a negative one but -1.
Result<PartialShape> known_shape(const KnownElements& dims);
// Output 0's shape where input `slot`, called `what`, gives it.
Status infer_shape_of(InferContext& context, std::string_view what, int slot = 0);
// As read_shape, -1 meaning unknown.
Result<PartialShape> read_partial_shape(const Tensor& tensor, std::string_view what);

// An axis of a tensor of rank `rank`; negative ones count from the end.
Result<int> resolve_axis(int64_t axis, int rank, std::string_view what);
// True for each axis that is named; naming one twice is an error.
Result<std::vector<bool>> resolve_axes(std::span<const int64_t> axes, int rank,
                                       std::string_view what);

// The integers of a constant input; nullopt while it is not known.
Result<std::optional<std::vector<int64_t>>> constant_integers(const InferContext& context, int slot,
                                                              std::string_view what);

// The tensor of an integer dtype that holds `values`; INVALID_ARGUMENT if one does not fit.
Result<Tensor> integer_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values);

}  // namespace millrace
