// Part of families.h: register_rankings.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"
#include "millrace/ops/nn/ranks.h"

namespace millrace {
namespace {

// --- TopK ---

Status top_k(KernelContext& context, const RankLoops* loops, int64_t k) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() < 1) return invalid("input must be >= 1-D, got shape ", shape.to_string());
  return rank_along(context, {.loops = loops, .k = k, .axis = shape.rank() - 1});
}

Status top_k_v2(KernelContext& context, const RankLoops* loops) {
  const Tensor& k = context.input(1);
  if (k.shape().rank() != 0) return invalid("k must be scalar, got shape ", k.shape().to_string());
  MR_ASSIGN(const int64_t wanted, read_integer(k, "k"));
  return top_k(context, loops, wanted);
}

// --- ApproxTopK ---

// Exact, as TensorFlow's is on a processor: no recall that is asked for is missed, and there is
// nothing left to aggregate.
Status approx_top_k(KernelContext& context, const RankLoops* loops, int64_t k, int64_t axis,
                    bool is_max) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() < 1) return invalid("input must be >= 1-D, got shape ", shape.to_string());
  MR_ASSIGN(const int at, resolve_axis(axis, shape.rank(), "reduction_dimension"));
  return rank_along(
      context, {.loops = loops, .end = is_max ? End::largest : End::smallest, .k = k, .axis = at});
}

Status infer_top(InferContext& context, int64_t k, int64_t along = -1) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  if (input.rank() < 1) return invalid("input must be >= 1-D, got shape []");
  MR_ASSIGN(const int axis, resolve_axis(along, input.rank(), "reduction_dimension"));
  if (k != kUnknownDim && input.dim(axis) != kUnknownDim && input.dim(axis) < k) {
    return invalid("input must have last dimension >= k = ", k, " but is ", input.dim(axis));
  }
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  dims[static_cast<size_t>(axis)] = k;
  MR_ASSIGN(const PartialShape top, PartialShape::create(dims));
  context.set_output(0, top);
  context.set_output(1, top);
  return {};
}

Status infer_top_k(InferContext& context) {
  MR_ASSIGN(const int64_t k, context.attrs().integer("k"));
  return infer_top(context, k);
}

Status infer_approx_top_k(InferContext& context) {
  MR_ASSIGN(const int64_t k, context.attrs().integer("k"));
  MR_ASSIGN(const int64_t axis, context.attrs().integer("reduction_dimension"));
  return infer_top(context, k, axis);
}

Status infer_top_k_v2(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 0));
  MR_ASSIGN(const auto k, constant_integers(context, 1, "k"));
  if (!k) return infer_top(context, kUnknownDim);
  if (k->front() < 0) {
    return invalid("Dimension size, given by scalar input 1, must be non-negative but is ",
                   k->front());
  }
  return infer_top(context, k->front());
}

// --- InTopK ---

// Whether fewer than k of the row are larger than its target. What is not finite can't be ranked.
bool is_in_top(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
  int64_t larger = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(row[i])) return false;
    if (row[i] > row[target] && ++larger > k) break;
  }
  return larger < k;
}

Result<Tensor> in_top(KernelContext& context, int64_t k) {
  const Shape& predictions = context.input(0).shape();
  const Shape& targets = context.input(1).shape();
  if (predictions.rank() != 2) return invalid("predictions must be 2-dimensional");
  if (targets.rank() != 1) return invalid("targets must be 1-dimensional");
  if (predictions.dim(0) != targets.dim(0)) {
    return invalid("First dimension of predictions ", predictions.dim(0),
                   " must match length of targets ", targets.dim(0));
  }
  MR_ASSIGN(const std::vector<int64_t> wanted, read_integers(context.input(1), "targets"));
  MR_ASSIGN(Tensor out, context.allocate(0, targets));
  CancelProbe probe(context);
  const float* row = context.input(0).flat<float>().data();
  bool* to = out.mutable_flat<bool>().data();
  for (const int64_t target : wanted) {
    *to++ = is_in_top(row, predictions.dim(1), target, k);
    row += predictions.dim(1);
    if (!probe.go_on(predictions.dim(1))) return probe.status();
  }
  return out;
}

