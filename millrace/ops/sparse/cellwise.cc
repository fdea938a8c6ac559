// Part of families.h: register_sparse_cellwise.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// How far apart neighbours of the dense side are along each axis of the sparse one: 0 where it is
// repeated. Only the dense side is.
Result<std::vector<int64_t>> repeated_steps(const SparseInput& sparse, const Shape& dense) {
  std::vector<int64_t> steps(sparse.rank, 0);
  const auto missing = static_cast<int64_t>(sparse.rank) - dense.rank();
  bool fits = missing >= 0;
  int64_t step = 1;
  for (int axis = dense.rank(); fits && axis-- > 0; step *= dense.dim(axis)) {
    const auto at = static_cast<size_t>(axis + missing);
    if (dense.dim(axis) == sparse.dims[at]) {
      steps[at] = step;
    } else {
      fits = dense.dim(axis) == 1;
    }
  }
  if (fits) return steps;
  return invalid(
      "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible "
      "shapes: the sparse side has ",
      Shape::create(sparse.dims).ok() ? Shape::create(sparse.dims)->to_string() : "many",
      ", the dense one ", dense.to_string());
}

Result<Tensor> cellwise(KernelContext& context, cpu::BinaryLoop loop, bool divides) {
  MR_ASSIGN(const SparseInput sparse, read_sparse(context, 0, Places::anywhere));
  const Tensor& dense = context.input(3);
  MR_ASSIGN(const std::vector<int64_t> steps, repeated_steps(sparse, dense.shape()));
  MR_TRY(check_inside(sparse).with(
      "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape"));
  const DType dtype = dense.dtype();
  if (divides && !is_floating(dtype) && !is_complex(dtype) && has_zero(dense)) {
    return invalid(
        "SparseDenseCwiseDiv cannot divide by zero,but input dense tensor contains "
        "zero");
  }
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype, {sparse.number}));
  const char* from = static_cast<const char*>(sparse.values.data());
  char* to = static_cast<char*>(made.mutable_data());
  CancelProbe probe(context);
  for (int64_t i = 0; i < sparse.number; ++i, from += size, to += size) {
    int64_t at = 0;
    for (size_t axis = 0; axis < sparse.rank; ++axis) at += sparse.place(i)[axis] * steps[axis];
    loop(from, 1, static_cast<const char*>(dense.data()) + at * size, 1, to, 1);
    if (!probe.go_on(1)) return probe.status();
  }
  return made;
}

Status infer_cellwise(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_ASSIGN(const PartialShape values, context.input_of_rank(1, 1));
  context.set_output(0, values);
  return {};
}

struct CellwiseRow {
  std::string name, doc;
  cpu::BinaryLoop (*loop_for)(DType);
  bool divides;
  GradFn gradient;
  std::vector<std::string> examples;
};

struct Divides {
  bool divides;
  Result<bool> read(const KernelSpec&) const { return divides; }
};

Status add_cellwise(OpRegistry& ops, CellwiseRow row) {
  return ops.add({
      .name = std::move(row.name),
      .doc = std::move(row.doc),
      .signature = "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T | "
                   "T: number",
      .infer = infer_cellwise,
      .cpu = kernel_with(cellwise, cpu::LoopFor{row.loop_for, 1}, Divides{row.divides}),
      .grad = row.gradient,
      .examples = std::move(row.examples),
  });
}

}  // namespace

Status register_sparse_cellwise(OpRegistry& ops) {
  MR_TRY(add_cellwise(
      ops,
      {"SparseDenseCwiseAdd",
       "The elements of a sparse tensor, to each of which the one of a dense tensor at its place "
       "is added; the dense one is repeated along axes where it has size 1 or none.",
       cpu::addition_loop,
       false,
       grad::sparse_cellwise_add,
       {"[[0 1] [1 0]], [1 2], [2 2], [3 4] -> [5 5]", "[[1]], [2], [3], 5 -> [7]"}}));
  MR_TRY(add_cellwise(
      ops,
      {"SparseDenseCwiseMul",
       "The elements of a sparse tensor, each times the one of a dense tensor at its place, which "
       "is repeated along axes where it has size 1 or none.",
       product_loop,
       false,
       grad::sparse_cellwise_mul,
       {"[[0 1] [1 0] [1 1]], [1 2 3], [2 2], [3 4] -> [4 6 12]",
        "[[0 1] [1 0]], [1 2], [2 2], [[3] [4]] -> [3 8]", "[[1]], [2], [3], 5 -> [10]"}}));
  return add_cellwise(
      ops,
      {"SparseDenseCwiseDiv",
       "The elements of a sparse tensor, each divided by the one of a dense tensor at its place, "
       "which is repeated along axes where it has size 1 or none.",
       quotient_loop,
       true,
       grad::sparse_cellwise_div,
       {"[[0 1] [1 0] [1 1]], [8 6 12], [2 2], [3 4] -> [2 2 3]",
        "[[0 1] [1 0]], [6 8], [2 2], [[3] [4]] -> [2 2]"}});
}

}  // namespace millrace
