// Part of families.h: register_suppressions.
#include <algorithm>
#include <cmath>
#include <queue>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/suppression.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

Result<std::vector<float>> as_floats(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
  if (tensor.dtype() == DType::f16) {
    std::ranges::transform(tensor.flat<Half>(), values.begin(),
                           [](Half x) { return static_cast<float>(x); });
  } else {
    std::ranges::copy(tensor.flat<float>(), values.begin());
  }
  return values;
}

Status check_is_scalar(const Tensor& tensor, std::string_view what) {
  if (tensor.shape().is_scalar()) return {};
  return invalid(what, " must be 0-D, got shape ", tensor.shape().to_string());
}

Result<float> scalar_float(const Tensor& tensor, std::string_view what) {
  MR_TRY(check_is_scalar(tensor, what));
  MR_ASSIGN(const std::vector<float> values, as_floats(tensor));
  return values[0];
}

Status check_share(float overlap) {
  if (overlap >= 0 && overlap <= 1) return {};
  return invalid("iou_threshold must be in [0, 1]");
}

// --- scores that are lowered ---

// One that waits to be kept, and how many of those kept have lowered its score so far.
struct Candidate {
  int32_t box;
  float score;
  size_t seen = 0;
  // The one that comes first has the highest score, then the lowest number.
  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && box > other.box);
  }
};

// Boxes with the scores that better ones which overlap them have left them (Bodla et al.,
// "Soft-NMS", 2017). Halves are rounded after each step.
struct Softened {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};

Result<Softened> softened(const std::vector<float>& scores, OverlapOf overlap_of,
                          const BoxLimits& limits, float sigma, bool is_half, CancelProbe& probe) {
  const auto rounded = [is_half](float x) { return is_half ? static_cast<float>(Half(x)) : x; };
  const float slope = rounded(-0.5f / sigma);
  std::priority_queue<Candidate> waiting;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.least_score) waiting.push({static_cast<int32_t>(i), scores[i]});
  }
  Softened made;
  while (static_cast<int64_t>(made.boxes.size()) < limits.most && !waiting.empty()) {
    Candidate next = waiting.top();
    waiting.pop();
    const float before = next.score;
    for (size_t j = made.boxes.size(); j > next.seen && next.score > limits.least_score; --j) {
      const float shared = rounded(overlap_of(next.box, made.boxes[j - 1]));
      const float left = rounded(std::exp(rounded(rounded(slope * shared) * shared)));
      next.score = rounded(next.score * left);
      if (!probe.go_on(16)) return probe.status();
    }
    next.seen = made.boxes.size();
    if (next.score == before) {
      made.boxes.push_back(next.box);
      made.scores.push_back(next.score);
    } else if (next.score > limits.least_score) {
      waiting.push(next);
    }
    if (!probe.go_on(16)) return probe.status();
  }
  return made;
}

// --- NonMaxSuppression and its versions ---

struct ScoredBoxes {
  std::vector<Box> boxes;
  std::vector<float> scores;

  float overlap_of(int32_t a, int32_t b) const {
    return overlap(boxes[static_cast<size_t>(a)], boxes[static_cast<size_t>(b)]);
  }
};

Status check_scores(const Tensor& scores, int64_t boxes) {
  if (scores.shape() == Shape{boxes}) return {};
  return invalid("scores has incompatible shape: ", scores.shape().to_string(), " for ", boxes,
                 " boxes");
}

Result<ScoredBoxes> boxes_of(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() != 2) return invalid("boxes must be 2-D", shape.to_string());
  if (shape.dim(1) != 4) return invalid("boxes must have 4 columns");
  MR_TRY(check_scores(context.input(1), shape.dim(0)));
  ScoredBoxes all;
  MR_ASSIGN(const std::vector<float> corners, as_floats(context.input(0)));
  for (size_t i = 0; i < corners.size(); i += 4) all.boxes.push_back(box_at(&corners[i]));
  MR_ASSIGN(all.scores, as_floats(context.input(1)));
  return all;
}

Result<std::vector<int32_t>> suppressed_boxes(KernelContext& context, const BoxLimits& limits) {
  MR_TRY(check_share(limits.most_overlap));
  MR_ASSIGN(const ScoredBoxes all, boxes_of(context));
  CancelProbe probe(context);
  return kept_boxes(
      all.scores, [&](int32_t a, int32_t b) { return all.overlap_of(a, b); }, limits, probe);
}

