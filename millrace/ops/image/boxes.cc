// Part of families.h: register_boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

// --- Non-max suppression ---

// Corners in either order.
struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Box box_at(const float* corners) {
  return {std::min(corners[0], corners[2]), std::min(corners[1], corners[3]),
          std::max(corners[0], corners[2]), std::max(corners[1], corners[3])};
}

// How much of what two boxes cover together they both cover.
float overlap(const Box& a, const Box& b) {
  if (!(a.area() > 0) || !(b.area() > 0)) return 0;
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float both = std::max(height, 0.f) * std::max(width, 0.f);
  return both / (a.area() + b.area() - both);
}

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

Result<float> scalar_float(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be 0-D, got shape ", tensor.shape().to_string());
  MR_ASSIGN(const std::vector<float> values, as_floats(tensor));
  return values[0];
}

struct Suppression {
  int64_t most = 0;
  float most_overlap = 0.5f, least_score = -HUGE_VALF;
};

Result<std::vector<int32_t>> suppressed(KernelContext& context, const Suppression& limits) {
  const Shape& shape = context.input(0).shape();
  if (!(limits.most_overlap >= 0 && limits.most_overlap <= 1))
    return invalid("iou_threshold must be in [0, 1]");
  if (shape.rank() != 2) return invalid("boxes must be 2-D", shape.to_string());
  if (shape.dim(1) != 4) return invalid("boxes must have 4 columns");
  if (context.input(1).shape() != Shape{shape.dim(0)}) {
    return invalid("scores has incompatible shape: ", context.input(1).shape().to_string(), " for ",
                   shape.dim(0), " boxes");
  }
  MR_ASSIGN(const std::vector<float> corners, as_floats(context.input(0)));
  MR_ASSIGN(const std::vector<float> scores, as_floats(context.input(1)));
  std::vector<int32_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.least_score) order.push_back(static_cast<int32_t>(i));
  }
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  std::vector<int32_t> kept;
  CancelProbe probe(context);
  for (const int32_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.most) break;
    const Box box = box_at(&corners[static_cast<size_t>(candidate) * 4]);
    // The latest first: neighbours have scores that are alike.
    const bool is_hidden = std::any_of(kept.rbegin(), kept.rend(), [&](int32_t other) {
      return overlap(box, box_at(&corners[static_cast<size_t>(other) * 4])) > limits.most_overlap;
    });
    if (!is_hidden) kept.push_back(candidate);
    if (!probe.go_on(static_cast<int64_t>(1 + kept.size()))) return probe.status();
  }
  return kept;
}

Result<int64_t> most_boxes(const Tensor& tensor) {
  if (!tensor.shape().is_scalar())
    return invalid("max_output_size must be 0-D, got shape ", tensor.shape().to_string());
  MR_ASSIGN(const int64_t most, read_integer(tensor, "max_output_size"));
  return std::max<int64_t>(most, 0);
}

Result<Tensor> indices_of(const std::vector<int32_t>& kept) {
  return Tensor::vector<int32_t>(std::span<const int32_t>(kept));
}

Result<Tensor> suppress_v1(KernelContext& context, float most_overlap) {
  Suppression limits;
  MR_ASSIGN(limits.most, most_boxes(context.input(2)));
  limits.most_overlap = most_overlap;
  MR_ASSIGN(const std::vector<int32_t> kept, suppressed(context, limits));
  return indices_of(kept);
}

// V2 has the overlap as an input, V3 and V4 the least score as well.
Result<std::vector<int32_t>> suppressed_by_inputs(KernelContext& context) {
  Suppression limits;
  MR_ASSIGN(limits.most, most_boxes(context.input(2)));
  MR_ASSIGN(limits.most_overlap, scalar_float(context.input(3), "iou_threshold"));
  if (context.num_inputs() > 4) {
    MR_ASSIGN(limits.least_score, scalar_float(context.input(4), "score_threshold"));
  }
  return suppressed(context, limits);
}

Result<Tensor> suppress(KernelContext& context) {
  MR_ASSIGN(const std::vector<int32_t> kept, suppressed_by_inputs(context));
  return indices_of(kept);
}

