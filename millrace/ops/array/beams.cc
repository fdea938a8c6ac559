// Part of families.h: register_beams.
#include <algorithm>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"

namespace millrace {
namespace {

// What is wrong with the shapes of GatherTree's inputs, as far as they are known.
Status check_tree(const PartialShape& steps, const PartialShape& parents,
                  const PartialShape& lengths, const PartialShape& end) {
  if (steps.has_rank() && steps.rank() != 3)
    return invalid("step_ids must be a 3-tensor, saw shape: ", steps.to_string());
  if (parents.has_rank() && parents.rank() != 3)
    return invalid("parent_ids must be a 3-tensor, saw shape: ", parents.to_string());
  if (lengths.has_rank() && lengths.rank() != 1)
    return invalid("max_sequence_lengths must be a vector, saw shape: ", lengths.to_string());
  if (end.has_rank() && end.rank() != 0)
    return invalid("end_token must be a scalar, saw shape: ", end.to_string());
  if (!steps.has_rank()) return {};
  const auto differ = [](int64_t a, int64_t b) {
    return a != b && a != kUnknownDim && b != kUnknownDim;
  };
  for (int axis = 0; parents.has_rank() && axis < 3; ++axis) {
    if (!differ(steps.dim(axis), parents.dim(axis))) continue;
    return invalid("step_ids.shape must match parent_ids.shape, but they are: ", steps.to_string(),
                   " and ", parents.to_string());
  }
  if (lengths.has_rank() && differ(steps.dim(1), lengths.dim(0))) {
    return invalid(
        "batch size of step_ids and max_sequence_lengths must be equal, but their shapes are: ",
        steps.to_string(), " and ", lengths.to_string());
  }
  return {};
}

// One beam, from its last step to its first. A parent that is none leaves -1 for the steps before.
// Elements of a beam are `stride` apart, the beams of a step are neighbours.
struct Beams {
  const int32_t* steps;
  const int32_t* parents;
  int64_t width, stride;

  void trace(int64_t beam, int64_t length, int32_t end, int32_t* made) const {
    int64_t at = beam;
    for (int64_t time = length - 1; time >= 0; --time) {
      const bool is_one = at >= 0 && at < width;
      made[time * stride] = is_one ? steps[time * stride + at] : -1;
      at = is_one ? parents[time * stride + at] : -1;
    }
    // What follows the end belongs to no sequence.
    bool is_over = false;
    for (int64_t time = 0; time < length; ++time) {
      int32_t& step = made[time * stride];
      if (is_over) step = end;
      is_over = is_over || step == end;
    }
  }
};

Result<Tensor> gather_tree(KernelContext& context) {
  const Tensor& steps = context.input(0);
  const Tensor& lengths = context.input(2);
  MR_TRY(check_tree(steps.shape(), context.input(1).shape(), lengths.shape(),
                    context.input(3).shape()));
  const int64_t times = steps.shape().dim(0), batch = steps.shape().dim(1),
                width = steps.shape().dim(2);
  const int32_t end = context.input(3).flat<int32_t>()[0];
  MR_ASSIGN(Tensor made, context.allocate(0, steps.shape()));
  const std::span<int32_t> out = made.mutable_flat<int32_t>();
  std::fill(out.begin(), out.end(), end);
  const std::span<const int32_t> most = lengths.flat<int32_t>();
  CancelProbe probe(context);
  for (int64_t member = 0; member < batch && !out.empty(); ++member) {
    const int64_t length = std::min<int64_t>(times, most[static_cast<size_t>(member)]);
    const Beams beams{steps.flat<int32_t>().data() + member * width,
                      context.input(1).flat<int32_t>().data() + member * width, width,
                      batch * width};
    for (int64_t beam = 0; beam < width; ++beam) {
      beams.trace(beam, length, end, out.data() + member * width + beam);
      if (!probe.go_on(times)) return probe.status();
    }
  }
  return made;
}

Status infer_gather_tree(InferContext& context) {
  MR_TRY(check_tree(context.input(0), context.input(1), context.input(2), context.input(3)));
  const PartialShape& steps = context.input(0);
  context.set_output(0, steps.has_rank() ? steps : context.input(1));
  return {};
}

}  // namespace

Status register_beams(OpRegistry& ops) {
  return ops.add({
      .name = "GatherTree",
      .doc = "Whole beams from the ids of each step and the beams that they continue, of shape "
             "[time, batch, beam]: what follows an end, or the longest sequence of the member of "
             "the batch, is end_token.",
      .signature = "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T -> "
                   "beams: T | T: {int32}",
      .infer = infer_gather_tree,
      .cpu = kernel(gather_tree),
      .not_differentiable = "ids are picked by ids",
      .examples = {"[[[1 2 3]] [[4 5 6]] [[7 8 9]] [[-1 -1 -1]]], "
                   "[[[0 0 0]] [[0 1 1]] [[2 1 2]] [[-1 -1 -1]]], [3], 10 -> "
                   "[[[2 2 2]] [[6 5 6]] [[7 8 9]] [[10 10 10]]]",
                   "[[[1 2]] [[9 4]] [[5 6]]], [[[0 0]] [[0 1]] [[0 0]]], [3], 9 -> "
                   "[[[1 1]] [[9 9]] [[9 9]]]",
                   "[[[1 2]] [[3 4]]], [[[0 0]] [[5 -1]]], [2], 0 -> [[[-1 -1]] [[3 4]]]"},
  });
}

}  // namespace millrace
