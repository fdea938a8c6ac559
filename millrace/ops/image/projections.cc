// Part of families.h: register_projections.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/sizes.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

// What stands for places outside of the image: its mirror image, itself again, one value, or the
// nearest pixel.
enum class Outside : uint8_t { reflect, wrap, constant, nearest };

struct Projecting {
  bool is_bilinear = false;  // else the nearest pixel counts
  Outside outside = Outside::constant;
};

struct BoundProjecting {
  Result<Projecting> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string interpolation, spec.attrs.string("interpolation"));
    MR_ASSIGN(const std::string mode, spec.attrs.string("fill_mode"));
    if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
      return invalid("Invalid interpolation ", interpolation,
                     ". Supported types: NEAREST, BILINEAR");
    }
    Projecting made{interpolation == "BILINEAR"};
    if (mode == "REFLECT") {
      made.outside = Outside::reflect;
    } else if (mode == "WRAP") {
      made.outside = Outside::wrap;
    } else if (mode == "NEAREST") {
      made.outside = Outside::nearest;
    } else if (mode != "CONSTANT") {
      return invalid("Invalid mode ", mode, ". Supported types: REFLECT, WRAP, CONSTANT, NEAREST");
    }
    return made;
  }
};

// --- places along one axis of `size` pixels ---

// [abcd] as [dcba|abcd|dcba].
float reflected(float place, float size) {
  if (size <= 1) return 0;
  const float period = 2 * size;
  if (place < 0) {
    place += period * std::trunc(-place / period);
    return place < -size ? place + period : -place - 1;
  }
  if (!(place > size - 1)) return place;
  place -= period * std::trunc(place / period);
  return place >= size ? period - place - 1 : place;
}

// [abcd] as [abcd|abcd|abcd], but for the gap between two of them.
float wrapped(float place, float size) {
  if (size <= 1) return 0;
  const float steps = size - 1;
  if (place < 0) return place + size * (std::trunc(-place / steps) + 1);
  return place > steps ? place - size * std::trunc(place / steps) : place;
}

// The place inside that stands for one anywhere; no number where there is none.
float mapped(float place, float size, Outside outside) {
  if (outside == Outside::reflect) place = reflected(place, size);
  if (outside == Outside::wrap) place = wrapped(place, size);
  if (outside == Outside::constant || std::isnan(place) || size < 1) return place;
  return std::clamp(place, 0.f, size - 1);
}

// --- one image ---

struct Frame {
  int64_t rows, columns, channels;
};

template <class T>
T from_float(float value) {
  if constexpr (std::is_integral_v<T>) {
    // Numbers near the ends of a large type are rounded to beyond them.
    constexpr auto kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::min();
    if (value >= static_cast<float>(kMost)) return kMost;
    return value <= static_cast<float>(kLeast) ? kLeast : static_cast<T>(value);
  } else {
    return T(static_cast<cpu::Math<T>>(value));
  }
}

template <class T>
struct Source {
  const T* pixels;
  Frame frame;
  T filling;

  // The channels of a pixel, null outside.
  const T* at(int64_t row, int64_t column) const {
    if (row < 0 || row >= frame.rows || column < 0 || column >= frame.columns) return nullptr;
    return pixels + (row * frame.columns + column) * frame.channels;
  }
  float channel(const T* pixel, int64_t c) const {
    return static_cast<float>(static_cast<cpu::Math<T>>(pixel == nullptr ? filling : pixel[c]));
  }

  void fill(T* to) const { std::fill_n(to, frame.channels, filling); }

  void nearest(float y, float x, T* to) const {
    const T* const pixel =
        at(static_cast<int64_t>(std::round(y)), static_cast<int64_t>(std::round(x)));
    if (pixel == nullptr) return fill(to);
    std::copy_n(pixel, frame.channels, to);
  }

  void bilinear(float y, float x, T* to) const {
    const float top = std::floor(y), left = std::floor(x);
    const float bottom = top + 1, right = left + 1;
    const auto row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
    const T* const corners[] = {at(row, column), at(row, column + 1), at(row + 1, column),
                                at(row + 1, column + 1)};
    for (int64_t c = 0; c < frame.channels; ++c) {
      const float upper =
          (right - x) * channel(corners[0], c) + (x - left) * channel(corners[1], c);
      const float lower =
          (right - x) * channel(corners[2], c) + (x - left) * channel(corners[3], c);
      to[c] = from_float<T>((bottom - y) * upper + (y - top) * lower);
    }
  }
};

// a[0] to a[7] of a projection, whose a[8] is 1.
struct Projection {
  const float* a;
  struct Place {
    float y, x;
  };
  // Where a new pixel comes from; not finite on the horizon.
  Place operator()(int64_t row, int64_t column) const {
    const auto y = static_cast<float>(row), x = static_cast<float>(column);
    const float depth = a[6] * x + a[7] * y + 1;
    if (depth == 0) return {HUGE_VALF, HUGE_VALF};
    return {(a[3] * x + a[4] * y + a[5]) / depth, (a[0] * x + a[1] * y + a[2]) / depth};
  }
};