Result<Tensor> in_top_v2(KernelContext& context) {
  const Tensor& k = context.input(2);
  if (k.shape().rank() != 0) return invalid("k must be 0-D, got shape ", k.shape().to_string());
  MR_ASSIGN(const int64_t wanted, read_integer(k, "k"));
  return in_top(context, wanted);
}

Status infer_in_top(InferContext& context) {
  MR_ASSIGN(const PartialShape predictions, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape targets, context.input_of_rank(1, 1));
  if (context.num_inputs() > 2) MR_TRY(context.input_of_rank(2, 0));
  return context.set_output(0, targets.merge(PartialShape{predictions.dim(0)}));
}

// --- NthElement ---

Result<int64_t> wanted_rank(KernelContext& context) {
  const Tensor &input = context.input(0), &n = context.input(1);
  if (!n.shape().is_scalar()) return invalid("N must be scalar but has rank ", n.shape().rank());
  MR_ASSIGN(const int64_t wanted, read_integer(n, "n"));
  if (wanted < 0) return invalid("n must be non-negative but is ", wanted);
  if (input.shape().rank() < 1)
    return invalid("Input must be at least rank 1 but is rank ", input.shape().rank());
  if (input.shape().dim(input.shape().rank() - 1) <= wanted)
    return invalid("Input must have last dimension > n = ", wanted);
  return wanted;
}

Result<Tensor> nth_element(KernelContext& context, const RankLoops* loops, bool reverse) {
  MR_ASSIGN(int64_t wanted, wanted_rank(context));
  const Tensor& input = context.input(0);
  const auto dims = input.shape().dims();
  const int64_t length = dims.back();
  MR_ASSIGN(const Shape shape, Shape::create(dims.first(dims.size() - 1)));
  MR_ASSIGN(Tensor out, context.allocate(0, shape));
  if (out.num_elements() == 0) return out;     // rows that are not there may be of any length
  if (!reverse) wanted = length - 1 - wanted;  // ranks begin with the largest
  const size_t bytes = dtype_size(input.dtype());
  const char* from = static_cast<const char*>(input.data());
  char* to = static_cast<char*>(out.mutable_data());
  std::vector<uint64_t> row(static_cast<size_t>(length));
  std::vector<Ranked> ranked(row.size());
  CancelProbe probe(context);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    loops->keys(from, length, row.data());
    for (size_t at = 0; at < row.size(); ++at) ranked[at] = {row[at], static_cast<int64_t>(at)};
    std::nth_element(ranked.begin(), ranked.begin() + wanted, ranked.end());
    const auto place = static_cast<size_t>(ranked[static_cast<size_t>(wanted)].place);
    std::memcpy(to, from + place * bytes, bytes);
    from += row.size() * bytes;
    to += bytes;
    if (!probe.go_on(length)) return probe.status();
  }
  return out;
}

Status infer_nth_element(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 0));
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  if (input.rank() < 1) return invalid("Input must be at least rank 1 but is rank 0");
  MR_ASSIGN(const auto wanted, constant_integers(context, 1, "n"));
  const int64_t length = input.dim(input.rank() - 1);
  if (wanted && length != kUnknownDim && length <= wanted->front())
    return invalid("Input must have last dimension > n = ", wanted->front(), " but is ", length);
  return context.set_output(
      0, PartialShape::create(input.dims().first(static_cast<size_t>(input.rank() - 1))));
}

// Elements that are equal to the one that was picked share what arrives.
Status nth_element_gradient(GradContext& g) {
  const Endpoint last = g.scalar(DType::i32, -1);
  const Endpoint picked = g.add("ExpandDims", {g.output(0), last});
  const Endpoint is_picked =
      g.add("Cast", {g.add("Equal", {picked, g.input(0)})}, {{"DstT", g.dtype(g.input(0))}});
  const Endpoint number = g.add("ExpandDims", {g.add("Sum", {is_picked, last}), last});
  const Endpoint arriving = g.add("ExpandDims", {g.grad(), last});
  const Endpoint share = g.add("RealDiv", {is_picked, number});
  g.set_input_grad(0, g.add("Mul", {share, arriving}));
  return {};
}

}  // namespace

