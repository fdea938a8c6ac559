// Part of families.h: register_boxes.
#include <algorithm>
#include <array>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

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

}  // namespace

Status register_boxes(OpRegistry& ops) {
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
