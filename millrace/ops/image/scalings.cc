// Part of families.h: register_scalings.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/filters.h"
#include "millrace/ops/image/sizes.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

// --- which old pixels a new one is made of, along one axis ---

// A new pixel i is at scale * (old one) + translation.
struct Placing {
  int64_t from, to;  // sizes, both positive
  float scale, translation;
};

// Of each new pixel, a span of old ones: the weight of starts[i] + k is weights[i * width + k].
struct Spans {
  int64_t width = 0;
  Tensor starts, weights;  // int64 and float32

  int64_t start(int64_t i) const { return starts.flat<int64_t>()[static_cast<size_t>(i)]; }
  std::span<const float> of(int64_t i) const {
    return weights.flat<float>().subspan(static_cast<size_t>(i * width),
                                         static_cast<size_t>(width));
  }
};

int64_t pixel_near(float place, int64_t size) {
  if (!(place > 0)) return 0;
  return place < static_cast<float>(size) ? std::min(static_cast<int64_t>(place), size - 1)
                                          : size - 1;
}

// The weights of a pixel that lies at `place` of the old ones add up to 1, if to anything.
int64_t fill_span(const ScalingFilter& filter, float place, float stretch, int64_t size,
                  std::span<float> weights) {
  const float reach = filter.radius * stretch;
  const int64_t first = pixel_near(std::ceil(place - reach - 0.5f), size);
  const int64_t last = pixel_near(std::floor(place + reach - 0.5f), size);
  const auto count = std::min(static_cast<size_t>(last - first + 1), weights.size());
  const float shrink = 1 / stretch;
  float sum = 0;
  for (size_t k = 0; k < count; ++k) {
    const float off = static_cast<float>(first + static_cast<int64_t>(k)) + 0.5f - place;
    sum += weights[k] = filter(std::abs(off * shrink));
  }
  const bool is_something = std::abs(sum) >= 1000 * std::numeric_limits<float>::min();
  const float share = is_something ? 1 / sum : 0.f;
  for (size_t k = 0; k < count; ++k) weights[k] *= share;
  return first;
}

// Where the image becomes smaller an antialiasing filter is as wide as a new pixel.
Result<Spans> spans_of(const Placing& placing, const ScalingFilter& filter, bool antialias,
                       CancelProbe& probe) {
  const float inverse = 1 / placing.scale;
  const float shift = -inverse * placing.translation;
  const float stretch = antialias ? std::max(inverse, 1.f) : 1.f;
  const float widest = 2 * std::ceil(filter.radius * stretch) + 1;
  Spans spans;
  spans.width =
      widest < static_cast<float>(placing.from) ? static_cast<int64_t>(widest) : placing.from;
  MR_ASSIGN(const Shape shape, Shape::create(std::array{placing.to, spans.width}));
  MR_ASSIGN(spans.starts, Tensor::zeros(DType::i64, {placing.to}));
  MR_ASSIGN(spans.weights, Tensor::zeros(DType::f32, shape));
  const std::span<int64_t> starts = spans.starts.mutable_flat<int64_t>();
  const std::span<float> weights = spans.weights.mutable_flat<float>();
  const auto width = static_cast<size_t>(spans.width);
  for (size_t i = 0; i < starts.size(); ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * inverse + shift;
    // Outside of the image there is nothing.
    if (place >= 0 && place <= static_cast<float>(placing.from)) {
      starts[i] =
          fill_span(filter, place, stretch, placing.from, weights.subspan(i * width, width));
    }
    if (!probe.go_on(spans.width)) return probe.status();
  }
  return spans;
}

// --- the op ---

// [batch, rows, columns, channels], before and after.
struct Scaling {
  int64_t batch, channels;
  Placing rows, columns;
};

struct ScalingOptions {
  ScalingFilter filter;
  bool antialias;
};

struct BoundScaling {
  Result<ScalingOptions> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string name, spec.attrs.string("kernel_type"));
    MR_ASSIGN(const ScalingFilter filter, filter_of(name));
    MR_ASSIGN(const bool antialias, spec.attrs.boolean("antialias"));
    return ScalingOptions{filter, antialias};
  }
};

Result<std::pair<float, float>> read_pair(const Tensor& tensor, std::string_view what) {
  if (tensor.shape() != Shape{2})
    return invalid(what, " must be 1-dimensional of two elements, not ",
                   tensor.shape().to_string());
  return std::pair(tensor.flat<float>()[0], tensor.flat<float>()[1]);
}