Status suppress_padded(KernelContext& context, bool pads) {
  MR_ASSIGN(std::vector<int32_t> kept, suppressed_by_inputs(context));
  const auto count = static_cast<int32_t>(kept.size());
  MR_ASSIGN(const int64_t most, most_boxes(context.input(2)));
  if (pads) {
    MR_TRY(Tensor::allocate(DType::i32, {most}).status());
    kept.resize(static_cast<size_t>(most), 0);
  }
  MR_ASSIGN(Tensor indices, indices_of(kept));
  context.set_output(0, std::move(indices));
  context.set_output(1, Tensor::scalar(count));
  return {};
}

Status infer_suppressed(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 2));
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 0));
  context.set_output(0, PartialShape::of_rank(1));
  if (context.num_outputs() > 1) context.set_output(1, PartialShape::scalar());
  return {};
}

// --- DrawBoundingBoxes ---

using Color = std::array<float, 4>;
constexpr std::array<Color, 10> kColors = {{{1, 1, 0, 1},
                                            {0, 0, 1, 1},
                                            {1, 0, 0, 1},
                                            {0, 1, 0, 1},
                                            {0.5f, 0, 0.5f, 1},
                                            {0.5f, 0.5f, 0, 1},
                                            {0.5f, 0, 0, 1},
                                            {0, 0, 0.5f, 1},
                                            {0, 1, 1, 1},
                                            {1, 0, 1, 1}}};

using PaintLoop = void (*)(void* image, const std::array<int64_t, 3>& sizes,
                           const std::array<int64_t, 4>& edges, const Color& color);

// The four edges of a box, as far as they lie in the image.
template <class T>
void paint_edges(void* pixels, const std::array<int64_t, 3>& sizes,
                 const std::array<int64_t, 4>& edges, const Color& color) {
  T* const image = static_cast<T*>(pixels);
  const int64_t height = sizes[0], width = sizes[1], channels = sizes[2];
  const auto [top, left, bottom, right] = edges;
  const auto paint = [&](int64_t y, int64_t x) {
    for (int64_t c = 0; c < channels; ++c)
      image[(y * width + x) * channels + c] = static_cast<T>(color[static_cast<size_t>(c)]);
  };
  for (int64_t x = std::max<int64_t>(left, 0); x <= std::min(right, width - 1); ++x) {
    if (top >= 0) paint(top, x);
    if (bottom < height) paint(bottom, x);
  }
  for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) {
    if (left >= 0) paint(y, left);
    if (right < width) paint(y, right);
  }
}

// A place in pixels; far outside stays outside without overflowing.
int64_t pixel_of(float share, int64_t size) {
  const float place = share * static_cast<float>(size - 1);
  if (!(place > -1e9f)) return -1000000000;
  return place < 1e9f ? static_cast<int64_t>(place) : 1000000000;
}

Result<Tensor> draw_boxes(KernelContext& context, PaintLoop loop) {
  const Shape& shape = context.input(0).shape();
  const Shape& boxes_shape = context.input(1).shape();
  if (shape.rank() != 4) return invalid("The rank of the images should be 4");
  if (boxes_shape.rank() != 3) return invalid("The rank of the boxes tensor should be 3");
  if (boxes_shape.dim(0) != shape.dim(0))
    return invalid("The batch sizes should be the same: ", shape.dim(0), " images, ",
                   boxes_shape.dim(0), " lists of boxes");
  if (boxes_shape.dim(2) != 4) return invalid("boxes must have 4 columns");
  const int64_t channels = shape.dim(3);
  if (channels != 1 && channels != 3 && channels != 4)
    return invalid("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  MR_ASSIGN(Tensor output, context.input(0).clone());
  if (output.num_elements() == 0) return output;
  std::vector<Color> colors(kColors.begin(), kColors.end());
  if (channels == 1) {
    for (Color& color : colors) color.fill(1);
  }
  if (context.num_inputs() > 2 && context.input(2).num_elements() > 0) {
    const Tensor& given = context.input(2);
    if (given.shape().rank() != 2 || given.shape().dim(1) < channels) {
      return invalid("colors must be a matrix of a color for each channel, got ",
                     given.shape().to_string());
    }
    colors.clear();
    const auto row = static_cast<size_t>(given.shape().dim(1));
    for (size_t i = 0; i < static_cast<size_t>(given.shape().dim(0)); ++i) {
      Color color{};
      for (size_t c = 0; c < std::min<size_t>(row, 4); ++c)
        color[c] = given.flat<float>()[i * row + c];
      colors.push_back(color);
    }
  }
  const auto boxes = context.input(1).flat<float>();
  const std::array<int64_t, 3> sizes = {shape.dim(1), shape.dim(2), channels};
  const int64_t image_bytes =
      sizes[0] * sizes[1] * channels * static_cast<int64_t>(dtype_size(output.dtype()));
  char* const images = static_cast<char*>(output.mutable_data());
  CancelProbe probe(context);
  const int64_t per_image = boxes_shape.dim(1);
  for (int64_t b = 0; b < shape.dim(0); ++b) {
    for (int64_t i = 0; i < per_image; ++i) {
      const float* const box = &boxes[static_cast<size_t>((b * per_image + i) * 4)];
      const std::array<int64_t, 4> edges = {pixel_of(box[0], sizes[0]), pixel_of(box[1], sizes[1]),
                                            pixel_of(box[2], sizes[0]), pixel_of(box[3], sizes[1])};
      const bool is_seen = edges[0] <= edges[2] && edges[1] <= edges[3] && edges[0] < sizes[0] &&
                           edges[2] >= 0 && edges[1] < sizes[1] && edges[3] >= 0;
      if (is_seen) {
        loop(images + b * image_bytes, sizes, edges,
             colors[static_cast<size_t>(i) % colors.size()]);
      }
      if (!probe.go_on(2 * (sizes[0] + sizes[1]))) return probe.status();
    }
  }
  return output;
}

constexpr const char* kChoice = "its result is indices";
constexpr const char* kScores = "T: {half, float} = float, T_threshold: {half, float} = float";

}  // namespace

