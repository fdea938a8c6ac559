// Part of families.h: register_sparse_segments.
#include <algorithm>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/segment_rows.h"

namespace millrace {
namespace {

using By = Folding::By;

// Which rows, and to which segment each of them goes.
struct Picks {
  std::vector<int64_t> rows, ids;
};

Result<Picks> read_picks(const Tensor& indices, const Tensor& segment_ids) {
  if (indices.shape().rank() != 1) return invalid("indices should be a vector.");
  if (segment_ids.shape().rank() != 1) return invalid("segment_ids should be a vector.");
  if (indices.num_elements() != segment_ids.num_elements()) {
    return invalid("segment_ids and indices should have same size: ", segment_ids.num_elements(),
                   " and ", indices.num_elements());
  }
  Picks picks;
  MR_ASSIGN(picks.rows, read_elements(indices, "indices"));
  MR_ASSIGN(picks.ids, read_elements(segment_ids, "segment_ids"));
  return picks;
}

bool is_inside(int64_t at, int64_t limit) { return at >= 0 && at < limit; }

Result<Tensor> fold_picked(KernelContext& context, const FoldLoops& loops) {
  const Tensor& data = context.input(0);
  if (data.shape().rank() < 1) return invalid("data must be at least rank 1");
  MR_ASSIGN(const Picks picks, read_picks(context.input(1), context.input(2)));
  MR_TRY(check_sorted(picks.ids));
  MR_ASSIGN(const int64_t segments, number_of_segments(context, picks.ids, 3));
  MR_ASSIGN(const Shape shape, segments_shape(segments, data.shape()));
  for (size_t i = 0; i < picks.rows.size(); ++i) {
    if (is_inside(picks.rows[i], data.shape().dim(0))) continue;
    return invalid("Bad: indices[", i, "] == ", picks.rows[i], " out of range [0, ",
                   data.shape().dim(0), ")");
  }
  MR_ASSIGN(Tensor made, Tensor::zeros(data.dtype(), shape));
  MR_TRY(fold_rows(RowsIn(data, data.shape().dim(0)), picks.rows, picks.ids, loops, made,
                   CancelProbe(context)));
  return made;
}

Status infer_picked(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 1));
  const PartialShape& data = context.input(0);
  if (!data.has_rank()) return {};
  if (data.rank() < 1) return invalid("data must be at least rank 1");
  std::vector<int64_t> dims(data.dims().begin(), data.dims().end());
  dims[0] = kUnknownDim;
  if (context.num_inputs() > 3) {
    if (const Tensor* segments = context.constant(3)) {
      MR_ASSIGN(dims[0], read_segments(*segments));
    }
  }
  return context.set_output(0, PartialShape::create(dims));
}

// --- the gradients ---

// What arrived at the segments, the rows and segments of what went into them, and how many rows of
// data there were.
struct Arrived {
  Tensor gradient;
  Picks picks;
  int64_t rows = 0;
};

Result<Arrived> read_arrived(KernelContext& context, std::string_view what) {
  Arrived made{context.input(0), {}, 0};
  if (made.gradient.shape().rank() < 1) return invalid("grad must be at least rank 1");
  MR_ASSIGN(made.picks, read_picks(context.input(1), context.input(2)));
  if (!context.input(3).shape().is_scalar()) return invalid(what, " should be a scalar.");
  MR_ASSIGN(made.rows, read_integer(context.input(3), what));
  if (made.rows < 0) return invalid(what, " = ", made.rows, " must not be negative");
  for (size_t i = 0; i < made.picks.rows.size(); ++i) {
    if (is_inside(made.picks.rows[i], made.rows)) continue;
    return invalid("Index ", made.picks.rows[i], " out of range [0, ", made.rows, "): indices[", i,
                   "]");
  }
  return made;
}

