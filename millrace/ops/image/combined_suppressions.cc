// Part of families.h: register_combined_suppressions.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/suppression.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

// Boxes of each image, one for all classes or one for each: [images, boxes, 1 or classes, 4]; and
// their scores in each class.
struct Detections {
  int64_t images = 0, boxes = 0, boxes_of_class = 1, classes = 0;
  const float *corners = nullptr, *scores = nullptr;

  const float* corners_of(int64_t image, int64_t box, int64_t of_class) const {
    const int64_t own = boxes_of_class > 1 ? of_class : 0;
    return corners + ((image * boxes + box) * boxes_of_class + own) * 4;
  }
  float score_of(int64_t image, int64_t box, int64_t of_class) const {
    return scores[(image * boxes + box) * classes + of_class];
  }
};

Result<Detections> detections_of(KernelContext& context) {
  const Tensor &boxes = context.input(0), &scores = context.input(1);
  if (boxes.shape().rank() != 4) {
    return invalid("boxes must be 4-D [batch, num_boxes, q, 4], got shape ",
                   boxes.shape().to_string());
  }
  if (scores.shape().rank() != 3) {
    return invalid("scores must be 3-D [batch, num_boxes, num_classes], got shape ",
                   scores.shape().to_string());
  }
  const Detections all{boxes.shape().dim(0),       boxes.shape().dim(1),
                       boxes.shape().dim(2),       scores.shape().dim(2),
                       boxes.flat<float>().data(), scores.flat<float>().data()};
  if (all.boxes_of_class != 1 && all.boxes_of_class != all.classes) {
    return invalid("third dimension of boxes must be either 1 or num classes, ", all.classes,
                   ", not ", all.boxes_of_class);
  }
  if (boxes.shape().dim(3) != 4) return invalid("boxes must have 4 columns");
  if (scores.shape().dim(1) != all.boxes) {
    return invalid("scores has incompatible shape: ", scores.shape().to_string(), " for ",
                   all.boxes, " boxes");
  }
  if (scores.shape().dim(0) != all.images) {
    return invalid("boxes and scores must have same batch size, not ", all.images, " and ",
                   scores.shape().dim(0));
  }
  return all;
}

struct CombinedLimits {
  BoxLimits each_class;
  int64_t most_in_all = 0;
};

Result<int64_t> positive_size(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be 0-D, got shape ", tensor.shape().to_string());
  MR_ASSIGN(const int64_t size, read_integer(tensor, what));
  if (size <= 0) return invalid(what, " must be positive, not ", size);
  return size;
}

Result<float> combined_threshold(const Tensor& tensor, std::string_view what) {
  if (tensor.shape().is_scalar()) return tensor.item<float>();
  return invalid(what, " must be 0-D, got shape ", tensor.shape().to_string());
}

Result<CombinedLimits> combined_limits(KernelContext& context) {
  CombinedLimits limits;
  MR_ASSIGN(limits.each_class.most, positive_size(context.input(2), "max_size_per_class"));
  MR_ASSIGN(limits.most_in_all, positive_size(context.input(3), "max_total_size"));
  MR_ASSIGN(limits.each_class.most_overlap, combined_threshold(context.input(4), "iou_threshold"));
  MR_ASSIGN(limits.each_class.least_score, combined_threshold(context.input(5), "score_threshold"));
  if (limits.each_class.most_overlap >= 0 && limits.each_class.most_overlap <= 1) return limits;
  return invalid("iou_threshold must be in [0, 1]");
}

struct Detection {
  float score;
  int32_t box;
  int64_t of_class;
};

