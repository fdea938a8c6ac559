// Part of families.h: register_crops.
#include <algorithm>
#include <array>
#include <cmath>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/sizes.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

// Of the images, and of the crops.
struct CropSizes {
  int64_t batch = 0, rows = 0, columns = 0, channels = 0, high = 0, wide = 0;
};

// Where element `i` of `count` lies along an axis of `size` pixels of which the box takes a part.
float crop_place(float from, float to, int64_t size, int64_t i, int64_t count) {
  const auto last = static_cast<float>(size - 1);
  if (count <= 1) return 0.5f * (from + to) * last;
  const float step = (to - from) * last / static_cast<float>(count - 1);
  return from * last + static_cast<float>(i) * step;
}

// One pixel of a crop and where it lies in its image. Its four neighbours are meant only if it is
// inside.
struct CropPoint {
  size_t box = 0;
  int64_t i = 0, k = 0;  // in the crop
  int64_t image = 0;     // elements before the image
  float y = 0, x = 0;
  bool is_inside = false;

  int64_t top() const { return static_cast<int64_t>(std::floor(y)); }
  int64_t left() const { return static_cast<int64_t>(std::floor(x)); }
  int64_t bottom() const { return static_cast<int64_t>(std::ceil(y)); }
  int64_t right() const { return static_cast<int64_t>(std::ceil(x)); }
  float down() const { return y - std::floor(y); }
  float across() const { return x - std::floor(x); }
};

// visit(point) for each pixel of each crop, in the order in which they lie in memory.
// Errors: OUT_OF_RANGE for a box of an image that is not there.
template <class Visit>
Status each_point(const CropSizes& sizes, const Tensor& boxes, const Tensor& box_index,
                  CancelProbe& probe, Visit visit) {
  const auto which = box_index.flat<int32_t>();
  CropPoint point;
  for (size_t b = 0; b < which.size(); ++b) {
    if (which[b] < 0 || which[b] >= sizes.batch) {
      return out_of_range("box_index has values outside [0, batch_size): ", which[b], " of ",
                          sizes.batch);
    }
    const float* const box = &boxes.flat<float>()[b * 4];
    point.box = b;
    point.image = which[b] * sizes.rows * sizes.columns * sizes.channels;
    for (point.i = 0; point.i < sizes.high; ++point.i) {
      point.y = crop_place(box[0], box[2], sizes.rows, point.i, sizes.high);
      for (point.k = 0; point.k < sizes.wide; ++point.k) {
        point.x = crop_place(box[1], box[3], sizes.columns, point.k, sizes.wide);
        point.is_inside = point.y >= 0 && point.y <= static_cast<float>(sizes.rows - 1) &&
                          point.x >= 0 && point.x <= static_cast<float>(sizes.columns - 1);
        visit(point);
      }
      if (!probe.go_on(sizes.wide * sizes.channels * 4)) return probe.status();
    }
  }
  return {};
}

int64_t pixel_at(const CropSizes& sizes, const CropPoint& point, int64_t y, int64_t x) {
  return point.image + (y * sizes.columns + x) * sizes.channels;
}

Status check_boxes(const Tensor& boxes, const Tensor& box_index) {
  if (boxes.shape().rank() != 2 || boxes.shape().dim(1) != 4)
    return invalid("boxes must be 2-D with 4 columns, got ", boxes.shape().to_string());
  if (box_index.shape() != Shape{boxes.shape().dim(0)})
    return invalid("box_index has incompatible shape ", box_index.shape().to_string());
  return {};
}

Status set_images(CropSizes& sizes, std::span<const int64_t> dims) {
  if (dims[1] <= 0 || dims[2] <= 0) return invalid("image dimensions must be positive");
  sizes.batch = dims[0];
  sizes.rows = dims[1];
  sizes.columns = dims[2];
  sizes.channels = dims[3];
  return {};
}

// --- CropAndResize ---

using ReadPixel = void (*)(const void* image, int64_t at, float* to, int64_t channels);

template <class T>
void read_pixel(const void* image, int64_t at, float* to, int64_t channels) {
  const T* const from = static_cast<const T*>(image) + at;
  for (int64_t c = 0; c < channels; ++c)
    to[c] = static_cast<float>(static_cast<cpu::Math<T>>(from[c]));
}

ReadPixel read_loop(DType dtype) {
  return cpu::pick<ReadPixel>(cpu::Real(), dtype,
                              []<class T>() -> ReadPixel { return &read_pixel<T>; });
}

