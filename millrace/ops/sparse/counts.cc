// Part of families.h: register_sparse_counts.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/bins.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/occurrences.h"
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

Status sparse_occurrences(KernelContext& context, cpu::BinaryLoop add,
                          const OccurrenceLimits& limits) {
  MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::inside));
  const Tensor& weights = context.input(3);
  if (in.rank < 1) return invalid("The shape argument requires at least one element.");
  if (weights.num_elements() > 0 && weights.shape() != in.values.shape()) {
    return invalid("Weights and values must have the same shape. Weight shape: ",
                   weights.shape().to_string(), "; values shape: ", in.values.shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> values, read_elements(in.values, "values"));
  Occurrences how{.limits = limits, .weights = weights, .add = add};
  std::vector<int64_t> rows;
  if (in.rank > 1) {
    rows.reserve(values.size());
    for (int64_t i = 0; i < in.number; ++i) rows.push_back(in.place(i)[0]);
    how.rows_of_values = rows;
    how.rows = in.dims[0];
  }
  return count_occurrences(context, values, how);
}

Status infer_sparse_occurrences(InferContext& context) {
  MR_TRY(infer_sparse(context));
  const int64_t rank = sparse_rank(context);
  if (rank == 0) return invalid("The shape argument requires at least one element.");
  set_occurrences(context, rank == kUnknownDim ? rank : std::min<int64_t>(rank, 2));
  return {};
}

constexpr const char* kPlacesOfSparse = "the elements only say where to count";

}  // namespace

Status register_sparse_counts(OpRegistry& ops) {
  MR_TRY(ops.add({
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
      .not_differentiable = kPlacesOfSparse,
      .examples = {"[[7] [9] [12]], [2 1 2], [20], 3, [] -> [0 1 2]",
                   "[[1 2] [1 4] [3 2]], [2 2 0], [4 5], 3, [] -> [[0 0 0] [0 0 2] [0 0 0] "
                   "[1 0 0]]",
                   "[[1 2] [1 4] [3 2]], [2 2 0], [4 5], 3, [5 6 7] -> [[0 0 0] [0 0 11] [0 0 0] "
                   "[7 0 0]]",
                   "[[7] [9] [12]], [2 5 2], [20], 3, [4 5 6] -> [0 0 1] | binary_output = true"},
  }));
  return ops.add({
      .name = "SparseCountSparseOutput",
      .doc =
          "Which numbers come among the values of a sparse tensor and how often, or whether they "
          "do; if it is no vector, for each place along its first axis. As a sparse tensor of "
          "shape [numbers] or [rows, numbers]. Those from maxlength on are left out. With "
          "weights, the sum of those of the values that are it.",
      .signature = "indices: int64, values: T, dense_shape: int64, weights: output_type -> "
                   "output_indices: int64, output_values: output_type, output_dense_shape: int64 | "
                   "T: {int32, int64}, minlength: int >= -1 = -1, maxlength: int >= -1 = -1, "
                   "binary_output: bool, output_type: {int32, int64, float, double}",
      .infer = infer_sparse_occurrences,
      .cpu = kernel_with(sparse_occurrences, cpu::LoopFor{cpu::addition_loop, 3},
                         OccurrenceLimits::Bound()),
      .not_differentiable = kPlacesOfSparse,
      .examples = {"[[0] [3]], [1 1], [5], [] -> [[1]], [2], [2] | binary_output = false",
                   "[[3 1] [0 0] [3 0]], [1 1 0], [5 2], [5 6 7] -> [[0 1] [3 0] [3 1]], [6 7 5], "
                   "[5 2] | binary_output = false",
                   "[[0 1 0] [0 0 0]], [1 1], [2 2 1], [] -> [[0 1]], [1], [2 4] | "
                   "binary_output = true, minlength = 4"},
  });
}

}  // namespace millrace