// Row ids[i] of what arrived is added to row at[i] of `rows` rows, divided as the segment was.
Result<Tensor> spread(KernelContext& context, const Tensor& arriving, std::span<const int64_t> ids,
                      std::span<const int64_t> at, int64_t rows, const FoldLoops& loops) {
  const int64_t segments = arriving.shape().dim(0);
  MR_ASSIGN(const Shape shape, segments_shape(rows, arriving.shape()));
  MR_ASSIGN(Tensor made, Tensor::zeros(arriving.dtype(), shape));
  // Before there is a count for each: rows of no elements may be as many as they like.
  if (arriving.num_elements() == 0 && segments > 0) return made;
  std::vector<int64_t> counts(static_cast<size_t>(segments), 0);
  for (const int64_t id : ids) {
    if (!is_inside(id, segments)) {
      return invalid("Invalid number of segments: Segment id ", id, " out of range [0, ", segments,
                     ").");
    }
    ++counts[static_cast<size_t>(id)];
  }
  const RowsIn in(arriving, segments);
  MR_ASSIGN(Tensor share, Tensor::allocate(arriving.dtype(), {in.length}));
  char* const all = static_cast<char*>(made.mutable_data());
  CancelProbe probe(context);
  for (size_t i = 0; i < ids.size() && in.length > 0; ++i) {
    const char* from = in.data + ids[i] * in.bytes;
    const int64_t number = counts[static_cast<size_t>(ids[i])];
    if (loops.folding.divide != By::nothing && number > 1) {
      MR_ASSIGN(const Tensor by, divisor_of(arriving.dtype(), number, loops.folding.divide));
      loops.divide(from, 1, by.data(), 0, share.mutable_data(), in.length);
      from = static_cast<const char*>(share.data());
    }
    char* to = all + at[i] * in.bytes;
    loops.fold(to, 1, from, 1, to, in.length);
    if (!probe.go_on(in.length)) return probe.status();
  }
  return made;
}

Result<Tensor> spread_segments(KernelContext& context, const FoldLoops& loops) {
  MR_ASSIGN(const Arrived in, read_arrived(context, "output_dim0"));
  return spread(context, in.gradient, in.picks.ids, in.picks.rows, in.rows, loops);
}

// The same for the rows that are named alone, in ascending order.
Status spread_named(KernelContext& context, const FoldLoops& loops) {
  MR_ASSIGN(const Arrived in, read_arrived(context, "dense_output_dim0"));
  std::vector<int64_t> named = in.picks.rows;
  std::ranges::sort(named);
  named.erase(std::unique(named.begin(), named.end()), named.end());
  std::vector<int64_t> at;
  for (const int64_t row : in.picks.rows)
    at.push_back(std::ranges::lower_bound(named, row) - named.begin());
  const auto number = static_cast<int64_t>(named.size());
  MR_ASSIGN(Tensor made, spread(context, in.gradient, in.picks.ids, at, number, loops));
  context.set_output(0, std::move(made));
  return context.set_output(1, integer_tensor(context.output_dtype(1), {number}, named));
}

Status infer_spread(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 1));
  MR_TRY(context.input_of_rank(3, 0));
  const PartialShape& arriving = context.input(0);
  if (!arriving.has_rank()) return {};
  if (arriving.rank() < 1) return invalid("grad must be at least rank 1");
  MR_ASSIGN(const auto rows, constant_integers(context, 3, "output_dim0"));
  std::vector<int64_t> dims(arriving.dims().begin(), arriving.dims().end());
  dims[0] = rows ? rows->front() : kUnknownDim;
  if (dims[0] < kUnknownDim) return invalid("Cannot specify a negative output_dim0: ", dims[0]);
  return context.set_output(0, PartialShape::create(dims));
}

Status infer_spread_named(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 1));
  MR_TRY(context.input_of_rank(3, 0));
  context.set_output(1, PartialShape::of_rank(1));
  const PartialShape& arriving = context.input(0);
  if (!arriving.has_rank()) return {};
  if (arriving.rank() < 1) return invalid("grad must be at least rank 1");
  std::vector<int64_t> dims(arriving.dims().begin(), arriving.dims().end());
  dims[0] = kUnknownDim;
  return context.set_output(0, PartialShape::create(dims));
}

struct SparseSegmentOp {
  std::string name, doc, types;
  By divide;
  std::string result, spread;  // of [[1 2] [3 4] [5 6]] by [0 2 1] and [0 0 1]; of [4 6] by them
  std::string named;           // of [[4] [6]] by [5 2 5] and [0 0 1]
};

