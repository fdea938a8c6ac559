// Part of families.h: register_sparse_counts.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/bins.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

Result<Tensor> sparse_bincount(KernelContext& context, cpu::BinaryLoop add, bool binary) {
  MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::inside));
  const Tensor& weights = context.input(4);
  if (in.rank != 1 && in.rank != 2)
    return invalid("only vectors and matrices can be counted, but the shape has rank ", in.rank);
  if (weights.num_elements() > 0 && weights.shape() != in.values.shape()) {
    return invalid("If weights are passed, they must have the same shape (",
                   weights.shape().to_string(), ") as values (", in.values.shape().to_string(),
                   ")");
  }
  MR_ASSIGN(const int64_t size, read_number_of_bins(context.input(3)));
  MR_ASSIGN(const std::vector<int64_t> values, read_elements(in.values, "values"));
  Bins::Options options{.size = size, .only_marks = binary, .weights = weights, .add = add};
  if (in.rank == 2) options.rows = in.dims[0];
  MR_ASSIGN(Bins bins, Bins::create(std::move(options)));
  CancelProbe probe(context);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t row = in.rank == 2 ? in.place(static_cast<int64_t>(i))[0] : 0;
    MR_TRY(bins.count(i, values[i], row));
    if (!probe.go_on(1)) return probe.status();
  }
  return std::move(bins).take();
}

Status infer_sparse_bincount(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_TRY(context.input_of_rank(3, 0));
  int64_t size = kUnknownDim, rows = kUnknownDim;
  if (context.constant(3) != nullptr) {
    MR_ASSIGN(size, read_number_of_bins(*context.constant(3)));
  }
  MR_ASSIGN(const auto dims, constant_integers(context, 2, "dense_shape"));
  const int64_t rank = dims ? static_cast<int64_t>(dims->size()) : sparse_rank(context);
  if (rank == kUnknownDim) return {};
  if (rank == 1) {
    context.set_output(0, PartialShape{size});
    return {};
  }
  if (rank != 2)
    return invalid("only vectors and matrices can be counted, but the shape has rank ", rank);
  if (dims) rows = dims->front();
  return context.set_output(0, PartialShape::create(std::vector<int64_t>{rows, size}));
}

}  // namespace

Status register_sparse_counts(OpRegistry& ops) {
  return ops.add({
      .name = "SparseBincount",
      .doc = "How often each number from 0 to below size comes among the values of a sparse "
             "tensor, or whether it does; of a matrix, in each row. What is not there is not "
             "counted. With weights, the sum of those of the values that are it.",
      .signature = "indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T -> "
                   "output: T | Tidx: {int32, int64}, T: {int32, int64, float, double}, "
                   "binary_output: bool = false",
      .infer = infer_sparse_bincount,
      .cpu = kernel_with(sparse_bincount, cpu::LoopFor{cpu::addition_loop, 4},
                         boolean("binary_output")),
      .not_differentiable = "the elements only say where to count",
      .examples = {"[[7] [9] [12]], [2 1 2], [20], 3, [] -> [0 1 2]",
                   "[[1 2] [1 4] [3 2]], [2 2 0], [4 5], 3, [] -> [[0 0 0] [0 0 2] [0 0 0] "
                   "[1 0 0]]",
                   "[[1 2] [1 4] [3 2]], [2 2 0], [4 5], 3, [5 6 7] -> [[0 0 0] [0 0 11] [0 0 0] "
                   "[7 0 0]]",
                   "[[7] [9] [12]], [2 5 2], [20], 3, [4 5 6] -> [0 0 1] | binary_output = true"},
  });
}

}  // namespace millrace