enum class Sampling : uint8_t { bilinear, nearest };

struct BoundSampling {
  Result<Sampling> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string method, spec.attrs.string("method"));
    return method == "nearest" ? Sampling::nearest : Sampling::bilinear;
  }
};

// The four neighbours of a point: top left, top right, bottom left, bottom right.
void read_corners(const CropSizes& sizes, const CropPoint& point, const void* images,
                  ReadPixel read, float* to) {
  for (const int64_t y : {point.top(), point.bottom()}) {
    for (const int64_t x : {point.left(), point.right()}) {
      read(images, pixel_at(sizes, point, y, x), to, sizes.channels);
      to += sizes.channels;
    }
  }
}

Result<Tensor> crop_and_resize(KernelContext& context, Sampling sampling, float outside,
                               ReadPixel read) {
  const Tensor& images = context.input(0);
  if (images.shape().rank() != 4)
    return invalid("input image must be 4-D", images.shape().to_string());
  CropSizes sizes;
  MR_TRY(set_images(sizes, images.shape().dims()));
  MR_TRY(check_boxes(context.input(1), context.input(2)));
  MR_ASSIGN(const std::vector<int64_t> size, read_integers(context.input(3), "crop_size"));
  if (size.size() != 2) return invalid("crop_size must have two elements");
  if (size[0] <= 0 || size[1] <= 0) return invalid("crop dimensions must be positive");
  sizes.high = size[0];
  sizes.wide = size[1];
  MR_ASSIGN(const Shape crops, Shape::create(std::array{context.input(1).shape().dim(0), size[0],
                                                        size[1], sizes.channels}));
  MR_ASSIGN(Tensor output, context.allocate(0, crops));
  if (output.num_elements() == 0) return output;  // of any number of rows
  float* to = output.mutable_flat<float>().data();
  const int64_t channels = sizes.channels;
  std::vector<float> corners(static_cast<size_t>(channels) * 4);
  const auto fill_pixel = [&](const CropPoint& point) {
    if (!point.is_inside) {
      std::fill(to, to + channels, outside);
    } else if (sampling == Sampling::nearest) {
      read(images.data(), pixel_at(sizes, point, std::lround(point.y), std::lround(point.x)), to,
           channels);
    } else {
      float* const c = corners.data();
      read_corners(sizes, point, images.data(), read, c);
      for (int64_t n = 0; n < channels; ++n) {
        const float above = c[n] + (c[channels + n] - c[n]) * point.across();
        const float below =
            c[2 * channels + n] + (c[3 * channels + n] - c[2 * channels + n]) * point.across();
        to[n] = above + (below - above) * point.down();
      }
    }
    to += channels;
  };
  CancelProbe probe(context);
  MR_TRY(each_point(sizes, context.input(1), context.input(2), probe, fill_pixel));
  return output;
}

Status infer_crops(InferContext& context) {
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  MR_ASSIGN(const PartialShape boxes, context.input_of_rank(1, 2));
  MR_TRY(context.input_of_rank(2, 1));
  MR_TRY(context.input_of_rank(3, 1));
  return infer_image_sizes(context, 3, "crop_size", boxes.dim(0), images.dim(3));
}

// --- its gradients ---

Status check_grads(const Tensor& grads, const Tensor& boxes, CropSizes& sizes) {
  const Shape& shape = grads.shape();
  if (shape.rank() != 4) return invalid("grads image must be 4-D", shape.to_string());
  if (shape.dim(1) <= 0 || shape.dim(2) <= 0) return invalid("grads dimensions must be positive");
  if (boxes.shape().rank() == 2 && boxes.shape().dim(0) != shape.dim(0)) {
    return invalid("boxes and grads have incompatible shape: ", boxes.shape().to_string(), " and ",
                   shape.to_string());
  }
  if (shape.dim(3) != sizes.channels)
    return invalid("image_size and grads are incompatible: ", sizes.channels, " and ", shape.dim(3),
                   " channels");
  sizes.high = shape.dim(1);
  sizes.wide = shape.dim(2);
  return {};
}

// Adds a share of a pixel's gradient, vertical and horizontal, to an element of an image; rounded
// where TensorFlow rounds.
struct Share {
  float vertical = 1, horizontal = 1;
};
using AddShare = void (*)(void* image, int64_t at, const float* gradient, Share share,
                          int64_t channels);

