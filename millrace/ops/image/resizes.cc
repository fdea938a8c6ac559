// Part of families.h: register_resizes.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/sizes.h"
#include "millrace/ops/image/taps.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

// [batch, rows, columns, channels], before and after.
struct Resize {
  int64_t batch, rows, columns, channels;
  int64_t new_rows, new_columns;

  AxisScale vertical(bool align, bool half) const { return {rows, new_rows, align, half}; }
  AxisScale horizontal(bool align, bool half) const { return {columns, new_columns, align, half}; }
};

// How places of the two images lie on each other.
struct Centers {
  bool align_corners = false, half_pixels = false;
};

// Both at once, as only the gradient of ResizeNearestNeighbor takes them.
struct BoundAnyCenters {
  Result<Centers> read(const KernelSpec& spec) const {
    Centers centers;
    MR_ASSIGN(centers.align_corners, spec.attrs.boolean("align_corners"));
    if (spec.attrs.find("half_pixel_centers") != nullptr) {
      MR_ASSIGN(centers.half_pixels, spec.attrs.boolean("half_pixel_centers"));
    }
    return centers;
  }
};

struct BoundCenters {
  Result<Centers> read(const KernelSpec& spec) const {
    MR_ASSIGN(const Centers centers, BoundAnyCenters().read(spec));
    if (centers.align_corners && centers.half_pixels)
      return invalid("If half_pixel_centers is True, align_corners must be False.");
    return centers;
  }
};

Result<std::pair<int64_t, int64_t>> read_size(const Tensor& size) {
  if (size.shape().rank() != 1)
    return invalid("shape_t must be 1-dimensional", size.shape().to_string());
  if (size.num_elements() != 2)
    return invalid("shape_t must have two elements", size.shape().to_string());
  MR_ASSIGN(const std::vector<int64_t> sizes, read_integers(size, "size"));
  if (sizes[0] <= 0 || sizes[1] <= 0) return invalid("output dimensions must be positive");
  return std::pair(sizes[0], sizes[1]);
}

Result<Resize> resize_of(const Tensor& images, const Tensor& size) {
  const Shape& shape = images.shape();
  if (shape.rank() != 4) return invalid("input must be 4-dimensional", shape.to_string());
  MR_ASSIGN(const auto to, read_size(size));
  if (shape.dim(1) <= 0 || shape.dim(2) <= 0)
    return invalid("input image must be of non-zero size");
  if (shape.dim(3) <= 0) return invalid("image must have at least one channel");
  return Resize{shape.dim(0), shape.dim(1), shape.dim(2), shape.dim(3), to.first, to.second};
}

using MakeTaps = Taps (*)(const AxisScale&);

// Forward: new[y][x] is the sum of old[j][i] * wy[j] * wx[i].
using ResizeLoop = void (*)(const void* old_image, const Resize& sizes, const Taps& horizontal,
                            std::span<const Tap> rows, float* new_row);

template <class T>
void resize_row(const void* old_image, const Resize& sizes, const Taps& horizontal,
                std::span<const Tap> rows, float* new_row) {
  const T* const image = static_cast<const T*>(old_image);
  const int64_t channels = sizes.channels, row_size = sizes.columns * channels;
  for (int64_t x = 0; x < sizes.new_columns; ++x, new_row += channels) {
    std::fill(new_row, new_row + channels, 0.f);
    const auto begin = horizontal.begin[static_cast<size_t>(x)];
    const auto end = horizontal.begin[static_cast<size_t>(x) + 1];
    for (const Tap& row : rows) {
      for (int64_t t = begin; t < end; ++t) {
        const Tap& column = horizontal.taps[static_cast<size_t>(t)];
        const float weight = row.weight * column.weight;
        if (weight == 0) continue;
        const T* const pixel = image + row.index * row_size + column.index * channels;
        for (int64_t c = 0; c < channels; ++c)
          new_row[c] += weight * static_cast<float>(static_cast<cpu::Math<T>>(pixel[c]));
      }
    }
  }
}

