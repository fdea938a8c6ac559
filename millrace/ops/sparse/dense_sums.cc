// Part of families.h: register_sparse_dense_sums.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

Result<Tensor> add_to_dense(KernelContext& context, cpu::BinaryLoop add) {
  MR_ASSIGN(const SparseInput a, read_sparse(context, 0, Places::anywhere));
  const Shape shape = context.input(3).shape();
  if (shape.rank() != static_cast<int>(a.rank)) {
    return invalid("Two operands have different ranks; received: ", a.rank, " and ", shape.rank());
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (a.dims[static_cast<size_t>(axis)] == shape.dim(axis)) continue;
    return invalid("Dimension ", axis,
                   " does not equal (no broadcasting is supported): sparse side ",
                   a.dims[static_cast<size_t>(axis)], " vs dense side ", shape.dim(axis));
  }
  MR_TRY(check_inside(a).with("invalid index"));
  Tensor made = context.take_input(3);
  if (!made.is_sole_owner()) {
    MR_ASSIGN(made, made.clone());
  }
  const auto size = static_cast<int64_t>(dtype_size(made.dtype()));
  const char* from = static_cast<const char*>(a.values.data());
  CancelProbe probe(context);
  for (int64_t i = 0; i < a.number; ++i, from += size) {
    int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      at = at * shape.dim(axis) + a.place(i)[static_cast<size_t>(axis)];
    char* const to = static_cast<char*>(made.mutable_data()) + at * size;
    add(to, 1, from, 1, to, 1);
    if (!probe.go_on(1)) return probe.status();
  }
  return made;
}

Status infer_add_to_dense(InferContext& context) {
  MR_TRY(infer_sparse(context));
  context.set_output(0, context.input(3));
  return {};
}

}  // namespace

Status register_sparse_dense_sums(OpRegistry& ops) {
  return ops.add({
      .name = "SparseTensorDenseAdd",
      .doc = "A dense tensor with a sparse one of its shape added.",
      .signature = "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T | "
                   "T: number, Tindices: {int32, int64}",
      .infer = infer_add_to_dense,
      .cpu = kernel_with(add_to_dense, cpu::LoopFor{cpu::addition_loop, 1}),
      .grad = grad::sparse_dense_add,
      .examples = {"[[0 1] [1 0] [0 1]], [1 2 3], [2 2], [[1 2] [3 4]] -> [[1 6] [5 4]]"},
  });
}

}  // namespace millrace