template <class T>
void add_share(void* image, int64_t at, const float* gradient, Share share, int64_t channels) {
  using M = cpu::Math<T>;
  T* const to = static_cast<T*>(image) + at;
  for (int64_t c = 0; c < channels; ++c) {
    const auto part = static_cast<T>(share.horizontal * (share.vertical * gradient[c]));
    to[c] = static_cast<T>(static_cast<M>(to[c]) + static_cast<M>(part));
  }
}

Result<Tensor> image_gradient(KernelContext& context, Sampling sampling, AddShare add) {
  const Tensor& grads = context.input(0);
  if (context.input(3).shape().rank() != 1)
    return invalid("image_size must be 1-D, not ", context.input(3).shape().to_string());
  MR_ASSIGN(const std::vector<int64_t> dims, read_integers(context.input(3), "image_size"));
  if (dims.size() != 4) return invalid("image_size must have 4 elements, not ", dims.size());
  CropSizes sizes;
  MR_TRY(set_images(sizes, dims));
  MR_TRY(check_boxes(context.input(1), context.input(2)));
  MR_TRY(check_grads(grads, context.input(1), sizes));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, Tensor::zeros(context.output_dtype(0), shape));
  const float* from = grads.flat<float>().data();
  void* const image = output.mutable_data();
  const auto spread_pixel = [&](const CropPoint& point) {
    const float* const gradient = from;
    from += sizes.channels;
    if (!point.is_inside) return;
    if (sampling == Sampling::nearest) {
      return add(image, pixel_at(sizes, point, std::lround(point.y), std::lround(point.x)),
                 gradient, {}, sizes.channels);
    }
    const float down = point.down(), across = point.across();
    const auto spread = [&](int64_t y, int64_t x, Share share) {
      add(image, pixel_at(sizes, point, y, x), gradient, share, sizes.channels);
    };
    spread(point.top(), point.left(), {1 - down, 1 - across});
    spread(point.top(), point.right(), {1 - down, across});
    spread(point.bottom(), point.left(), {down, 1 - across});
    spread(point.bottom(), point.right(), {down, across});
  };
  CancelProbe probe(context);
  MR_TRY(each_point(sizes, context.input(1), context.input(2), probe, spread_pixel));
  return output;
}

Status infer_image_gradient(InferContext& context) {
  return infer_shape_of(context, "image_size", 3);
}

// How far a point moves when the first and the last edge of its box move along an axis of `size`
// pixels by all of it.
std::array<float, 2> moves(int64_t size, int64_t i, int64_t count) {
  const auto last = static_cast<float>(size - 1);
  if (count <= 1) return {0.5f * last, 0.5f * last};
  const float ratio = last / static_cast<float>(count - 1);
  return {last - static_cast<float>(i) * ratio, static_cast<float>(i) * ratio};
}

Result<Tensor> box_gradient(KernelContext& context, ReadPixel read) {
  const Tensor &grads = context.input(0), &images = context.input(1);
  if (images.shape().rank() != 4)
    return invalid("input image must be 4-D", images.shape().to_string());
  CropSizes sizes;
  MR_TRY(set_images(sizes, images.shape().dims()));
  MR_TRY(check_boxes(context.input(2), context.input(3)));
  MR_TRY(check_grads(grads, context.input(2), sizes));
  MR_ASSIGN(Tensor output, Tensor::zeros(DType::f32, context.input(2).shape()));
  const float* from = grads.flat<float>().data();
  const int64_t channels = sizes.channels;
  std::vector<float> corners(static_cast<size_t>(channels) * 4);
  const auto edges = output.mutable_flat<float>();
  const auto move_edges = [&](const CropPoint& point) {
    const float* const gradient = from;
    from += channels;
    if (!point.is_inside) return;
    float* const c = corners.data();
    read_corners(sizes, point, images.data(), read, c);
    const auto vertical = moves(sizes.rows, point.i, sizes.high);
    const auto horizontal = moves(sizes.columns, point.k, sizes.wide);
    float* const edge = &edges[point.box * 4];
    for (int64_t n = 0; n < channels; ++n) {
      const float top_left = c[n], top_right = c[channels + n];
      const float bottom_left = c[2 * channels + n], bottom_right = c[3 * channels + n];
      const float by_y = gradient[n] * ((1 - point.across()) * (bottom_left - top_left) +
                                        point.across() * (bottom_right - top_right));
      const float by_x = gradient[n] * ((1 - point.down()) * (top_right - top_left) +
                                        point.down() * (bottom_right - bottom_left));
      edge[0] += by_y * vertical[0];
      edge[1] += by_x * horizontal[0];
      edge[2] += by_y * vertical[1];
      edge[3] += by_x * horizontal[1];
    }
  };
  CancelProbe probe(context);
  MR_TRY(each_point(sizes, context.input(2), context.input(3), probe, move_edges));
  return output;
}

