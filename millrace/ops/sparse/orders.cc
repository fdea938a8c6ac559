// Part of families.h: register_sparse_orders.
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

Status reorder(KernelContext& context) {
  MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::anywhere));
  if (is_row_major(in.indices)) {
    context.set_output(0, in.indices);
    context.set_output(1, in.values);
    return {};
  }
  const std::vector<int64_t> order = row_major_order(in.indices);
  MR_TRY(context.set_output(0, picked_rows(in.indices, order)));
  return context.set_output(1, picked_rows(in.values, order));
}

Status infer_reorder(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_ASSIGN(const PartialShape indices, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape values, context.input_of_rank(1, 1));
  context.set_output(0, indices);
  context.set_output(1, values);
  return {};
}

// --- SparseReshape ---

// The shape that is asked for, with the dim that is -1 found.
Result<Shape> new_shape(const Tensor& wanted, const Shape& from) {
  if (wanted.shape().rank() != 1) {
    return invalid("Target shape should be a vector but received shape ",
                   wanted.shape().to_string());
  }
  MR_ASSIGN(std::vector<int64_t> dims, read_elements(wanted, "new_shape"));
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == -1) {
      if (open)
        return invalid("only one output dimension may be -1, not both ", *open, " and ", axis);
      open = axis;
    } else if (dims[axis] < 0) {
      return invalid("size ", axis, " must be non-negative, not ", dims[axis]);
    } else if (__builtin_mul_overflow(known, dims[axis], &known)) {
      return invalid("the product of the sizes of new_shape is over 2^63 - 1");
    }
  }
  const int64_t elements = from.num_elements();
  if (open) {
    if (known == 0) {
      return invalid(
          "reshape cannot infer the missing input size for an empty tensor unless all "
          "specified input sizes are non-zero");
    }
    dims[*open] = elements / known;
    if (dims[*open] * known != elements) {
      return invalid("Input to reshape is a SparseTensor with ", elements,
                     " dense values, but the requested shape requires a multiple of ", known,
                     ". input_shape=", from.to_string());
    }
  }
  MR_ASSIGN(Shape made, Shape::create(dims));
  if (made.num_elements() != elements) {
    return invalid("Input to reshape is a tensor with ", elements,
                   " dense values, but the requested shape has ", made.num_elements(),
                   ". input_shape=", from.to_string(), " output_shape=", made.to_string());
  }
  return made;
}

Status reshape_sparse(KernelContext& context) {
  const Tensor& indices = context.input(0);
  if (indices.shape().rank() != 2) {
    return invalid("Input indices should be a matrix but received shape ",
                   indices.shape().to_string());
  }
  MR_ASSIGN(const Shape from, read_shape(context.input(1), "input_shape"));
  if (indices.shape().dim(1) != from.rank()) {
    return invalid("Input tensor rank must match input shape length: indices are ",
                   indices.shape().to_string(), ", the shape ", from.to_string());
  }
  MR_ASSIGN(const Shape to, new_shape(context.input(2), from));
  const int64_t number = indices.shape().dim(0);
  if (from == to) {
    context.set_output(0, indices);
    context.set_output(1, context.input(1));
    return {};
  }
  if (number > 0 && from.num_elements() == 0) {
    return invalid("Input tensor has ", number, " non zero elements but input shape (",
                   from.to_string(), ") or output shape (", to.to_string(), ") is empty");
  }
  const Strides steps = row_major_strides(from), new_steps = row_major_strides(to);
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::i64, {number, to.rank()}));
  const int64_t* index = indices.flat<int64_t>().data();
  int64_t* out = made.mutable_flat<int64_t>().data();
  CancelProbe probe(context);
  for (int64_t i = 0; i < number; ++i) {
    // Places outside of the shape may overflow: wrapping around is not undefined here.
    uint64_t at = 0;
    for (const int64_t step : steps)
      at += static_cast<uint64_t>(*index++) * static_cast<uint64_t>(step);
    auto left = static_cast<int64_t>(at);
    for (const int64_t step : new_steps) {
      *out++ = left / step;
      left %= step;
    }
    if (!probe.go_on(from.rank() + to.rank())) return probe.status();
  }
  context.set_output(0, std::move(made));
  context.set_output(1, Tensor::vector<int64_t>(to.dims()));
  return {};
}

Status infer_reshape_sparse(InferContext& context) {
  MR_ASSIGN(const PartialShape indices, context.input_of_rank(0, 2));
  MR_TRY(context.input_of_rank(1, 1));
  MR_ASSIGN(const PartialShape wanted, context.input_of_rank(2, 1));
  context.set_output(1, PartialShape{wanted.dim(0)});
  return context.set_output(0, PartialShape::create(Shape::Dims{indices.dim(0), wanted.dim(0)}));
}

}  // namespace

Status register_sparse_orders(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SparseReorder",
      .doc = "The elements of a sparse tensor in row-major order of their places; equal places "
             "stay in the order in which they came.",
      .signature = "input_indices: int64, input_values: T, input_shape: int64 -> "
                   "output_indices: int64, output_values: T | T: type",
      .infer = infer_reorder,
      .cpu = kernel(reorder),
      .grad = grad::sparse_reorder,
      .examples = {"[[1 0] [0 2] [0 1]], [1 0 1], [2 3] -> [[0 1] [0 2] [1 0]], [1 0 1]",
                   "[[0 1] [1 0]], [1 0], [2 3] -> [[0 1] [1 0]], [1 0]"},
  }));
  return ops.add({
      .name = "SparseReshape",
      .doc = "Where the elements of a sparse tensor stand under another shape with as many "
             "elements, in which one size may be -1.",
      .signature = "input_indices: int64, input_shape: int64, new_shape: int64 -> "
                   "output_indices: int64, output_shape: int64",
      .infer = infer_reshape_sparse,
      .cpu = kernel(reshape_sparse),
      .not_differentiable = "places have no gradient",
      .examples = {"[[0 1] [1 2]], [2 3], [3 -1] -> [[0 1] [2 1]], [3 2]"},
  });
}

}  // namespace millrace