Result<Tensor> resize(KernelContext& context, MakeTaps make_taps, const Centers& centers,
                      ResizeLoop loop) {
  const Tensor& images = context.input(0);
  MR_ASSIGN(const Resize sizes, resize_of(images, context.input(1)));
  MR_ASSIGN(const Shape shape, Shape::create(std::array{sizes.batch, sizes.new_rows,
                                                        sizes.new_columns, sizes.channels}));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (output.num_elements() == 0) return output;  // no image: sizes may be any
  const Taps vertical = make_taps(sizes.vertical(centers.align_corners, centers.half_pixels));
  const Taps horizontal = make_taps(sizes.horizontal(centers.align_corners, centers.half_pixels));
  const auto* image = static_cast<const char*>(images.data());
  const size_t image_bytes =
      static_cast<size_t>(sizes.rows * sizes.columns * sizes.channels) * dtype_size(images.dtype());
  float* to = output.mutable_flat<float>().data();
  const int64_t row_size = sizes.new_columns * sizes.channels;
  CancelProbe probe(context);
  for (int64_t b = 0; b < sizes.batch; ++b, image += image_bytes) {
    for (size_t y = 0; y < static_cast<size_t>(sizes.new_rows); ++y, to += row_size) {
      const auto begin = static_cast<size_t>(vertical.begin[y]);
      const auto rows = std::span(vertical.taps)
                            .subspan(begin, static_cast<size_t>(vertical.begin[y + 1]) - begin);
      loop(image, sizes, horizontal, rows, to);
      if (!probe.go_on(row_size * 4)) return probe.status();
    }
  }
  return output;
}

// Backward: each new element's gradient goes back to the old ones it was made of.
using SpreadLoop = void (*)(const float* new_row, const Resize& sizes, const Taps& horizontal,
                            std::span<const Tap> rows, void* old_image);

template <class T>
void spread_row(const float* new_row, const Resize& sizes, const Taps& horizontal,
                std::span<const Tap> rows, void* old_image) {
  T* const image = static_cast<T*>(old_image);
  const int64_t channels = sizes.channels, row_size = sizes.columns * channels;
  for (int64_t x = 0; x < sizes.new_columns; ++x, new_row += channels) {
    const auto begin = horizontal.begin[static_cast<size_t>(x)];
    const auto end = horizontal.begin[static_cast<size_t>(x) + 1];
    for (const Tap& row : rows) {
      for (int64_t t = begin; t < end; ++t) {
        const Tap& column = horizontal.taps[static_cast<size_t>(t)];
        const float weight = row.weight * column.weight;
        T* const pixel = image + row.index * row_size + column.index * channels;
        for (int64_t c = 0; c < channels; ++c) {
          pixel[c] = static_cast<T>(static_cast<cpu::Math<T>>(pixel[c]) +
                                    static_cast<cpu::Math<T>>(weight * new_row[c]));
        }
      }
    }
  }
}