// Of one image: the best of all classes, the best first.
Result<std::vector<Detection>> detected(const Detections& all, int64_t image,
                                        const CombinedLimits& limits, CancelProbe& probe) {
  std::vector<Detection> found;
  if (all.classes == 0) return found;  // of any number of boxes
  std::vector<float> scores(static_cast<size_t>(all.boxes));
  std::vector<Box> boxes(scores.size());
  for (int64_t of_class = 0; of_class < all.classes; ++of_class) {
    for (size_t box = 0; box < scores.size(); ++box)
      scores[box] = all.score_of(image, static_cast<int64_t>(box), of_class);
    if (of_class == 0 || all.boxes_of_class > 1) {
      for (size_t box = 0; box < boxes.size(); ++box)
        boxes[box] = box_at(all.corners_of(image, static_cast<int64_t>(box), of_class));
    }
    if (!probe.go_on(2 * all.boxes)) return probe.status();
    const auto overlap_of = [&](int32_t a, int32_t b) {
      return overlap(boxes[static_cast<size_t>(a)], boxes[static_cast<size_t>(b)]);
    };
    MR_ASSIGN(const std::vector<int32_t> kept,
              kept_boxes(scores, overlap_of, limits.each_class, probe));
    for (const int32_t box : kept)
      found.push_back({scores[static_cast<size_t>(box)], box, of_class});
  }
  std::ranges::stable_sort(
      found, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  return found;
}

// How many places each image has: as many as there may be in all, or fewer if classes fill less.
int64_t places_of(int64_t most_in_all, int64_t most_of_class, int64_t classes, bool by_class) {
  int64_t most = 0;
  if (!by_class || __builtin_mul_overflow(most_of_class, classes, &most)) return most_in_all;
  return std::min(most_in_all, most);
}

Status suppress_combined(KernelContext& context, bool pads_by_class, bool clips) {
  MR_ASSIGN(const Detections all, detections_of(context));
  MR_ASSIGN(const CombinedLimits limits, combined_limits(context));
  const int64_t places =
      places_of(limits.most_in_all, limits.each_class.most, all.classes, pads_by_class);
  MR_ASSIGN(const Shape shape, Shape::create(std::array{all.images, places}));
  MR_ASSIGN(const Shape boxes_shape, Shape::create(std::array{all.images, places, int64_t{4}}));
  MR_ASSIGN(Tensor boxes, Tensor::zeros(DType::f32, boxes_shape));
  MR_ASSIGN(Tensor scores, Tensor::zeros(DType::f32, shape));
  MR_ASSIGN(Tensor classes, Tensor::zeros(DType::f32, shape));
  MR_ASSIGN(Tensor valid, Tensor::zeros(DType::i32, {all.images}));
  CancelProbe probe(context);
  for (int64_t image = 0; image < all.images; ++image) {
    MR_ASSIGN(const std::vector<Detection> found, detected(all, image, limits, probe));
    const int64_t count = std::min(places, static_cast<int64_t>(found.size()));
    valid.mutable_flat<int32_t>()[static_cast<size_t>(image)] = static_cast<int32_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      const Detection& one = found[static_cast<size_t>(i)];
      const auto to = static_cast<size_t>(image * places + i);
      scores.mutable_flat<float>()[to] = one.score;
      classes.mutable_flat<float>()[to] = static_cast<float>(one.of_class);
      const float* const corners = all.corners_of(image, one.box, one.of_class);
      for (size_t k = 0; k < 4; ++k) {
        const float corner = corners[k];
        boxes.mutable_flat<float>()[to * 4 + k] =
            clips ? std::max(std::min(corner, 1.f), 0.f) : corner;
      }
    }
  }
  context.set_output(0, std::move(boxes));
  context.set_output(1, std::move(scores));
  context.set_output(2, std::move(classes));
  context.set_output(3, std::move(valid));
  return {};
}

Status infer_combined(InferContext& context) {
  MR_ASSIGN(const PartialShape boxes, context.input_of_rank(0, 4));
  MR_ASSIGN(const PartialShape scores, context.input_of_rank(1, 3));
  for (int slot = 2; slot < 6; ++slot) MR_TRY(context.input_of_rank(slot, 0));
  const int64_t images = boxes.dim(0) != kUnknownDim ? boxes.dim(0) : scores.dim(0);
  MR_ASSIGN(const bool by_class, context.attrs().boolean("pad_per_class"));
  MR_ASSIGN(const auto of_class, constant_integers(context, 2, "max_size_per_class"));
  MR_ASSIGN(const auto in_all, constant_integers(context, 3, "max_total_size"));
  int64_t places = kUnknownDim;
  const bool is_known = in_all && (!by_class || (of_class && scores.dim(2) != kUnknownDim));
  if (is_known) {
    if (in_all->front() <= 0) return invalid("max_total_size must be positive");
    if (by_class && of_class->front() <= 0) return invalid("max_size_per_class must be positive");
    places = places_of(in_all->front(), by_class ? of_class->front() : 1, scores.dim(2), by_class);
  }
  MR_TRY(context.set_output(0, PartialShape::create(std::array{images, places, int64_t{4}})));
  MR_TRY(context.set_output(1, PartialShape::create(std::array{images, places})));
  MR_TRY(context.set_output(2, PartialShape::create(std::array{images, places})));
  context.set_output(3, PartialShape{images});
  return {};
}

}  // namespace

Status register_combined_suppressions(OpRegistry& ops) {
  return ops.add({
      .name = "CombinedNonMaxSuppression",
      .doc = "The best boxes of each image in all classes, when in each class those are dropped "
             "that overlap a better one too much; with their scores, classes and number.",
      .signature = "boxes: float, scores: float, max_output_size_per_class: int32, "
                   "max_total_size: int32, iou_threshold: float, score_threshold: float -> "
                   "nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, "
                   "valid_detections: int32 | pad_per_class: bool = false, "
                   "clip_boxes: bool = true",
      .infer = infer_combined,
      .cpu = kernel_with(suppress_combined, boolean("pad_per_class"), boolean("clip_boxes")),
      .not_differentiable = "TensorFlow gives it none",
      .examples =
          {"[[[[0 0 1 1]] [[0 0 1 1]] [[0 2 1 3]]]], [[[0.5 0.25] [0.75 0] [0 1]]], 2, 3, 0.5, 0 "
           "-> [[[0 1 1 1] [0 0 1 1] [0 0 1 1]]], [[1 0.75 0.25]], [[1 0 1]], [3]",
           "[[[[0 0 1 1]] [[0 0 1 1]] [[0 2 1 3]]]], [[[0.5] [0.75] [0.25]]], 4, 9, 0.5, 0.3 -> "
           "[[[0 0 1 1] [0 0 0 0] [0 0 0 0] [0 0 0 0]]], [[0.75 0 0 0]], [[0 0 0 0]], [1] | "
           "pad_per_class = true, clip_boxes = false"},
  });
}

}  // namespace millrace