Status register_rankings(OpRegistry& ops) {
  const auto loops = cpu::loop_of_input<cpu::Real>([]<class T>() { return &kRankLoops<T>; });
  MR_TRY(ops.add({
      .name = "TopK",
      .doc = "The k largest elements of each row, the largest first, and where they are; of equal "
             "ones the first comes first, and NaN before all. They are sorted either way.",
      .signature = "input: T -> values: T, indices: int32 | k: int >= 0, sorted: bool = true, "
                   "T: real",
      .infer = infer_top_k,
      .cpu = kernel_with(top_k, loops, integer("k")),
      .grad = grad::top,
      .examples = {"[3 9 4 9] -> [9 9 4], [1 3 2] | k = 3"},
  }));
  MR_TRY(ops.add({
      .name = "TopKV2",
      .doc = "The k largest elements of each row, the largest first, and where they are; of equal "
             "ones the first comes first, and NaN before all. They are sorted either way.",
      .signature = "input: T, k: Tk -> values: T, indices: index_type | sorted: bool = true, "
                   "T: real, Tk: {int16, int32, int64} = int32, "
                   "index_type: {int16, int32, int64} = int32",
      .infer = infer_top_k_v2,
      .cpu = kernel_with(top_k_v2, loops),
      .grad = grad::top,
      .examples = {"[3 9 4 9], 3 -> [9 9 4], [1 3 2]", "[[1 2] [4 3]], 1 -> [[2] [4]], [[1] [0]]",
                   "[1 2], 0 -> [], []"},
  }));
  MR_TRY(ops.add({
      .name = "ApproxTopK",
      .doc = "The k largest elements along an axis, the largest first, or the smallest if not "
             "is_max_k, and where they are; of equal ones the first comes first. It is exact: "
             "recall_target, reduction_input_size_override and aggregate_to_topk, which tell how "
             "far it may not be, change nothing.",
      .signature = "input: T -> values: T, indices: int32 | k: int >= 0, "
                   "reduction_dimension: int = -1, recall_target: float = 0.95, "
                   "is_max_k: bool = true, reduction_input_size_override: int = -1, "
                   "aggregate_to_topk: bool = true, T: {half, bfloat16, float}",
      .infer = infer_approx_top_k,
      .cpu = kernel_with(approx_top_k, loops, integer("k"), integer("reduction_dimension"),
                         boolean("is_max_k")),
      .grad = grad::top_along_axis,
      .examples = {"[3 9 4 9] -> [9 9 4], [1 3 2] | k = 3",
                   "[3 9 4 9] -> [3 4], [0 2] | k = 2, is_max_k = false",
                   "[[1 2] [4 3] [2 5]] -> [[4 5] [2 3]], [[1 2] [2 1]] | k = 2, "
                   "reduction_dimension = 0"},
  }));
  MR_TRY(ops.add({
      .name = "InTopK",
      .doc = "Whether each row's target is among the k largest of its predictions.",
      .signature = "predictions: float, targets: T -> precision: bool | k: int, "
                   "T: {int32, int64} = int32",
      .infer = infer_in_top,
      .cpu = kernel_with(in_top, integer("k")),
      .not_differentiable = "its result is true or false",
      .examples = {"[[1 2 3] [3 2 1] [1 inf 0] [1 1 1]], [1 2 0 5] -> [true false false false] | "
                   "k = 2"},
  }));
  MR_TRY(ops.add({
      .name = "NthElement",
      .doc = "The element of each row that n are less than, or more than if reverse; NaN is the "
             "largest.",
      .signature = "input: T, n: int32 -> values: T | reverse: bool = false, T: real",
      .infer = infer_nth_element,
      .cpu = kernel_with(nth_element, loops, boolean("reverse")),
      .grad = nth_element_gradient,
      .examples = {"[[3 1 2] [6 5 4]], 1 -> [2 5]",
                   "[[3 1 2] [6 5 4]], 0 -> [3 6] | reverse = true", "[7 7 1], 1 -> 7"},
  }));
  return ops.add({
      .name = "InTopKV2",
      .doc = "Whether each row's target is among the k largest of its predictions.",
      .signature = "predictions: float, targets: T, k: T -> precision: bool | "
                   "T: {int32, int64} = int32",
      .infer = infer_in_top,
      .cpu = kernel(in_top_v2),
      .not_differentiable = "its result is true or false",
      .examples = {"[[1 2 3] [3 2 1]], [1 2], 2 -> [true false]"},
  });
}

}  // namespace millrace
