// Part of families.h: register_segments.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/segment_rows.h"

namespace millrace {
namespace {

// --- UnsortedSegment* ---

// The rows' dims: those of data behind those of segment_ids.
Result<PartialShape> unsorted_shape(const PartialShape& data, const PartialShape& ids,
                                    int64_t segments) {
  if (!data.has_rank() || !ids.has_rank()) return PartialShape::unknown();
  if (ids.rank() > data.rank()) {
    return invalid("data.shape = ", data.to_string(),
                   " does not start with segment_ids.shape = ", ids.to_string());
  }
  for (int axis = 0; axis < ids.rank(); ++axis) {
    const int64_t a = data.dim(axis), b = ids.dim(axis);
    if (a == b || a == kUnknownDim || b == kUnknownDim) continue;
    return invalid("data.shape = ", data.to_string(),
                   " does not start with segment_ids.shape = ", ids.to_string());
  }
  std::vector<int64_t> dims = {segments};
  for (int axis = ids.rank(); axis < data.rank(); ++axis) dims.push_back(data.dim(axis));
  return PartialShape::create(dims);
}

// Rows with a negative id are left out.
Result<Tensor> fold_unsorted(KernelContext& context, const FoldLoops& loops) {
  const Tensor& data = context.input(0);
  MR_ASSIGN(const int64_t segments, read_segments(context.input(2)));
  MR_ASSIGN(const PartialShape known,
            unsorted_shape(data.shape(), context.input(1).shape(), segments));
  MR_ASSIGN(const std::vector<int64_t> ids, read_elements(context.input(1), "segment_ids"));
  MR_ASSIGN(Tensor made, empty_segments(data.dtype(), *known.to_shape(), loops.folding.empty));
  if (ids.empty() || data.num_elements() == 0) return made;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < segments) continue;
    return invalid("segment_ids",
                   place_text(context.input(1).shape().dims(), static_cast<int64_t>(i)), " = ",
                   ids[i], " is out of range [0, ", segments, ")");
  }
  MR_TRY(fold_rows(RowsIn(data, static_cast<int64_t>(ids.size())), {}, ids, loops, made,
                   CancelProbe(context)));
  return made;
}

Status infer_unsorted_segments(InferContext& context) {
  int64_t segments = kUnknownDim;
  if (const Tensor* value = context.constant(2)) {
    MR_ASSIGN(segments, read_segments(*value));
  }
  return context.set_output(0, unsorted_shape(context.input(0), context.input(1), segments));
}

// --- Segment*: ids in order ---

Result<Tensor> fold_sorted(KernelContext& context, const FoldLoops& loops) {
  const Tensor& data = context.input(0);
  const Shape& ids_shape = context.input(1).shape();
  if (ids_shape.rank() != 1) return invalid("segment_ids should be a vector.");
  if (data.shape().rank() < 1) return invalid("data must be at least rank 1");
  if (ids_shape.dim(0) != data.shape().dim(0)) {
    return invalid("segment_ids should be the same size as dimension 0 of input: ",
                   ids_shape.dim(0), " and ", data.shape().dim(0));
  }
  MR_ASSIGN(const std::vector<int64_t> ids, read_elements(context.input(1), "segment_ids"));
  MR_TRY(check_sorted(ids));
  MR_ASSIGN(const int64_t segments, number_of_segments(context, ids, 2));
  MR_ASSIGN(const Shape shape, segments_shape(segments, data.shape()));
  // Where no row went there are zeros, or 1 for a product; with a given number of segments what
  // folding nothing gives.
  const bool is_new = context.num_inputs() > 2;
  MR_ASSIGN(Tensor made, empty_segments(data.dtype(), shape, loops.folding.empty));
  const bool has_limits =
      loops.folding.empty == Empty::lowest || loops.folding.empty == Empty::highest;
  if (!is_new && has_limits) clear_gaps(made, ids);
  MR_TRY(fold_rows(RowsIn(data, data.shape().dim(0)), {}, ids, loops, made, CancelProbe(context)));
  return made;
}

Status infer_sorted(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 1));
  const PartialShape& data = context.input(0);
  if (!data.has_rank()) return {};
  if (data.rank() < 1) return invalid("data must be at least rank 1");
  std::vector<int64_t> dims(data.dims().begin(), data.dims().end());
  dims[0] = kUnknownDim;
  if (context.num_inputs() > 2) {
    if (const Tensor* segments = context.constant(2)) {
      MR_ASSIGN(dims[0], read_segments(*segments));
    }
  }
  return context.set_output(0, PartialShape::create(dims));
}

