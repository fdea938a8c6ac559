// Part of families.h: register_tensor_diagonals.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

Result<Tensor> diag(KernelContext& context) {
  const Tensor& diagonal = context.input(0);
  std::vector<int64_t> dims(diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  if (dims.empty()) return invalid("Input must be at least rank 1, got 0");
  dims.insert(dims.end(), diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::zeros(diagonal.dtype(), shape));
  const int64_t number = diagonal.num_elements(), one = 1, step = number + 1;
  CancelProbe probe(context);
  MR_TRY(copy_box({&number, 1}, diagonal, {0, {&one, 1}}, made, {0, {&step, 1}}, probe));
  return made;
}

Status infer_diag(InferContext& context) {
  const PartialShape& diagonal = context.input(0);
  if (!diagonal.has_rank()) return {};
  if (diagonal.rank() == 0) return invalid("Input must be at least rank 1, got 0");
  std::vector<int64_t> dims(diagonal.dims().begin(), diagonal.dims().end());
  dims.insert(dims.end(), diagonal.dims().begin(), diagonal.dims().end());
  return context.set_output(0, PartialShape::create(dims));
}

Result<PartialShape> diag_part_shape(const PartialShape& input) {
  if (!input.has_rank()) return PartialShape::unknown();
  const int half = input.rank() / 2;
  if (input.rank() % 2 != 0 || input.rank() == 0) {
    return invalid("Input must have even and non-zero rank, input rank is ", input.rank());
  }
  std::vector<int64_t> dims;
  for (int axis = 0; axis < half; ++axis) {
    const int64_t a = input.dim(axis), b = input.dim(axis + half);
    if (a != b && a != kUnknownDim && b != kUnknownDim) {
      return invalid("Invalid shape ", input.to_string(), ": dimensions ", axis, " and ",
                     axis + half, " do not match.");
    }
    dims.push_back(a == kUnknownDim ? b : a);
  }
  return PartialShape::create(dims);
}

Result<Tensor> diag_part(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const PartialShape known, diag_part_shape(input.shape()));
  const Shape shape = *known.to_shape();
  MR_ASSIGN(Tensor made, Tensor::allocate(input.dtype(), shape));
  const int64_t number = shape.num_elements(), one = 1, step = number + 1;
  CancelProbe probe(context);
  MR_TRY(copy_box({&number, 1}, input, {0, {&step, 1}}, made, {0, {&one, 1}}, probe));
  return made;
}

}  // namespace

Status register_tensor_diagonals(OpRegistry& ops) {
  constexpr std::string_view kTypes =
      "{bfloat16, half, float, double, int32, int64, complex64, complex128}";
  MR_TRY(ops.add({
      .name = "Diag",
      .doc = "Zeros of twice the rank with the input on the diagonal: output[i…, i…] = "
             "diagonal[i…].",
      .signature = str_cat("diagonal: T -> output: T | T: ", kTypes),
      .infer = infer_diag,
      .cpu = kernel(diag),
      .grad = grad::diag,
      .examples = {"[1 2] -> [[1 0] [0 2]]"},
  }));
  return ops.add({
      .name = "DiagPart",
      .doc = "The diagonal of a tensor whose axes are the same twice: diagonal[i…] = "
             "input[i…, i…].",
      .signature = str_cat("input: T -> diagonal: T | T: ", kTypes),
      .infer =
          [](InferContext& context) {
            return context.set_output(0, diag_part_shape(context.input(0)));
          },
      .cpu = kernel(diag_part),
      .grad = grad::diag_part,
      .examples = {"[[1 2] [3 4]] -> [1 4]"},
  });
}

}  // namespace millrace