Result<Tensor> spread(KernelContext& context, MakeTaps make_taps, const Centers& centers,
                      SpreadLoop loop) {
  const Tensor& grads = context.input(0);
  const Shape& before = context.input(1).shape();
  const Shape& after = grads.shape();
  if (after.rank() != 4 || before.rank() != 4)
    return invalid("input_grad and original_image must be 4-dimensional, not ", after.to_string(),
                   " and ", before.to_string());
  if (after.dim(0) != before.dim(0) || after.dim(3) != before.dim(3))
    return invalid("gradient ", after.to_string(), " is not that of resized images ",
                   before.to_string());
  for (int axis = 1; axis <= 3; ++axis) {
    if (before.dim(axis) == 0 || after.dim(axis) == 0)
      return invalid("images must be of non-zero size, not ", before.to_string(), " and ",
                     after.to_string());
  }
  const Resize sizes{before.dim(0), before.dim(1), before.dim(2),
                     before.dim(3), after.dim(1),  after.dim(2)};
  MR_ASSIGN(Tensor output, Tensor::zeros(context.output_dtype(0), before));
  if (output.num_elements() == 0) return output;  // no image: sizes may be any
  const Taps vertical = make_taps(sizes.vertical(centers.align_corners, centers.half_pixels));
  const Taps horizontal = make_taps(sizes.horizontal(centers.align_corners, centers.half_pixels));
  char* image = static_cast<char*>(output.mutable_data());
  const size_t image_bytes =
      static_cast<size_t>(sizes.rows * sizes.columns * sizes.channels) * dtype_size(output.dtype());
  const float* from = grads.flat<float>().data();
  const int64_t row_size = sizes.new_columns * sizes.channels;
  CancelProbe probe(context);
  for (int64_t b = 0; b < sizes.batch; ++b, image += image_bytes) {
    for (size_t y = 0; y < static_cast<size_t>(sizes.new_rows); ++y, from += row_size) {
      const auto begin = static_cast<size_t>(vertical.begin[y]);
      const auto rows = std::span(vertical.taps)
                            .subspan(begin, static_cast<size_t>(vertical.begin[y + 1]) - begin);
      loop(from, sizes, horizontal, rows, image);
      if (!probe.go_on(row_size * 4)) return probe.status();
    }
  }
  return output;
}

// --- ResizeNearestNeighbor ---

Result<Tensor> resize_nearest(KernelContext& context, const Centers& centers) {
  const Tensor& images = context.input(0);
  MR_ASSIGN(const Resize sizes, resize_of(images, context.input(1)));
  MR_ASSIGN(const Shape shape, Shape::create(std::array{sizes.batch, sizes.new_rows,
                                                        sizes.new_columns, sizes.channels}));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (output.num_elements() == 0) return output;  // no image: sizes may be any
  const auto rows = nearest_places(sizes.vertical(centers.align_corners, centers.half_pixels));
  const auto columns = nearest_places(sizes.horizontal(centers.align_corners, centers.half_pixels));
  const size_t pixel = static_cast<size_t>(sizes.channels) * dtype_size(images.dtype());
  const auto* from = static_cast<const char*>(images.data());
  char* to = static_cast<char*>(output.mutable_data());
  CancelProbe probe(context);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (const int64_t row : rows) {
      const char* const line =
          from + static_cast<size_t>((b * sizes.rows + row) * sizes.columns) * pixel;
      for (const int64_t column : columns) {
        std::memcpy(to, line + static_cast<size_t>(column) * pixel, pixel);
        to += pixel;
      }
      if (!probe.go_on(sizes.new_columns * sizes.channels)) return probe.status();
    }
  }
  return output;
}

using GatherLoop = void (*)(const void* pixel, void* sum, int64_t channels);

template <class T>
void add_pixel(const void* pixel, void* sum, int64_t channels) {
  const T* const from = static_cast<const T*>(pixel);
  T* const to = static_cast<T*>(sum);
  for (int64_t c = 0; c < channels; ++c)
    to[c] = static_cast<T>(
        cpu::add(static_cast<cpu::Math<T>>(to[c]), static_cast<cpu::Math<T>>(from[c])));
}