struct SegmentOp {
  std::string name, doc, types, gap;  // what stands where no row went
  Folding folding;
  GradFn sorted, unsorted;
  std::string sorted_result, unsorted_result;  // of [[1 2] [3 4] [5 6]] by [0 0 2] and [2 0 2]
};

Status add_segments(OpRegistry& ops, const SegmentOp& row) {
  const std::string types = str_cat("T: ", row.types, ", Tindices: {int32, int64}");
  // As in TensorFlow, the sums alone take small ids.
  const std::string unsorted_types =
      row.name == "Sum" ? str_cat("T: ", row.types, ", Tindices: {int16, int32, int64}") : types;
  const BoundFolding folding{row.folding};
  MR_TRY(ops.add({
      .name = "Segment" + row.name,
      .doc = str_cat(row.doc, " of rows that have the same of segment_ids, which are in order; ",
                     row.name == "Prod" ? "1" : "0", " where there are none."),
      .signature = str_cat("data: T, segment_ids: Tindices -> output: T | ", types),
      .infer = infer_sorted,
      .cpu = kernel_with(fold_sorted, folding),
      .grad = row.sorted,
      .examples = {str_cat("[[1 2] [3 4] [5 6]], [0 0 2] -> ", row.sorted_result)},
  }));
  if (row.name == "Mean") return {};
  const std::string number = ", Tnumsegments: {int32, int64} = int32";
  MR_TRY(ops.add({
      .name = str_cat("Segment", row.name, "V2"),
      .doc = str_cat(row.doc, " of rows that have the same of segment_ids, which are in order; ",
                     row.gap, " where there are none."),
      .signature = str_cat("data: T, segment_ids: Tindices, num_segments: Tnumsegments -> "
                           "output: T | ",
                           types, number),
      .infer = infer_sorted,
      .cpu = kernel_with(fold_sorted, folding),
      .grad = row.sorted,
      .examples = {"[[1 2] [3 4] [5 6]], [0 0 1], 2"},
  }));
  return ops.add({
      .name = "UnsortedSegment" + row.name,
      .doc = str_cat(row.doc,
                     " of rows: row i of data goes to row segment_ids[i] of the result, "
                     "which has num_segments; rows with a negative id to none. ",
                     row.gap, " where there are none."),
      .signature = str_cat("data: T, segment_ids: Tindices, num_segments: Tnumsegments -> "
                           "output: T | ",
                           unsorted_types, number),
      .infer = infer_unsorted_segments,
      .cpu = kernel_with(fold_unsorted, folding),
      .grad = row.unsorted,
      .examples = {str_cat("[[1 2] [3 4] [5 6]], [1 0 1], 2 -> ", row.unsorted_result),
                   "[[1 2] [3 4]], [[0 1] [1 0]], 2",
                   "[1 2 3], [0 -1 0], 2 | T = float, Tindices = int32"},
  });
}

}  // namespace

Status register_segments(OpRegistry& ops) {
  MR_TRY(add_segments(ops, {"Sum",
                            "Sums",
                            "number",
                            "0",
                            {cpu::addition_loop, Empty::zero},
                            grad::segment_sum,
                            grad::unsorted_segment_sum,
                            "[[4 6] [0 0] [5 6]]",
                            "[[3 4] [6 8]]"}));
  MR_TRY(add_segments(ops, {"Mean",
                            "Means",
                            "number",
                            "0",
                            {cpu::addition_loop, Empty::zero, Folding::By::number},
                            grad::segment_mean,
                            nullptr,
                            "[[2 3] [0 0] [5 6]]",
                            ""}));
  MR_TRY(add_segments(ops, {"Prod",
                            "Products",
                            "number",
                            "1",
                            {product_loop, Empty::one},
                            grad::segment_prod,
                            grad::unsorted_segment_prod,
                            "[[3 8] [1 1] [5 6]]",
                            "[[3 4] [5 12]]"}));
  MR_TRY(add_segments(ops, {"Min",
                            "The smallest",
                            "real",
                            "The largest number of the type",
                            {minimum_loop, Empty::highest},
                            grad::segment_extreme,
                            grad::unsorted_segment_extreme,
                            "[[1 2] [0 0] [5 6]]",
                            "[[3 4] [1 2]]"}));
  return add_segments(ops, {"Max",
                            "The largest",
                            "real",
                            "The lowest number of the type",
                            {maximum_loop, Empty::lowest},
                            grad::segment_extreme,
                            grad::unsorted_segment_extreme,
                            "[[3 4] [0 0] [5 6]]",
                            "[[3 4] [5 6]]"});
}

}  // namespace millrace
