// Part of families.h: register_nd.
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/nd_rows.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

// The loop of an op that folds updates in; none where they replace.
struct NdLoop {
  cpu::BinaryLoop (*loop_for)(DType);
  int slot;
  Result<cpu::BinaryLoop> read(const KernelSpec& spec) const {
    if (loop_for == nullptr) return cpu::BinaryLoop();
    return cpu::LoopFor{loop_for, slot}.read(spec);
  }
};

Result<Tensor> gather_nd_kernel(KernelContext& context, BadIndices bad) {
  return gather_nd(context.input(0), context.input(1), bad, CancelProbe(context));
}

Status infer_gather_nd(InferContext& context) {
  return context.set_output(0, nd_rows_shape(context.input(1), context.input(0)));
}

Result<Tensor> scatter_new(KernelContext& context, cpu::BinaryLoop loop, BadIndices bad) {
  const Tensor& indices = context.input(0);
  const Tensor& updates = context.input(1);
  MR_ASSIGN(const Shape shape, read_shape(context.input(2), "shape"));
  if (shape.num_elements() == 0 && (indices.num_elements() > 0 || updates.num_elements() > 0)) {
    return invalid("Indices and updates specified for empty output shape ", shape.to_string());
  }
  MR_ASSIGN(Tensor made, Tensor::zeros(updates.dtype(), shape));
  MR_TRY(scatter_nd(made, indices, updates, loop, bad, CancelProbe(context)));
  return made;
}

Status check_updates_rank(const InferContext& context, const PartialShape& params, int indices,
                          int updates) {
  MR_ASSIGN(const PartialShape rows, nd_rows_shape(context.input(indices), params));
  const auto merged = rows.merge(context.input(updates));
  if (merged.ok()) return {};
  return invalid("Dimensions of updates ", context.input(updates).to_string(),
                 " must be those of indices ", context.input(indices).to_string(),
                 " but the last, followed by those of shape ", params.to_string(),
                 " that an index does not name");
}

Status infer_scatter_nd(InferContext& context) {
  MR_TRY(infer_shape_of(context, "shape", 2));
  return check_updates_rank(context, context.output(0), 0, 1);
}

// A tensor of its own with what input 0 holds.
Result<Tensor> own_first(KernelContext& context) {
  Tensor tensor = context.take_input(0);
  if (tensor.is_sole_owner()) return tensor;
  return tensor.clone();
}

Result<Tensor> scatter_into(KernelContext& context, cpu::BinaryLoop loop, BadIndices bad) {
  const Tensor& indices = context.input(1);
  const Tensor& updates = context.input(2);
  if (context.input(0).num_elements() == 0 &&
      (indices.num_elements() > 0 && updates.num_elements() > 0)) {
    return invalid("Indices and updates specified for empty output shape ",
                   context.input(0).shape().to_string());
  }
  MR_ASSIGN(Tensor made, own_first(context));
  MR_TRY(scatter_nd(made, indices, updates, loop, bad, CancelProbe(context)));
  return made;
}

Status infer_scatter_into(InferContext& context) {
  context.set_output(0, context.input(0));
  return check_updates_rank(context, context.input(0), 1, 2);
}

// --- SparseToDense ---

// The number of elements and coordinates of sparse_indices: a scalar, a vector or a matrix.
Status check_sparse(const Shape& indices, const Tensor& shape, const Tensor& values,
                    const Tensor& standard) {
  if (indices.rank() > 2) {
    return invalid("sparse_indices should be a scalar, vector, or matrix, got shape ",
                   indices.to_string());
  }
  if (shape.shape().rank() != 1) {
    return invalid("output_shape must be rank 1, got shape ", shape.shape().to_string());
  }
  const int64_t number = indices.rank() > 0 ? indices.dim(0) : 1;
  const int64_t depth = indices.rank() > 1 ? indices.dim(1) : 1;
  if (shape.num_elements() != depth) {
    return invalid("output_shape has incorrect number of elements: ", shape.num_elements(),
                   " should be: ", depth);
  }
  if (!values.shape().is_scalar() && values.shape() != Shape{number}) {
    return invalid("sparse_values has incorrect shape ", values.shape().to_string(),
                   ", should be [] or [", number, "]");
  }
  if (!standard.shape().is_scalar()) return invalid("default_value should be a scalar");
  return {};
}