Status register_boxes(OpRegistry& ops) {
  const std::string doc =
      "Which boxes are left when each that overlaps a better one too much is dropped.";
  const std::string boxes = "[[0 0 1 1] [0 0.1 1 1.1] [0 2 1 3]], [0.9 0.8 0.7], 3";
  const auto add = [&](std::string name, const std::string& inputs, const std::string& outputs,
                       const std::string& attrs, KernelFactory cpu, std::string example) {
    return ops.add({
        .name = std::move(name),
        .doc = doc,
        .signature = inputs + " -> selected_indices: int32" + outputs + " | " + attrs,
        .infer = infer_suppressed,
        .cpu = std::move(cpu),
        .not_differentiable = kChoice,
        .examples = {std::move(example)},
    });
  };
  const std::string two = "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold";
  const std::string three = two + ", score_threshold: T_threshold";
  MR_TRY(add("NonMaxSuppression", "boxes: float, scores: float, max_output_size: int32", "",
             "iou_threshold: float = 0.5", kernel_with(suppress_v1, real("iou_threshold")),
             boxes + " -> [0 2]"));
  MR_TRY(add("NonMaxSuppressionV2", two, "", kScores, kernel(suppress), boxes + ", 0.5 -> [0 2]"));
  MR_TRY(add("NonMaxSuppressionV3", three, "", kScores, kernel(suppress),
             boxes + ", 0.95, 0.75 -> [0 1]"));
  MR_TRY(add("NonMaxSuppressionV4", three, ", valid_outputs: int32",
             std::string(kScores) + ", pad_to_max_output_size: bool = false",
             kernel_with(suppress_padded, boolean("pad_to_max_output_size")),
             boxes + ", 0.5, 0 -> [0 2 0], 2 | pad_to_max_output_size = true"));
  const auto paint = cpu::loop_of_input<cpu::Floating>([]<class T>() { return &paint_edges<T>; });
  for (const bool has_colors : {false, true}) {
    MR_TRY(ops.add({
        .name = has_colors ? "DrawBoundingBoxesV2" : "DrawBoundingBoxes",
        .doc = "Images with the edges of boxes drawn on them; boxes are shares of the image.",
        .signature = std::string("images: T, boxes: float") +
                     (has_colors ? ", colors: float" : "") +
                     " -> output: T | T: {float, half} = float",
        .infer = infer::same_as_input,
        .cpu = kernel_with(draw_boxes, paint),
        .not_differentiable = "TensorFlow gives it none",
        .examples = {std::string("[[[[0] [0] [0]] [[0] [0] [0]] [[0] [0] [0]]]], [[[0 0 1 1]]]") +
                     (has_colors ? ", [[0.5]] -> [[[[0.5] [0.5] [0.5]] [[0.5] [0] [0.5]] "
                                   "[[0.5] [0.5] [0.5]]]]"
                                 : " -> [[[[1] [1] [1]] [[1] [0] [1]] [[1] [1] [1]]]]")},
    }));
  }
  return {};
}

}  // namespace millrace