Result<Tensor> nearest_gradient(KernelContext& context, const Centers& centers, GatherLoop loop) {
  const Tensor& grads = context.input(0);
  const Shape& after = grads.shape();
  if (after.rank() != 4) return invalid("input must be 4-dimensional", after.to_string());
  MR_ASSIGN(const auto before, read_size(context.input(1)));
  const Resize sizes{after.dim(0), before.first, before.second,
                     after.dim(3), after.dim(1), after.dim(2)};
  MR_ASSIGN(const Shape shape,
            Shape::create(std::array{sizes.batch, sizes.rows, sizes.columns, sizes.channels}));
  MR_ASSIGN(Tensor output, Tensor::zeros(context.output_dtype(0), shape));
  // No image: sizes may be any.
  if (output.num_elements() == 0 || grads.num_elements() == 0) return output;
  const auto rows = nearest_places(sizes.vertical(centers.align_corners, centers.half_pixels));
  const auto columns = nearest_places(sizes.horizontal(centers.align_corners, centers.half_pixels));
  const size_t pixel = static_cast<size_t>(sizes.channels) * dtype_size(grads.dtype());
  const auto* from = static_cast<const char*>(grads.data());
  char* const to = static_cast<char*>(output.mutable_data());
  CancelProbe probe(context);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (const int64_t row : rows) {
      char* const line = to + static_cast<size_t>((b * sizes.rows + row) * sizes.columns) * pixel;
      for (const int64_t column : columns) {
        loop(from, line + static_cast<size_t>(column) * pixel, sizes.channels);
        from += pixel;
      }
      if (!probe.go_on(sizes.new_columns * sizes.channels)) return probe.status();
    }
  }
  return output;
}

// --- Shapes and gradients ---

Status infer_resize(InferContext& context) {
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  MR_TRY(context.input_of_rank(1, 1));
  return infer_image_sizes(context, 1, "size", images.dim(0), images.dim(3));
}

Status infer_original(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 4));
  MR_ASSIGN(const PartialShape original, context.input_of_rank(1, 4));
  context.set_output(0, original);
  return {};
}

Attrs centers_of(const GradContext& g) {
  Attrs attrs;
  for (const char* name : {"align_corners", "half_pixel_centers"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  return attrs;
}

template <bool kIsCubic>
Status grad_resize(GradContext& g) {
  const DType dtype = g.dtype(g.input(0));
  if (is_floating(dtype) && (!kIsCubic || dtype == DType::f32 || dtype == DType::f64)) {
    g.set_input_grad(0, g.add(kIsCubic ? "ResizeBicubicGrad" : "ResizeBilinearGrad",
                              {g.grad(), g.input(0)}, centers_of(g)));
  }
  return {};
}

Status grad_nearest(GradContext& g) {
  if (!is_floating(g.dtype(g.input(0)))) return {};
  const Endpoint size = g.add("Slice", {g.shape_node(g.input(0)), g.vector({1}), g.vector({2})});
  Attrs attrs = centers_of(g);
  g.set_input_grad(0, g.add("ResizeNearestNeighborGrad", {g.grad(), size}, std::move(attrs)));
  return {};
}

constexpr const char* kSecond = "TensorFlow gives this gradient none of its own";
const std::string kPixels =
    "{int8, uint8, int16, uint16, int32, int64, half, float, double, "
    "bfloat16}";
using Pixels = cpu::Real;

template <MakeTaps kTaps>
Result<Tensor> resize_by(KernelContext& context, const Centers& centers, ResizeLoop loop) {
  return resize(context, kTaps, centers, loop);
}
template <MakeTaps kTaps>
Result<Tensor> spread_by(KernelContext& context, const Centers& centers, SpreadLoop loop) {
  return spread(context, kTaps, centers, loop);
}

Status add_resize(OpRegistry& ops, std::string name, std::string doc, bool has_half,
                  KernelFactory cpu, GradFn grad, std::vector<std::string> examples) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "images: T, size: int32 -> resized_images: float | T: " + kPixels +
                   ", align_corners: bool = false" +
                   (has_half ? ", half_pixel_centers: bool = false" : ""),
      .infer = infer_resize,
      .cpu = std::move(cpu),
      .grad = grad,
      .not_differentiable = grad == nullptr ? "TensorFlow gives it none" : "",
      .examples = std::move(examples),
  });
}