// Each index in bounds, after the one before it if they must be in order.
Status check_order(std::span<const int64_t> all, int64_t depth, const Shape& shape,
                   bool is_ordered) {
  for (size_t at = 0; depth > 0 && at < all.size(); at += static_cast<size_t>(depth)) {
    const auto index = all.subspan(at, static_cast<size_t>(depth));
    for (int axis = 0; axis < depth; ++axis) {
      if (index[axis] >= 0 && index[axis] < shape.dim(axis)) continue;
      return invalid("indices[", at / depth, "] = ", index_text(index),
                     " is out of bounds: need 0 <= index < ", shape.to_string(), ", got ",
                     index[axis], " along axis ", axis);
    }
    if (!is_ordered || at == 0) continue;
    const auto before = all.subspan(at - static_cast<size_t>(depth), static_cast<size_t>(depth));
    if (std::ranges::lexicographical_compare(before, index)) continue;
    const bool is_same = std::ranges::equal(before, index);
    return invalid("indices[", at / depth, "] = ", index_text(index), " is ",
                   is_same ? "repeated" : "out of order");
  }
  return {};
}

Result<Tensor> sparse_to_dense(KernelContext& context, bool validates) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(2);
  const Tensor& standard = context.input(3);
  MR_TRY(check_sparse(indices.shape(), context.input(1), values, standard));
  MR_ASSIGN(const Shape shape, read_shape(context.input(1), "output_shape"));
  MR_ASSIGN(const std::vector<int64_t> all, read_elements(indices, "sparse_indices"));
  const int64_t depth = indices.shape().rank() > 1 ? indices.shape().dim(1) : 1;
  MR_TRY(check_order(all, depth, shape, validates));
  const Strides everywhere(shape.rank(), 0);
  MR_ASSIGN(Tensor made, copied_box(shape, standard, {0, everywhere}, context));
  const auto size = static_cast<int64_t>(dtype_size(values.dtype()));
  const int64_t step = values.shape().is_scalar() ? 0 : size;
  const int64_t number = indices.shape().rank() > 0 ? indices.shape().dim(0) : 1;
  const char* from = static_cast<const char*>(values.data());
  for (int64_t i = 0; i < number; ++i, from += step) {
    int64_t at = 0;
    for (int axis = 0; axis < depth; ++axis) at = at * shape.dim(axis) + all[i * depth + axis];
    copy_elements(values.dtype(), from, static_cast<char*>(made.mutable_data()) + at * size, 1);
  }
  return made;
}

Status infer_sparse_to_dense(InferContext& context) {
  return infer_shape_of(context, "output_shape", 1);
}

// --- UnravelIndex ---