Result<int64_t> most_boxes(const Tensor& tensor) {
  MR_TRY(check_is_scalar(tensor, "max_output_size"));
  MR_ASSIGN(const int64_t most, read_integer(tensor, "max_output_size"));
  if (most < 0) return invalid("output size must be non-negative, not ", most);
  return most;
}

// Values with zeros behind them, in as many places as there are.
template <class T, class From>
Result<Tensor> padded(const std::vector<From>& values, int64_t places) {
  MR_ASSIGN(Tensor made, Tensor::zeros(dtype_of<T>, {places}));
  std::ranges::transform(values, made.mutable_flat<T>().begin(), [](From x) { return T(x); });
  return made;
}

Result<Tensor> indices_of(const std::vector<int32_t>& kept) {
  return padded<int32_t>(kept, static_cast<int64_t>(kept.size()));
}

Result<Tensor> suppress_v1(KernelContext& context, float most_overlap) {
  BoxLimits limits;
  MR_ASSIGN(limits.most, most_boxes(context.input(2)));
  limits.most_overlap = most_overlap;
  MR_ASSIGN(const std::vector<int32_t> kept, suppressed_boxes(context, limits));
  return indices_of(kept);
}

// V2 has the overlap as an input, later ones the least score as well.
Result<BoxLimits> limits_of(KernelContext& context, std::string_view overlap_name) {
  BoxLimits limits;
  MR_ASSIGN(limits.most, most_boxes(context.input(2)));
  MR_ASSIGN(limits.most_overlap, scalar_float(context.input(3), overlap_name));
  if (context.num_inputs() > 4) {
    MR_ASSIGN(limits.least_score, scalar_float(context.input(4), "score_threshold"));
  }
  return limits;
}

Result<Tensor> suppress(KernelContext& context) {
  MR_ASSIGN(const BoxLimits limits, limits_of(context, "iou_threshold"));
  MR_ASSIGN(const std::vector<int32_t> kept, suppressed_boxes(context, limits));
  return indices_of(kept);
}

Status suppress_padded(KernelContext& context, bool pads) {
  MR_ASSIGN(const BoxLimits limits, limits_of(context, "iou_threshold"));
  MR_ASSIGN(const std::vector<int32_t> kept, suppressed_boxes(context, limits));
  const auto count = static_cast<int64_t>(kept.size());
  MR_TRY(context.set_output(0, padded<int32_t>(kept, pads ? limits.most : count)));
  context.set_output(1, Tensor::scalar(static_cast<int32_t>(count)));
  return {};
}

// V5: scores are lowered where a sigma is given.
Status suppress_softly(KernelContext& context, bool pads) {
  MR_ASSIGN(const BoxLimits limits, limits_of(context, "iou_threshold"));
  MR_ASSIGN(const float sigma, scalar_float(context.input(5), "soft_nms_sigma"));
  if (!(sigma >= 0)) return invalid("soft_nms_sigma_val must be >= 0, not ", sigma);
  MR_TRY(check_share(limits.most_overlap));
  MR_ASSIGN(const ScoredBoxes all, boxes_of(context));
  const auto overlap_of = [&](int32_t a, int32_t b) { return all.overlap_of(a, b); };
  CancelProbe probe(context);
  Softened made;
  if (sigma > 0) {
    const bool is_half = context.input(1).dtype() == DType::f16;
    MR_ASSIGN(made, softened(all.scores, overlap_of, limits, sigma, is_half, probe));
  } else {
    MR_ASSIGN(made.boxes, kept_boxes(all.scores, overlap_of, limits, probe));
    for (const int32_t box : made.boxes)
      made.scores.push_back(all.scores[static_cast<size_t>(box)]);
  }
  const auto count = static_cast<int64_t>(made.boxes.size());
  const int64_t places = pads ? limits.most : count;
  MR_TRY(context.set_output(0, padded<int32_t>(made.boxes, places)));
  MR_TRY(context.set_output(1, context.output_dtype(1) == DType::f16
                                   ? padded<Half>(made.scores, places)
                                   : padded<float>(made.scores, places)));
  context.set_output(2, Tensor::scalar(static_cast<int32_t>(count)));
  return {};
}