Status add_sparse_segments(OpRegistry& ops, const SparseSegmentOp& row) {
  const BoundFolding folding{{cpu::addition_loop, Empty::zero, row.divide}};
  const std::string types = str_cat("T: ", row.types, ", Tidx: {int32, int64} = int32, ");
  const std::string ids = "Tsegmentids: {int32, int64} = int32";
  const std::string sparse = ", sparse_gradient: bool = false";
  MR_TRY(ops.add({
      .name = "SparseSegment" + row.name,
      .doc = str_cat(row.doc,
                     " of the rows of data that indices name, by segment_ids, which are in "
                     "order."),
      .signature = str_cat("data: T, indices: Tidx, segment_ids: Tsegmentids -> output: T | ",
                           types, ids, sparse),
      .infer = infer_picked,
      .cpu = kernel_with(fold_picked, folding),
      .grad = grad::sparse_segments,
      .examples = {str_cat("[[1 2] [3 4] [5 6]], [0 2 1], [0 0 1] -> ", row.result)},
  }));
  MR_TRY(ops.add({
      .name = str_cat("SparseSegment", row.name, "WithNumSegments"),
      .doc = str_cat(row.doc,
                     " of the rows of data that indices name, by segment_ids, which are in "
                     "order and below num_segments."),
      .signature = str_cat("data: T, indices: Tidx, segment_ids: Tsegmentids, "
                           "num_segments: Tnumsegments -> output: T | ",
                           types, "Tnumsegments: {int32, int64} = int32, ", ids, sparse),
      .infer = infer_picked,
      .cpu = kernel_with(fold_picked, folding),
      .grad = grad::sparse_segments,
      .examples = {str_cat("[[1 2] [3 4] [5 6]], [0 2 1], [0 0 1], 2 -> ", row.result)},
  }));
  MR_TRY(ops.add({
      .name = str_cat("SparseSegment", row.name, "GradV2"),
      .doc = str_cat("The gradient of SparseSegment", row.name,
                     ": what arrived at the segments, for those rows alone that went into them, "
                     "which are named in ascending order."),
      .signature = str_cat("grad: T, indices: Tidx, segment_ids: Tsegmentids, "
                           "dense_output_dim0: int32 -> output: T, sorted_unique_indices: Tidx | "
                           "T: floating, Tidx: {int32, int64} = int32, ",
                           ids),
      .infer = infer_spread_named,
      .cpu = kernel_with(spread_named, folding),
      .not_differentiable = "which rows it makes is known only when it has run",
      .examples = {str_cat("[[4] [6]], [5 2 5], [0 0 1], 8 -> ", row.named, ", [2 5]")},
  }));
  return ops.add({
      .name = str_cat("SparseSegment", row.name, "Grad"),
      .doc = str_cat("The gradient of SparseSegment", row.name,
                     ": what arrived at the segments, for the rows that went into them."),
      .signature = str_cat("grad: T, indices: Tidx, segment_ids: Tsegmentids, "
                           "output_dim0: int32 -> output: T | T: floating, "
                           "Tidx: {int32, int64} = int32, ",
                           ids),
      .infer = infer_spread,
      .cpu = kernel_with(spread_segments, folding),
      .grad = grad::sparse_segment_grads,
      .examples = {str_cat("[4 6], [0 2 1], [0 0 1], 3 -> ", row.spread)},
  });
}

}  // namespace

Status register_sparse_segments(OpRegistry& ops) {
  MR_TRY(add_sparse_segments(
      ops, {"Sum", "Sums", "real", By::nothing, "[[6 8] [3 4]]", "[4 6 4]", "[[4] [10]]"}));
  MR_TRY(add_sparse_segments(
      ops, {"Mean", "Means", "floating", By::number, "[[3 4] [3 4]]", "[2 6 2]", "[[2] [8]]"}));
  return add_sparse_segments(
      ops, {"SqrtN", "Sums, divided by the root of how many they are of,", "floating",
            By::root_of_number, "[[4.2426406871 5.6568542495] [3 4]]",
            "[2.8284271247 6 2.8284271247]", "[[2.8284271247] [8.8284271247]]"});
}

}  // namespace millrace