// The coordinates of each element of a tensor of shape `dims`, a column for each.
Result<Tensor> unravel_index(KernelContext& context) {
  const Tensor& indices = context.input(0);
  if (indices.shape().rank() > 1)
    return invalid("The indices can only be scalar or vector, got ", indices.shape().to_string());
  if (context.input(1).shape().rank() != 1)
    return invalid("The indices can only be 1-D, got \"", context.input(1).shape().to_string(),
                   "\"");
  MR_ASSIGN(const std::vector<int64_t> dims, read_elements(context.input(1), "dims"));
  MR_ASSIGN(const std::vector<int64_t> all, read_elements(indices, "indices"));
  const int64_t most = context.input(1).dtype() == DType::i32 ? std::numeric_limits<int32_t>::max()
                                                              : std::numeric_limits<int64_t>::max();
  int64_t limit = 1;
  for (const int64_t dim : dims) {
    if (dim == 0) return invalid("Input dims cannot contain a dim of zero");
    if (dim < 0) return invalid("Input dims cannot be negative, got ", dim);
    if (__builtin_mul_overflow(limit, dim, &limit) || limit > most) {
      return invalid("Input dims product is causing integer overflow: it is over ", most,
                     ", the end of ", dtype_name(context.input(1).dtype()));
    }
  }
  std::vector<int64_t> made(dims.size() * all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t left = all[i];
    if (left < 0 || left >= limit)
      return invalid("index is out of bound as with dims: indices[", i, "] = ", left,
                     " is not in [0, ", limit, ")");
    for (size_t axis = dims.size(); axis-- > 0; left /= dims[axis])
      made[axis * all.size() + i] = left % dims[axis];
  }
  const auto axes = static_cast<int64_t>(dims.size());
  const Shape shape =
      indices.shape().is_scalar() ? Shape{axes} : Shape{axes, indices.num_elements()};
  return integer_tensor(context.output_dtype(0), shape, made);
}

Status infer_unravel(InferContext& context) {
  MR_ASSIGN(const PartialShape dims, context.input_of_rank(1, 1));
  const PartialShape& indices = context.input(0);
  const int64_t axes = dims.has_rank() ? dims.dim(0) : kUnknownDim;
  if (indices.rank() == 0) context.set_output(0, PartialShape{axes});
  if (indices.rank() != 1) return {};
  return context.set_output(0, PartialShape::create(Shape::Dims{axes, indices.dim(0)}));
}

// --- the rows of the family ---

struct TensorScatter {
  std::string name, doc;
  std::string_view indices;
  cpu::BinaryLoop (*loop_for)(DType);
  GradFn gradient;
  std::string example;
};

constexpr std::string_view kIndices = "{int16, int32, int64}";
constexpr std::string_view kBad = ", bad_indices_policy: string = ''";

Status add_tensor_scatter(OpRegistry& ops, TensorScatter row) {
  return ops.add({
      .name = std::move(row.name),
      .doc = std::move(row.doc),
      .signature = str_cat("tensor: T, indices: Tindices, updates: T -> output: T | T: type, "
                           "Tindices: ",
                           row.indices, kBad),
      .infer = infer_scatter_into,
      .cpu = kernel_with(scatter_into, NdLoop{row.loop_for, 2}, BoundBadIndices()),
      .grad = row.gradient,
      .examples = {std::move(row.example)},
  });
}

Status register_tensor_scatters(OpRegistry& ops) {
  constexpr std::string_view kTwo = "{int32, int64}";
  MR_TRY(add_tensor_scatter(
      ops, {"TensorScatterUpdate", "The tensor with updates in the place of slices of it.",
            "{int16, int32, int64, uint16}", nullptr, grad::tensor_scatter_update,
            "[1 0 1], [[2] [0]], [1 0] -> [0 0 1]"}));
  MR_TRY(add_tensor_scatter(
      ops, {"TensorScatterAdd", "The tensor with updates added to slices of it.", kTwo, nd_sum_loop,
            grad::tensor_scatter_add, "[1 2 3], [[2] [0] [2]], [4 5 6] -> [6 2 13] | T = float"}));
  MR_TRY(add_tensor_scatter(
      ops, {"TensorScatterSub", "The tensor with updates subtracted from slices of it.", kTwo,
            cpu::subtraction_loop, grad::tensor_scatter_sub,
            "[9 2 9], [[2] [0] [2]], [4 5 1] -> [4 2 4] | T = float"}));
  MR_TRY(add_tensor_scatter(
      ops,
      {"TensorScatterMin", "The tensor with slices of it lowered to updates.", kTwo, minimum_loop,
       grad::tensor_scatter_extreme, "[9 2 9], [[2] [0]], [4 10] -> [9 2 4] | T = float"}));
  return add_tensor_scatter(
      ops,
      {"TensorScatterMax", "The tensor with slices of it raised to updates.", kTwo, maximum_loop,
       grad::tensor_scatter_extreme, "[9 2 9], [[2] [0]], [4 10] -> [10 2 9] | T = float"});
}

}  // namespace