Result<Tensor> suppress_by_overlaps(KernelContext& context) {
  MR_ASSIGN(const BoxLimits limits, limits_of(context, "overlap_threshold"));
  const Shape& shape = context.input(0).shape();
  if (shape.rank() != 2) return invalid("overlaps must be 2-D", shape.to_string());
  if (shape.dim(0) != shape.dim(1)) return invalid("overlaps must be square", shape.to_string());
  MR_TRY(check_scores(context.input(1), shape.dim(0)));
  MR_ASSIGN(const std::vector<float> scores, as_floats(context.input(1)));
  const float* const overlaps = context.input(0).flat<float>().data();
  CancelProbe probe(context);
  MR_ASSIGN(const std::vector<int32_t> kept,
            kept_boxes(
                scores, [&](int32_t a, int32_t b) { return overlaps[a * shape.dim(1) + b]; },
                limits, probe));
  return indices_of(kept);
}

Status infer_suppressed(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 2));
  MR_TRY(context.input_of_rank(1, 1));
  for (int slot = 2; slot < context.num_inputs(); ++slot) MR_TRY(context.input_of_rank(slot, 0));
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::of_rank(1));
  if (context.num_outputs() > 1)
    context.set_output(context.num_outputs() - 1, PartialShape::scalar());
  return {};
}

constexpr const char* kChoice = "its result is indices";
constexpr const char* kScores = " | T: {half, float} = float, T_threshold: {half, float} = float";

}  // namespace

Status register_suppressions(OpRegistry& ops) {
  const std::string doc =
      "Which boxes are left when each that overlaps a better one too much is dropped";
  const std::string boxes = "[[0 0 1 1] [0 0.1 1 1.1] [0 2 1 3]], [0.9 0.8 0.7], 3";
  const auto add = [&](std::string name, const std::string& inputs, const std::string& outputs,
                       const std::string& attrs, KernelFactory cpu,
                       std::vector<std::string> examples, const std::string& more = "") {
    return ops.add({
        .name = std::move(name),
        .doc = doc + more + ".",
        .signature = inputs + " -> selected_indices: int32" + outputs + attrs,
        .infer = infer_suppressed,
        .cpu = std::move(cpu),
        .not_differentiable = kChoice,
        .examples = std::move(examples),
    });
  };
  const std::string two = "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold";
  const std::string three = two + ", score_threshold: T_threshold";
  MR_TRY(add("NonMaxSuppression", "boxes: float, scores: float, max_output_size: int32", "",
             " | iou_threshold: float = 0.5", kernel_with(suppress_v1, real("iou_threshold")),
             {boxes + " -> [0 2]"}));
  MR_TRY(
      add("NonMaxSuppressionV2", two, "", kScores, kernel(suppress), {boxes + ", 0.5 -> [0 2]"}));
  MR_TRY(add("NonMaxSuppressionV3", three, "", kScores, kernel(suppress),
             {boxes + ", 0.95, 0.75 -> [0 1]"}));
  MR_TRY(add("NonMaxSuppressionV4", three, ", valid_outputs: int32",
             std::string(kScores) + ", pad_to_max_output_size: bool = false",
             kernel_with(suppress_padded, boolean("pad_to_max_output_size")),
             {boxes + ", 0.5, 0 -> [0 2 0], 2 | pad_to_max_output_size = true"}));
  const std::string same = "[[0 0 1 1] [0 0 1 1] [0 2 1 3]], [1 0.75 0.5], 3";
  MR_TRY(add("NonMaxSuppressionV5",
             "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, "
             "soft_nms_sigma: T",
             ", selected_scores: T, valid_outputs: int32",
             " | T: {half, float} = float, pad_to_max_output_size: bool = false",
             kernel_with(suppress_softly, boolean("pad_to_max_output_size")),
             {same + ", 0.5, 0, 0 -> [0 2 0], [1 0.5 0], 2 | pad_to_max_output_size = true",
              same + ", 0.5, 0, 0.5 -> [0 2 1], [1 0.5 0.2759096], 3",
              same + ", 0.5, 0.3, 0.5 -> [0 2], [1 0.5], 2"},
             ", and their scores; or, with soft_nms_sigma, when its score is lowered instead"));
  return add("NonMaxSuppressionWithOverlaps",
             "overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, "
             "score_threshold: float",
             "", "", kernel(suppress_by_overlaps),
             {"[[1 0.75 0] [0.75 1 0] [0 0 1]], [0.5 1 0.25], 3, 0.5, 0 -> [1 2]"},
             ", by a table of how much each two overlap");
}

}  // namespace millrace