// From the shape of the old images to new sizes; inputs 2 and 3 are the scale and the translation.
Result<Scaling> scaling_of(KernelContext& context, const Shape& from, int64_t rows,
                           int64_t columns) {
  if (rows <= 0 || columns <= 0) return invalid("output dimensions must be positive");
  if (from.dim(3) <= 0) return invalid("image must have at least one channel");
  if (from.dim(1) <= 0 || from.dim(2) <= 0) return invalid("input image must be of non-zero size");
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (from.dim(1) >= kMost || from.dim(2) >= kMost || rows >= kMost || columns >= kMost)
    return invalid("image sizes must be between 0 and max int32, not those of ", from.to_string());
  MR_ASSIGN(const auto scale, read_pair(context.input(2), "scale"));
  if (!(scale.first > 0 && scale.second > 0))
    return invalid("Scale must be greater than zero, not ", scale.first, ", ", scale.second);
  MR_ASSIGN(const auto translation, read_pair(context.input(3), "translation"));
  return Scaling{from.dim(0),
                 from.dim(3),
                 {from.dim(1), rows, scale.first, translation.first},
                 {from.dim(2), columns, scale.second, translation.second}};
}

using GatherRow = void (*)(const void* row, int64_t count, float weight, float* to);

template <class T>
void gather_row(const void* row, int64_t count, float weight, float* to) {
  const T* const from = static_cast<const T*>(row);
  for (int64_t i = 0; i < count; ++i)
    to[i] += weight * static_cast<float>(static_cast<cpu::Math<T>>(from[i]));
}

// Rows first, then columns.
Result<Tensor> scale_and_translate(KernelContext& context, GatherRow gather,
                                   const ScalingOptions& options) {
  const Tensor& images = context.input(0);
  if (images.shape().rank() != 4)
    return invalid("input must be 4-dimensional", images.shape().to_string());
  if (context.input(1).shape() != Shape{2}) {
    return invalid("output_shape_t must be 1-dimensional of two elements, not ",
                   context.input(1).shape().to_string());
  }
  const auto size = context.input(1).flat<int32_t>();
  MR_ASSIGN(const Scaling scaling, scaling_of(context, images.shape(), size[0], size[1]));
  const auto& [batch, channels, rows, columns] = scaling;
  MR_ASSIGN(const Shape shape, Shape::create(std::array{batch, rows.to, columns.to, channels}));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (output.num_elements() == 0) return output;  // no image: sizes may be any
  CancelProbe probe(context);
  MR_ASSIGN(const Spans vertical, spans_of(rows, options.filter, options.antialias, probe));
  MR_ASSIGN(const Spans horizontal, spans_of(columns, options.filter, options.antialias, probe));
  const int64_t line = columns.from * channels;
  MR_ASSIGN(Tensor buffer, Tensor::allocate(DType::f32, {line}));
  const std::span<float> mixed = buffer.mutable_flat<float>();
  const char* image = static_cast<const char*>(images.data());
  const int64_t line_bytes = line * static_cast<int64_t>(dtype_size(images.dtype()));
  float* to = output.mutable_flat<float>().data();
  for (int64_t b = 0; b < batch; ++b, image += line_bytes * rows.from) {
    for (int64_t y = 0; y < rows.to; ++y) {
      std::ranges::fill(mixed, 0.f);
      const char* from = image + vertical.start(y) * line_bytes;
      for (const float weight : vertical.of(y)) {
        // What follows the span's end is no part of it, and may be none of the image.
        if (weight != 0) gather(from, line, weight, mixed.data());
        from += line_bytes;
        if (!probe.go_on(line)) return probe.status();
      }
      for (int64_t x = 0; x < columns.to; ++x, to += channels) {
        std::fill_n(to, channels, 0.f);
        const float* pixel = mixed.data() + horizontal.start(x) * channels;
        for (const float weight : horizontal.of(x)) {
          if (weight != 0) gather_row<float>(pixel, channels, weight, to);
          pixel += channels;
        }
        if (!probe.go_on(horizontal.width * channels)) return probe.status();
      }
    }
  }
  return output;
}

// --- its gradient: each new pixel's goes back to the old ones that it was made of ---