Status register_nd(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "GatherNd",
      .doc = "The slices of params that the rows of indices, each the first coordinates of one, "
             "name.",
      .signature = str_cat("params: Tparams, indices: Tindices -> output: Tparams | Tparams: type, "
                           "Tindices: ",
                           kIndices, kBad),
      .infer = infer_gather_nd,
      .cpu = kernel_with(gather_nd_kernel, BoundBadIndices()),
      .grad = grad::gather_nd,
      .examples = {"[[1 2] [3 4]], [[0 0] [1 1]] -> [1 4]", "[[1 2] [3 4]], [[1]] -> [[3 4]]",
                   "[[1 2] [3 4]], [1 0] -> 3",
                   "[1 2], [[5] [1]] -> [0 2] | "
                   "bad_indices_policy = 'IGNORE', Tparams = float"},
  }));
  MR_TRY(ops.add({
      .name = "ScatterNd",
      .doc = "Zeros of the given shape with updates added to the slices that indices name.",
      .signature = str_cat("indices: Tindices, updates: T, shape: Tindices -> output: T | T: type, "
                           "Tindices: ",
                           kIndices, kBad),
      .infer = infer_scatter_nd,
      .cpu = kernel_with(scatter_new, NdLoop{nd_sum_loop, 1}, BoundBadIndices()),
      .grad = grad::scatter_nd,
      .examples = {"[[1] [3] [1]], [9 8 7], [4] -> [0 16 0 8] | T = float",
                   "[[1]], [[5 6]], [2 2] -> [[0 0] [5 6]] | T = int32"},
  }));
  MR_TRY(ops.add({
      .name = "ScatterNdNonAliasingAdd",
      .doc =
          "The input with updates added to slices of it; it is taken over if nobody else has it.",
      .signature = str_cat(
          "input: T, indices: Tindices, updates: T -> output: T | T: {bfloat16, half, float, "
          "double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
          "complex128, bool}, Tindices: {int32, int64}",
          kBad),
      .infer = infer_scatter_into,
      .cpu = kernel_with(scatter_into, NdLoop{nd_sum_loop, 2}, BoundBadIndices()),
      .grad = grad::tensor_scatter_add,
      .examples = {"[1 0 1], [[2] [0]], [1 0] -> [1 0 2] | T = float"},
  }));
  MR_TRY(register_tensor_scatters(ops));
  MR_TRY(ops.add({
      .name = "UnravelIndex",
      .doc = "The coordinates that elements of a tensor of shape dims have, of their numbers in "
             "row-major order: a column for each.",
      .signature = "indices: Tidx, dims: Tidx -> output: Tidx | Tidx: {int32, int64} = int32",
      .infer = infer_unravel,
      .cpu = kernel(unravel_index),
      .not_differentiable = "its result is an index",
      .examples = {"[2 5 7], [3 3] -> [[0 1 2] [2 2 1]]", "4, [2 3] -> [1 1]"},
  }));
  return ops.add({
      .name = "SparseToDense",
      .doc = "A tensor of output_shape that is default_value but at sparse_indices, where "
             "sparse_values are. They must be in order, none twice, unless validate_indices is "
             "false.",
      .signature = "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, "
                   "default_value: T -> dense: T | validate_indices: bool = true, T: type, "
                   "Tindices: {int32, int64}",
      .infer = infer_sparse_to_dense,
      .cpu = kernel_with(sparse_to_dense, boolean("validate_indices")),
      .grad = grad::sparse_to_dense,
      .examples = {"[1 3], [4], [1 0], 0 -> [0 1 0 0]",
                   "[[0 1] [1 0]], [2 2], 1, 0 -> [[0 1] [1 0]]", "2, [3], 1, 0 -> [0 0 1]"},
  });
}

}  // namespace millrace
