// Part of families.h: register_segments.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

// The rows' dims: those of data behind those of segment_ids.
Result<PartialShape> segment_sums_shape(const PartialShape& data, const PartialShape& ids,
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

Result<int64_t> read_segments(const Tensor& tensor) {
  MR_ASSIGN(const int64_t segments, read_integer(tensor, "num_segments"));
  if (segments >= 0) return segments;
  return invalid("Input num_segments == ", segments, " must not be negative.");
}

// Rows with a negative id are left out.
Result<Tensor> unsorted_segment_sum(KernelContext& context, cpu::BinaryLoop add) {
  const Tensor& data = context.input(0);
  MR_ASSIGN(const int64_t segments, read_segments(context.input(2)));
  MR_ASSIGN(const PartialShape known,
            segment_sums_shape(data.shape(), context.input(1).shape(), segments));
  MR_ASSIGN(const std::vector<int64_t> ids, read_elements(context.input(1), "segment_ids"));
  MR_ASSIGN(Tensor sums, Tensor::zeros(data.dtype(), *known.to_shape()));
  if (ids.empty() || data.num_elements() == 0) return sums;
  const int64_t row = data.num_elements() / static_cast<int64_t>(ids.size());
  const int64_t bytes = row * static_cast<int64_t>(dtype_size(data.dtype()));
  const char* from = static_cast<const char*>(data.data());
  char* const all = static_cast<char*>(sums.mutable_data());
  CancelProbe probe(context);
  for (size_t i = 0; i < ids.size(); ++i, from += bytes) {
    if (ids[i] < 0) continue;
    if (ids[i] >= segments) {
      return invalid("segment_ids[", i, "] = ", ids[i], " is out of range [0, ", segments, ")");
    }
    char* to = all + ids[i] * bytes;
    add(to, 1, from, 1, to, row);
    if (!probe.go_on(row)) return probe.status();
  }
  return sums;
}

Status infer_unsorted_segments(InferContext& context) {
  int64_t segments = kUnknownDim;
  if (const Tensor* value = context.constant(2)) {
    MR_ASSIGN(segments, read_segments(*value));
  }
  return context.set_output(0, segment_sums_shape(context.input(0), context.input(1), segments));
}

}  // namespace

Status register_segments(OpRegistry& ops) {
  return ops.add({
      .name = "UnsortedSegmentSum",
      .doc = "Sums of rows: row i of data goes to row segment_ids[i] of the result, which has "
             "num_segments; rows with a negative id to none.",
      .signature = "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T | "
                   "T: number, Tindices: {int32, int64}, Tnumsegments: {int32, int64} = int32",
      .infer = infer_unsorted_segments,
      .cpu = kernel_with(unsorted_segment_sum, cpu::LoopFor{cpu::addition_loop}),
      .grad = grad::unsorted_segment_sum,
      .examples = {"[[1 2] [3 4] [5 6]], [2 0 2], 3 -> [[3 4] [0 0] [6 8]]",
                   "[1 2 3], [0 -1 0], 2 -> [4 0] | T = float, Tindices = int32",
                   "[[1 2] [3 4]], [[0 1] [1 0]], 2 -> [5 5]"},
  });
}

}  // namespace millrace