Result<Tensor> scale_and_translate_grad(KernelContext& context, const ScalingOptions& options) {
  const Shape &after = context.input(0).shape(), &before = context.input(1).shape();
  if (after.rank() != 4) return invalid("input_grad must be 4-dimensional", after.to_string());
  if (before.rank() != 4)
    return invalid("original_image must be 4-dimensional", before.to_string());
  if (after.dim(0) != before.dim(0) || after.dim(3) != before.dim(3)) {
    return invalid("gradient ", after.to_string(), " is not that of images ", before.to_string(),
                   " scaled");
  }
  MR_ASSIGN(const Scaling scaling, scaling_of(context, before, after.dim(1), after.dim(2)));
  const auto& [batch, channels, rows, columns] = scaling;
  MR_ASSIGN(Tensor output, Tensor::zeros(DType::f32, before));
  if (output.num_elements() == 0) return output;  // no image: sizes may be any
  CancelProbe probe(context);
  MR_ASSIGN(const Spans vertical, spans_of(rows, options.filter, options.antialias, probe));
  MR_ASSIGN(const Spans horizontal, spans_of(columns, options.filter, options.antialias, probe));
  const int64_t line = columns.from * channels;
  MR_ASSIGN(Tensor buffer, Tensor::allocate(DType::f32, {line}));
  const std::span<float> mixed = buffer.mutable_flat<float>();
  const float* arriving = context.input(0).flat<float>().data();
  float* image = output.mutable_flat<float>().data();
  for (int64_t b = 0; b < batch; ++b, image += line * rows.from) {
    for (int64_t y = 0; y < rows.to; ++y) {
      std::ranges::fill(mixed, 0.f);
      for (int64_t x = 0; x < columns.to; ++x, arriving += channels) {
        float* pixel = mixed.data() + horizontal.start(x) * channels;
        for (const float weight : horizontal.of(x)) {
          if (weight != 0) gather_row<float>(arriving, channels, weight, pixel);
          pixel += channels;
        }
        if (!probe.go_on(horizontal.width * channels)) return probe.status();
      }
      float* to = image + vertical.start(y) * line;
      for (const float weight : vertical.of(y)) {
        if (weight != 0) gather_row<float>(mixed.data(), line, weight, to);
        to += line;
        if (!probe.go_on(line)) return probe.status();
      }
    }
  }
  return output;
}

// --- shapes and gradients ---

Status check_pairs(const InferContext& context) {
  for (const int slot : {2, 3}) {
    MR_ASSIGN(const PartialShape pair, context.input_of_rank(slot, 1));
    MR_TRY(pair.merge(PartialShape{2}).status());
  }
  return {};
}

Status infer_scaled(InferContext& context) {
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(check_pairs(context));
  return infer_image_sizes(context, 1, "size", images.dim(0), images.dim(3));
}

Status infer_scaled_grad(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 4));
  MR_ASSIGN(const PartialShape original, context.input_of_rank(1, 4));
  MR_TRY(check_pairs(context));
  context.set_output(0, original);
  return {};
}

// The gradient's op is of float32 alone.
Status grad_scaled(GradContext& g) {
  const DType type = g.dtype(g.input(0));
  if (!is_floating(type)) return {};
  Attrs attrs;
  for (const char* name : {"kernel_type", "antialias"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  const auto cast = [&](Endpoint x, DType to) { return g.add("Cast", {x}, {{"DstT", to}}); };
  const bool is_float = type == DType::f32;
  const Endpoint images = is_float ? g.input(0) : cast(g.input(0), DType::f32);
  const Endpoint made =
      g.add("ScaleAndTranslateGrad", {g.grad(), images, g.input(2), g.input(3)}, std::move(attrs));
  g.set_input_grad(0, is_float ? made : cast(made, type));
  return {};
}

constexpr const char* kScalingAttrs = "kernel_type: string = 'lanczos3', antialias: bool = true";

}  // namespace

Status register_scalings(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ScaleAndTranslate",
      .doc = "Images of another size, scaled and then moved, by a filter that kernel_type names.",
      .signature = std::string("images: T, size: int32, scale: float, translation: float -> "
                               "resized_images: float | T: {int8, uint8, int16, uint16, int32, "
                               "int64, bfloat16, half, float, double}, ") +
                   kScalingAttrs,
      .infer = infer_scaled,
      .cpu = kernel_with(scale_and_translate,
                         cpu::loop_of_input<cpu::Real>([]<class T>() { return &gather_row<T>; }),
                         BoundScaling()),
      .grad = grad_scaled,
      .examples =
          {"[[[[0] [4]] [[8] [12]]]], [2 4], [1 2], [0 0] -> [[[[0] [1] [3] [4]] "
           "[[8] [9] [11] [12]]]] | kernel_type = 'triangle'",
           "[[[[1] [2] [3] [6]]]], [1 2], [1 0.5], [0 0] -> [[[[1.7142857] [4.1428571]]]] | "
           "kernel_type = 'triangle', T = float",
           "[[[[1] [2] [3] [4]]]], [1 5], [1 1], [0 1] -> [[[[0] [1] [2] [3] [4]]]]"},
  }));
  return ops.add({
      .name = "ScaleAndTranslateGrad",
      .doc = "The gradient of ScaleAndTranslate by its images.",
      .signature = std::string("grads: T, original_image: T, scale: float, translation: float -> "
                               "output: T | T: {float}, ") +
                   kScalingAttrs,
      .infer = infer_scaled_grad,
      .cpu = kernel_with(scale_and_translate_grad, BoundScaling()),
      .not_differentiable = "TensorFlow gives this gradient none of its own",
      .examples = {"[[[[1] [1] [1] [1]]]], [[[[0] [0]]]], [1 2], [0 0] -> [[[[2] [2]]]] | "
                   "kernel_type = 'triangle'"},
  });
}

}  // namespace millrace
