// Part of families.h: register_ragged_counts.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/bins.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/occurrences.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"

namespace millrace {
namespace {

Result<Tensor> ragged_bincount(KernelContext& context, cpu::BinaryLoop add, bool binary) {
  const Tensor& weights = context.input(3);
  if (context.input(0).num_elements() == 0)
    return invalid("Splits must be non-empty: they begin with 0, also where there are no rows");
  const int64_t number = context.input(1).num_elements();
  MR_ASSIGN(const Splits splits, read_splits(context.input(0), number));
  MR_TRY(check_covers(splits, number));
  // TensorFlow's clients give weights in other shapes, as long as they are as many.
  if (weights.num_elements() > 0 && weights.num_elements() != number) {
    return invalid("If weights are passed, there must be as many as values, but there are ",
                   weights.num_elements(), " and ", number);
  }
  MR_ASSIGN(const int64_t size, read_number_of_bins(context.input(2)));
  MR_ASSIGN(const std::vector<int64_t> values, read_elements(context.input(1), "values"));
  MR_ASSIGN(Bins bins, Bins::create({.rows = static_cast<int64_t>(splits.size()) - 1,
                                     .size = size,
                                     .only_marks = binary,
                                     .weights = weights,
                                     .add = add}));
  CancelProbe probe(context);
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    const auto begin = static_cast<size_t>(splits[row]), end = static_cast<size_t>(splits[row + 1]);
    for (size_t i = begin; i < end; ++i)
      MR_TRY(bins.count(i, values[i], static_cast<int64_t>(row)));
    if (!probe.go_on(splits[row + 1] - splits[row] + 1)) return probe.status();
  }
  return std::move(bins).take();
}

Status infer_ragged_bincount(InferContext& context) {
  MR_ASSIGN(const PartialShape splits, context.input_of_rank(0, 1));
  MR_TRY(context.input_of_rank(2, 0));
  int64_t size = kUnknownDim;
  if (context.constant(2) != nullptr) {
    MR_ASSIGN(size, read_number_of_bins(*context.constant(2)));
  }
  int64_t rows = kUnknownDim;
  if (splits.dim(0) == 0)
    return invalid("Splits must be non-empty: they begin with 0, also where there are no rows");
  if (splits.dim(0) != kUnknownDim) rows = splits.dim(0) - 1;
  return context.set_output(0, PartialShape::create(std::vector<int64_t>{rows, size}));
}

Status ragged_occurrences(KernelContext& context, cpu::BinaryLoop add,
                          const OccurrenceLimits& limits) {
  const Tensor& weights = context.input(2);
  const int64_t number = context.input(1).num_elements();
  if (context.input(0).num_elements() < 2)
    return invalid("Must provide at least 2 elements for the splits argument");
  MR_ASSIGN(const Splits splits, read_splits(context.input(0), number));
  MR_TRY(check_covers(splits, number));
  if (weights.num_elements() > 0 && weights.shape() != context.input(1).shape()) {
    return invalid(
        "Weights and values must have the same shape. Weight shape: ", weights.shape().to_string(),
        "; values shape: ", context.input(1).shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> values, read_elements(context.input(1), "values"));
  std::vector<int64_t> rows;
  rows.reserve(values.size());
  for (size_t row = 0; row + 1 < splits.size(); ++row)
    rows.resize(static_cast<size_t>(splits[row + 1]), static_cast<int64_t>(row));
  return count_occurrences(context, values,
                           {.rows_of_values = rows,
                            .rows = static_cast<int64_t>(splits.size()) - 1,
                            .limits = limits,
                            .weights = weights,
                            .add = add});
}

Status infer_ragged_occurrences(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  set_occurrences(context, 2);
  return {};
}

constexpr const char* kPlacesOfRagged = "the elements only say where to count";

}  // namespace

Status register_ragged_counts(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "RaggedBincount",
      .doc = "How often each number from 0 to below size comes in each row of a ragged tensor, or "
             "whether it does. With weights, the sum of those of the values that are it.",
      .signature = "splits: int64, values: Tidx, size: Tidx, weights: T -> output: T | "
                   "Tidx: {int32, int64}, T: {int32, int64, float, double}, "
                   "binary_output: bool = false",
      .infer = infer_ragged_bincount,
      .cpu = kernel_with(ragged_bincount, cpu::LoopFor{cpu::addition_loop, 3},
                         boolean("binary_output")),
      .not_differentiable = kPlacesOfRagged,
      .examples = {"[0 0 3 5], [3 0 3 1 7], 4, [] -> [[0 0 0 0] [1 0 0 2] [0 1 0 0]]",
                   "[0 0 3 5], [3 0 3 1 7], 4, [1 2 3 4 5] -> [[0 0 0 0] [2 0 0 4] [0 4 0 0]]",
                   "[0 0 3 5], [3 0 3 1 7], 4, [] -> [[0 0 0 0] [1 0 0 1] [0 1 0 0]] | "
                   "binary_output = true"},
  }));
  return ops.add({
      .name = "RaggedCountSparseOutput",
      .doc = "Which numbers come in each row of a ragged tensor and how often, or whether they do, "
             "as a sparse tensor of shape [rows, numbers]. Those from maxlength on are left out. "
             "With weights, the sum of those of the values that are it.",
      .signature = "splits: int64, values: T, weights: output_type -> output_indices: int64, "
                   "output_values: output_type, output_dense_shape: int64 | T: {int32, int64}, "
                   "minlength: int >= -1 = -1, maxlength: int >= -1 = -1, binary_output: bool, "
                   "output_type: {int32, int64, float, double}",
      .infer = infer_ragged_occurrences,
      .cpu = kernel_with(ragged_occurrences, cpu::LoopFor{cpu::addition_loop, 2},
                         OccurrenceLimits::Bound()),
      .not_differentiable = kPlacesOfRagged,
      .examples = {"[0 2 2 3], [1 1 2], [] -> [[0 1] [2 2]], [2 1], [3 3] | binary_output = false",
                   "[0 2 2 3], [1 1 2], [5 6 7] -> [[0 1] [2 2]], [11 7], [3 5] | "
                   "binary_output = false, minlength = 5",
                   "[0 2 2 3], [1 1 2], [5 6 7] -> [[0 1]], [1], [3 2] | binary_output = true, "
                   "maxlength = 2"},
  });
}

}  // namespace millrace