using ProjectRow = void (*)(const void* image, const Frame& frame, const Projection& projection,
                            const Projecting& how, const void* filling, int64_t row,
                            int64_t columns, void* to);

template <class T>
void project_row(const void* image, const Frame& frame, const Projection& projection,
                 const Projecting& how, const void* filling, int64_t row, int64_t columns,
                 void* to) {
  const Source<T> source{static_cast<const T*>(image), frame, *static_cast<const T*>(filling)};
  const auto height = static_cast<float>(frame.rows), width = static_cast<float>(frame.columns);
  T* pixel = static_cast<T*>(to);
  for (int64_t column = 0; column < columns; ++column, pixel += frame.channels) {
    const auto [far_y, far_x] = projection(row, column);
    const bool is_somewhere = std::isfinite(far_y) && std::isfinite(far_x);
    const float y = is_somewhere ? mapped(far_y, height, how.outside) : -1;
    const float x = is_somewhere ? mapped(far_x, width, how.outside) : -1;
    // Between the outermost pixels and those beside them the filling counts in part.
    if (!(y > -1 && y < height && x > -1 && x < width)) {
      source.fill(pixel);
    } else if (how.is_bilinear) {
      source.bilinear(y, x, pixel);
    } else {
      source.nearest(y, x, pixel);
    }
  }
}

// --- the ops ---

using MakeFilling = Result<Tensor> (*)(float value);

template <class T>
Result<Tensor> filling_of(float value) {
  if constexpr (std::is_integral_v<T>) {
    const bool fits = value >= static_cast<float>(std::numeric_limits<T>::min()) &&
                      value <= static_cast<float>(std::numeric_limits<T>::max());
    if (!fits) return invalid("fill_value ", value, " is no ", dtype_name(dtype_of<T>));
  }
  return Tensor::scalar<T>(from_float<T>(value));
}

struct ProjectLoops {
  ProjectRow row;
  MakeFilling filling;
};

using Projected = cpu::Types<uint8_t, int32_t, int64_t, Half, BFloat16, float, double>;

struct BoundProjectLoops {
  Result<ProjectLoops> read(const KernelSpec& spec) const {
    const DType type = spec.inputs[0].dtype;
    const ProjectLoops loops{
        cpu::pick<ProjectRow>(Projected(), type,
                              []<class T>() -> ProjectRow { return &project_row<T>; }),
        cpu::pick<MakeFilling>(Projected(), type,
                               []<class T>() -> MakeFilling { return &filling_of<T>; })};
    if (loops.row == nullptr) return cpu::no_loop(spec, type);
    return loops;
  }
};

Result<Tensor> project(KernelContext& context, const ProjectLoops& loops, const Projecting& how) {
  const Tensor &images = context.input(0), &transforms = context.input(1);
  const Shape& from = images.shape();
  if (from.rank() != 4) return invalid("Input images must have rank 4, not ", from.to_string());
  const bool fits = transforms.shape().rank() == 2 && transforms.shape().dim(1) == 8 &&
                    (transforms.shape().dim(0) == from.dim(0) || transforms.shape().dim(0) == 1);
  if (!fits) {
    return invalid("Input transform should be num_images x 8 or 1 x 8, not ",
                   transforms.shape().to_string(), " for ", from.dim(0), " images");
  }
  if (context.input(2).shape() != Shape{2}) {
    return invalid("output shape must be 1-dimensional of two elements, not ",
                   context.input(2).shape().to_string());
  }
  const auto size = context.input(2).flat<int32_t>();
  if (size[0] <= 0 || size[1] <= 0)
    return invalid("output dimensions must be positive, not ", size[0], ", ", size[1]);
  float value = 0;
  if (context.num_inputs() > 3) {
    if (!context.input(3).shape().is_scalar())
      return invalid("fill_value must be a scalar", context.input(3).shape().to_string());
    value = context.input(3).item<float>();
  }
  MR_ASSIGN(const Tensor filling, loops.filling(value));
  const int64_t rows = size[0], columns = size[1];
  MR_ASSIGN(const Shape shape, Shape::create(std::array{from.dim(0), rows, columns, from.dim(3)}));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (output.num_elements() == 0) return output;  // no image: sizes may be any
  const Frame frame{from.dim(1), from.dim(2), from.dim(3)};
  const auto element = static_cast<int64_t>(dtype_size(images.dtype()));
  const int64_t image_bytes = frame.rows * frame.columns * frame.channels * element;
  const char* const image = static_cast<const char*>(images.data());
  char* to = static_cast<char*>(output.mutable_data());
  const bool is_one = transforms.shape().dim(0) == 1;
  CancelProbe probe(context);
  for (int64_t b = 0; b < from.dim(0); ++b) {
    const Projection projection{transforms.flat<float>().data() + (is_one ? 0 : b * 8)};
    for (int64_t row = 0; row < rows; ++row, to += columns * frame.channels * element) {
      loops.row(image + b * image_bytes, frame, projection, how, filling.data(), row, columns, to);
      if (!probe.go_on(columns * (8 + frame.channels))) return probe.status();
    }
  }
  return output;
}

