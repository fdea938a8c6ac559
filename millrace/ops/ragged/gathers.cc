// Part of families.h: register_ragged_gathers.
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"

namespace millrace {
namespace {

// Things of one level that are to be taken, as runs.
struct RaggedRun {
  int64_t begin, end;
};

// What rows of `splits` hold, one level further down; how long they are is appended to `out`.
Result<std::vector<RaggedRun>> taken_rows(const Splits& splits, std::span<const RaggedRun> rows,
                                          Splits& out) {
  int64_t number = 0;
  for (const RaggedRun& run : rows) number += run.end - run.begin;
  MR_TRY(check_room(number));
  std::vector<RaggedRun> below;
  for (const RaggedRun& run : rows) {
    for (int64_t row = run.begin; row < run.end; ++row) {
      const auto at = static_cast<size_t>(row);
      out.push_back(out.back() + splits[at + 1] - splits[at]);
    }
    if (run.begin == run.end) continue;
    below.push_back({splits[static_cast<size_t>(run.begin)], splits[static_cast<size_t>(run.end)]});
  }
  return below;
}

Status ragged_gather(KernelContext& context) {
  const int levels = context.num_inputs() - 2;
  const Tensor& values = context.input(levels);
  const Tensor& indices = context.input(levels + 1);
  const int wanted = context.num_outputs() - 1;
  if (wanted != levels + indices.shape().rank() - 1) {
    return invalid("OUTPUT_RAGGED_RANK = ", wanted,
                   " must be PARAMS_RAGGED_RANK + rank of indices - 1 = ",
                   levels + indices.shape().rank() - 1);
  }
  MR_ASSIGN(const std::vector<Splits> nested, read_nested_splits(context, 0, levels, values));
  MR_ASSIGN(const std::vector<int64_t> rows,
            read_indices(indices, static_cast<int64_t>(nested[0].size()) - 1));
  std::vector<Splits> made;
  MR_TRY(add_outer_splits(indices.shape(), made));
  std::vector<RaggedRun> runs;
  for (const int64_t row : rows) runs.push_back({row, row + 1});
  for (const Splits& splits : nested) {
    Splits& out = made.emplace_back(Splits{0});
    MR_ASSIGN(runs, taken_rows(splits, runs, out));
  }
  // The splits of the only row that a scalar names are its own affair.
  if (indices.shape().rank() == 0) made.erase(made.begin());
  Shape::Dims dims(values.shape().dims().begin(), values.shape().dims().end());
  int64_t number = 0, length = 1;
  for (const RaggedRun& run : runs) number += run.end - run.begin;
  for (size_t axis = 1; axis < dims.size(); ++axis) length *= dims[axis];
  dims[0] = number;
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor taken, Tensor::allocate(values.dtype(), shape));
  const auto bytes = length * static_cast<int64_t>(dtype_size(values.dtype()));
  char* to = static_cast<char*>(taken.mutable_data());
  CancelProbe probe(context);
  for (const RaggedRun& run : runs) {
    const int64_t count = run.end - run.begin;
    if (bytes > 0 && count > 0) {
      copy_elements(values.dtype(), static_cast<const char*>(values.data()) + run.begin * bytes, to,
                    count * length);
    }
    to += count * bytes;
    if (!probe.go_on(count * length + 1)) return probe.status();
  }
  for (int slot = 0; slot < wanted; ++slot)
    MR_TRY(context.set_output(
        slot, splits_tensor(context.output_dtype(slot), made[static_cast<size_t>(slot)])));
  context.set_output(wanted, std::move(taken));
  return {};
}

Status infer_ragged_gather(InferContext& context) {
  const int levels = context.num_inputs() - 2;
  for (int slot = 0; slot < levels; ++slot) MR_TRY(context.input_of_rank(slot, 1));
  const PartialShape& values = context.input(levels);
  for (int slot = 0; slot + 1 < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::of_rank(1));
  if (!values.has_rank()) return {};
  if (values.rank() < 1) return invalid("ragged values must have rank 1 or more");
  std::vector<int64_t> dims(values.dims().begin(), values.dims().end());
  dims[0] = kUnknownDim;
  return context.set_output(context.num_outputs() - 1, PartialShape::create(dims));
}

// Row i of the values was taken from where the rows that the indices name stand, one behind the
// other.
Status ragged_gather_gradient(GradContext& g) {
  const int levels = g.num_inputs() - 2;
  const Endpoint axis = g.scalar(DType::i32, 0);
  const auto rows_at = [&](Endpoint of, Endpoint which) {
    return g.add("GatherV2", {of, which, axis});
  };
  Endpoint splits = g.input(0);
  for (int level = 1; level < levels; ++level) splits = rows_at(g.input(level), splits);
  const Endpoint rows = g.add("Reshape", {g.input(levels + 1), g.vector({-1})});
  const Endpoint next = g.add("Add", {rows, g.scalar(g.dtype(rows), 1)});
  const Endpoint range = g.add(
      "RaggedRange", {rows_at(splits, rows), rows_at(splits, next), g.scalar(g.dtype(splits), 1)});
  g.set_input_grad(levels, IndexedSlices{.values = g.grad(g.num_outputs() - 1),
                                         .indices = {range.node, 1},
                                         .dense_shape = g.add("Shape", {g.input(levels)})});
  return {};
}

}  // namespace

Status register_ragged_gathers(OpRegistry& ops) {
  return ops.add({
      .name = "RaggedGather",
      .doc = "The rows of a ragged tensor that indices name.",
      .signature =
          "params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, "
          "indices: Tindices -> output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, "
          "output_dense_values: Tvalues | Tvalues: type, Tindices: {int32, int64}, "
          "Tsplits: {int32, int64} = int64, PARAMS_RAGGED_RANK: int >= 1, "
          "OUTPUT_RAGGED_RANK: int >= 0",
      .infer = infer_ragged_gather,
      .cpu = kernel(ragged_gather),
      .grad = ragged_gather_gradient,
      .examples = {"[0 2 2 5], [1 0 1 1 0], [2 0 2] -> [0 3 5 8], [1 1 0 1 0 1 1 0] | "
                   "PARAMS_RAGGED_RANK = 1, OUTPUT_RAGGED_RANK = 1",
                   "[0 2 2 5], [1 0 1 1 0], 0 -> [1 0] | "
                   "PARAMS_RAGGED_RANK = 1, OUTPUT_RAGGED_RANK = 0",
                   "[0 1 3], [0 2 2 5], [1 0 1 1 0], [[1] [1]] -> [0 1 2], [0 2 4], [0 0 3 3 6], "
                   "[1 1 0 1 1 0] | PARAMS_RAGGED_RANK = 2, OUTPUT_RAGGED_RANK = 3"},
  });
}

}  // namespace millrace