Status add_gradient(OpRegistry& ops, std::string name, std::string doc, const std::string& types,
                    KernelFactory cpu, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "grads: float, original_image: T -> output: T | T: " + types +
                   ", align_corners: bool = false, half_pixel_centers: bool = false",
      .infer = infer_original,
      .cpu = std::move(cpu),
      .not_differentiable = kSecond,
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_resizes(OpRegistry& ops) {
  const auto forward = cpu::loop_of_input<Pixels>([]<class T>() { return &resize_row<T>; });
  const auto backward =
      cpu::loop_of_output<cpu::Floating>([]<class T>() { return &spread_row<T>; });
  MR_TRY(add_resize(
      ops, "ResizeBilinear", "Images of another size, between whose pixels values change evenly.",
      true, kernel_with(resize_by<bilinear_taps>, BoundCenters(), forward), grad_resize<false>,
      {"[[[[0] [4]] [[8] [12]]]], [2 4] -> [[[[0] [2] [4] [4]] "
       "[[8] [10] [12] [12]]]]",
       "[[[[0] [4]] [[8] [12]]]], [1 3] -> [[[[0] [2] [4]]]] | "
       "align_corners = true"}));
  MR_TRY(add_resize(ops, "ResizeBicubic",
                    "Images of another size, of each pixel's sixteen neighbours by Keys' cubic.",
                    true, kernel_with(resize_by<bicubic_taps>, BoundCenters(), forward),
                    grad_resize<true>,
                    {"[[[[1] [2]] [[3] [4]]]], [2 2] -> [[[[1] [2]] [[3] [4]]]]"}));
  MR_TRY(add_resize(ops, "ResizeArea",
                    "Images of another size, each pixel the mean of the area that it covers.",
                    false, kernel_with(resize_by<area_taps>, BoundCenters(), forward), nullptr,
                    {"[[[[1] [2]] [[3] [6]]]], [1 1] -> [[[[3]]]]"}));
  MR_TRY(ops.add({
      .name = "ResizeNearestNeighbor",
      .doc = "Images of another size, each pixel a copy of the nearest one.",
      .signature = "images: T, size: int32 -> resized_images: T | T: " + kPixels +
                   ", align_corners: bool = false, half_pixel_centers: bool = false",
      .infer = infer_resize,
      .cpu = kernel_with(resize_nearest, BoundCenters()),
      .grad = grad_nearest,
      .examples = {"[[[[1] [2]]]], [2 3] -> [[[[1] [1] [2]] [[1] [1] [2]]]]"},
  }));
  MR_TRY(add_gradient(ops, "ResizeBilinearGrad", "The gradient of ResizeBilinear by its images.",
                      "{float, bfloat16, half, double}",
                      kernel_with(spread_by<bilinear_taps>, BoundCenters(), backward),
                      "[[[[1] [1] [1] [1]]]], [[[[0] [0]]]] -> [[[[1.5] [2.5]]]]"));
  MR_TRY(add_gradient(ops, "ResizeBicubicGrad", "The gradient of ResizeBicubic by its images.",
                      "{float, double}",
                      kernel_with(spread_by<bicubic_taps>, BoundCenters(), backward),
                      "[[[[1] [2]]]], [[[[0] [0]]]] -> [[[[1] [2]]]]"));
  return ops.add({
      .name = "ResizeNearestNeighborGrad",
      .doc = "The gradient of ResizeNearestNeighbor by its images, of size `size`.",
      .signature = "grads: T, size: int32 -> output: T | T: {uint8, int8, int32, half, float, "
                   "double, bfloat16}, align_corners: bool = false, "
                   "half_pixel_centers: bool = false",
      .infer = infer_resize,
      .cpu = kernel_with(nearest_gradient, BoundAnyCenters(),
                         cpu::loop_of_output<Pixels>([]<class T>() { return &add_pixel<T>; })),
      .not_differentiable = kSecond,
      .examples = {"[[[[1] [2] [4]]]], [1 2] -> [[[[3] [4]]]]"},
  });
}

}  // namespace millrace