Status infer_box_gradient(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 4));
  MR_TRY(context.input_of_rank(1, 4));
  MR_ASSIGN(const PartialShape boxes, context.input_of_rank(2, 2));
  MR_TRY(context.input_of_rank(3, 1));
  context.set_output(0, boxes);
  return {};
}

Status crop_gradient(GradContext& g) {
  const DType type = g.dtype(g.input(0));
  const bool is_real = type == DType::f16 || type == DType::f32 || type == DType::f64;
  if (is_real && g.is_needed(0)) {
    MR_ASSIGN(std::string method, g.attrs().string("method"));
    g.set_input_grad(0, g.add("CropAndResizeGradImage",
                              {g.grad(), g.input(1), g.input(2), g.shape_node(g.input(0))},
                              {{"T", type}, {"method", std::move(method)}}));
  }
  // As TensorFlow has it, also for those that take the nearest pixel.
  if (g.is_needed(1)) {
    g.set_input_grad(
        1, g.add("CropAndResizeGradBoxes", {g.grad(), g.input(0), g.input(1), g.input(2)}));
  }
  return {};
}

constexpr std::string_view kCroppedTypes =
    "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}";
constexpr const char* kOnce = "TensorFlow gives it none";

}  // namespace

Status register_crops(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "CropAndResize",
      .doc = "Parts of images, each as a box of shares of the image says, all of one size.",
      .signature = str_cat("image: T, boxes: float, box_ind: int32, crop_size: int32 -> "
                           "crops: float | ",
                           kCroppedTypes,
                           ", method: {'bilinear', 'nearest'} = 'bilinear', "
                           "extrapolation_value: float = 0"),
      .infer = infer_crops,
      .cpu = kernel_with(crop_and_resize, BoundSampling(), real("extrapolation_value"),
                         cpu::LoopFor{read_loop}),
      .grad = crop_gradient,
      .examples = {"[[[[1] [2]] [[3] [4]]]], [[0 0 1 1] [0 0 2 2]], [0 0], [1 3] -> "
                   "[[[[2] [2.5] [3]]] [[[3] [4] [0]]]]"},
  }));
  MR_TRY(ops.add({
      .name = "CropAndResizeGradImage",
      .doc = "The gradient of the images of CropAndResize: each pixel of a crop for those that it "
             "was made of.",
      .signature = "grads: float, boxes: float, box_ind: int32, image_size: int32 -> output: T | "
                   "T: {float, half, double}, method: {'bilinear', 'nearest'} = 'bilinear'",
      .infer = infer_image_gradient,
      .cpu = kernel_with(image_gradient, BoundSampling(),
                         cpu::loop_of_output<cpu::Types<float, Half, double>>(
                             []<class T>() { return &add_share<T>; })),
      .not_differentiable = kOnce,
      .examples = {"[[[[1] [2] [4]]]], [[0 0 1 1]], [0], [1 2 2 1] -> [[[[1] [2.5]] [[1] [2.5]]]]",
                   "[[[[1] [2] [4]]]], [[0 0 0 1]], [0], [1 2 2 1] -> [[[[1] [6]] [[0] [0]]]] | "
                   "method = 'nearest'"},
  }));
  return ops.add({
      .name = "CropAndResizeGradBoxes",
      .doc = "The gradient of the boxes of CropAndResize: how its crops change as edges move.",
      .signature = str_cat("grads: float, image: T, boxes: float, box_ind: int32 -> "
                           "output: float | ",
                           kCroppedTypes, ", method: {'bilinear'} = 'bilinear'"),
      .infer = infer_box_gradient,
      .cpu = kernel_with(box_gradient, cpu::LoopFor{read_loop, 1}),
      .not_differentiable = kOnce,
      .examples = {"[[[[1] [2] [4]]]], [[[[1] [2]] [[3] [4]]]], [[0 0 1 1]], [0] -> [[7 1 7 1]]"},
  });
}

}  // namespace millrace
