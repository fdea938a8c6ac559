// Part of families.h: register_ragged_counts.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/bins.h"
#include "millrace/ops/loops/loop_of.h"
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

}  // namespace

Status register_ragged_counts(OpRegistry& ops) {
  return ops.add({
      .name = "RaggedBincount",
      .doc = "How often each number from 0 to below size comes in each row of a ragged tensor, or "
             "whether it does. With weights, the sum of those of the values that are it.",
      .signature = "splits: int64, values: Tidx, size: Tidx, weights: T -> output: T | "
                   "Tidx: {int32, int64}, T: {int32, int64, float, double}, "
                   "binary_output: bool = false",
      .infer = infer_ragged_bincount,
      .cpu = kernel_with(ragged_bincount, cpu::LoopFor{cpu::addition_loop, 3},
                         boolean("binary_output")),
      .not_differentiable = "the elements only say where to count",
      .examples = {"[0 0 3 5], [3 0 3 1 7], 4, [] -> [[0 0 0 0] [1 0 0 2] [0 1 0 0]]",
                   "[0 0 3 5], [3 0 3 1 7], 4, [1 2 3 4 5] -> [[0 0 0 0] [2 0 0 4] [0 4 0 0]]",
                   "[0 0 3 5], [3 0 3 1 7], 4, [] -> [[0 0 0 0] [1 0 0 1] [0 1 0 0]] | "
                   "binary_output = true"},
  });
}

}  // namespace millrace