Status infer_projected(InferContext& context) {
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  MR_TRY(context.input_of_rank(1, 2));
  MR_TRY(context.input_of_rank(2, 1));
  if (context.num_inputs() > 3) MR_TRY(context.input_of_rank(3, 0));
  return infer_image_sizes(context, 2, "output_shape", images.dim(0), images.dim(3));
}

// What arrives, seen from where the images were: by the inverse of each projection. Near enough
// where pixels stay of a size; TensorFlow's own does no more.
Status grad_projected(GradContext& g) {
  if (!is_floating(g.dtype(g.input(0)))) return {};
  Attrs attrs;
  for (const char* name : {"interpolation", "fill_mode"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  const bool has_filling = g.num_inputs() > 3;
  const std::string op = g.attrs().op().name;
  const Endpoint transforms = g.input(1);
  const Endpoint number = g.add("Slice", {g.shape_node(transforms), g.vector({0}), g.vector({1})});
  const Endpoint one = g.add("ConcatV2", {number, g.vector({1}), g.scalar(DType::i32, 0)});
  const Endpoint ones = g.add("Fill", {one, g.scalar(DType::f32, 1)});
  const Endpoint nine = g.add("ConcatV2", {transforms, ones, g.scalar(DType::i32, 1)});
  const Endpoint inverse = g.add("MatrixInverse", {g.add("Reshape", {nine, g.vector({-1, 3, 3})})});
  const Endpoint flat = g.add("Reshape", {inverse, g.vector({-1, 9})});
  const Endpoint last = g.add("Slice", {flat, g.vector({0, 8}), g.vector({-1, 1})});
  const Endpoint back =
      g.add("Slice", {g.add("RealDiv", {flat, last}), g.vector({0, 0}), g.vector({-1, 8})});
  const Endpoint size = g.add("Slice", {g.shape_node(g.input(0)), g.vector({1}), g.vector({2})});
  std::vector<Endpoint> inputs = {g.grad(), back, size};
  if (has_filling) inputs.push_back(g.scalar(DType::f32, 0));
  g.set_input_grad(0, g.add(op, inputs, std::move(attrs)));
  return {};
}

}  // namespace

Status register_projections(OpRegistry& ops) {
  const std::string doc =
      "Images seen by a projection, which says where each new pixel was before: of eight numbers "
      "a, at ((a0 x + a1 y + a2) / k, (a3 x + a4 y + a5) / k) with k = a6 x + a7 y + 1";
  const std::string moved =
      "[[[[1] [2] [3]] [[4] [5] [6]]]], [[1 0 1 0 1 0 0 0]], [2 3]";  // one to the left
  for (const bool has_filling : {false, true}) {
    const std::string of = moved + (has_filling ? ", 7 -> " : " -> ");
    const std::string rest = has_filling ? "7" : "0";
    MR_TRY(ops.add({
        .name = has_filling ? "ImageProjectiveTransformV3" : "ImageProjectiveTransformV2",
        .doc = doc + (has_filling ? "; outside is fill_value." : "."),
        .signature = std::string("images: dtype, transforms: float, output_shape: int32") +
                     (has_filling ? ", fill_value: float" : "") +
                     " -> transformed_images: dtype | dtype: {uint8, int32, int64, half, "
                     "bfloat16, float, double}, interpolation: string, "
                     "fill_mode: string = 'CONSTANT'",
        .infer = infer_projected,
        .cpu = kernel_with(project, BoundProjectLoops(), BoundProjecting()),
        .grad = grad_projected,
        .examples = {str_cat(of, "[[[[2] [3] [", rest, "]] [[5] [6] [", rest,
                             "]]]] | interpolation = 'NEAREST'"),
                     of + "[[[[2] [3] [3]] [[5] [6] [6]]]] | interpolation = 'BILINEAR', "
                          "fill_mode = 'REFLECT'",
                     of + "[[[[2] [3] [1]] [[5] [6] [4]]]] | interpolation = 'NEAREST', "
                          "fill_mode = 'WRAP'",
                     of + "[[[[2] [3] [3]] [[5] [6] [6]]]] | interpolation = 'NEAREST', "
                          "fill_mode = 'NEAREST'"},
    }));
  }
  return {};
}

}  // namespace millrace
