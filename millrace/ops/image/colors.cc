// Part of families.h: register_colors.
#include <algorithm>
#include <cmath>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

template <class F>
struct Pixel {
  F a, b, c;
};

// Hue, saturation, value of red, green, blue; and back.
template <class F>
Pixel<F> hsv_of(Pixel<F> rgb) {
  const F value = std::max({rgb.a, rgb.b, rgb.c});
  const F range = value - std::min({rgb.a, rgb.b, rgb.c});
  const F saturation = value > 0 ? range / value : F(0);
  if (!(range > 0)) return {F(0), saturation, value};
  const F sixth = F(1) / (F(6) * range);
  F hue = rgb.a == value   ? sixth * (rgb.b - rgb.c)
          : rgb.b == value ? sixth * (rgb.c - rgb.a) + F(2) / F(6)
                           : sixth * (rgb.a - rgb.b) + F(4) / F(6);
  if (hue < 0) hue += F(1);
  return {hue, saturation, value};
}

template <class F>
Pixel<F> rgb_of(Pixel<F> hsv) {
  const F six = hsv.a * F(6);
  const auto part = [&](F x) { return (F(1) - hsv.b + hsv.b * std::clamp(x, F(0), F(1))) * hsv.c; };
  return {part(std::abs(six - F(3)) - F(1)), part(F(2) - std::abs(six - F(2))),
          part(F(2) - std::abs(six - F(4)))};
}

using ColorLoop = void (*)(const void* from, void* to, int64_t pixels, float amount);

// to[i] = change(from[i], amount), pixel by pixel.
template <class T, class Change>
void each_pixel(const void* from, void* to, int64_t pixels, float amount, Change change) {
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < pixels; ++i, in += 3, out += 3) {
    const Pixel<F> made = change(
        Pixel<F>{static_cast<F>(in[0]), static_cast<F>(in[1]), static_cast<F>(in[2])}, F(amount));
    out[0] = static_cast<T>(made.a);
    out[1] = static_cast<T>(made.b);
    out[2] = static_cast<T>(made.c);
  }
}

template <class T>
void to_hsv(const void* from, void* to, int64_t pixels, float) {
  each_pixel<T>(from, to, pixels, 0, [](auto rgb, auto) { return hsv_of(rgb); });
}
template <class T>
void to_rgb(const void* from, void* to, int64_t pixels, float) {
  each_pixel<T>(from, to, pixels, 0, [](auto hsv, auto) { return rgb_of(hsv); });
}
template <class T>
void turn_hue(const void* from, void* to, int64_t pixels, float delta) {
  each_pixel<T>(from, to, pixels, delta, [](auto rgb, auto by) {
    auto hsv = hsv_of(rgb);
    hsv.a += by;
    hsv.a -= std::floor(hsv.a);
    return rgb_of(hsv);
  });
}
template <class T>
void scale_saturation(const void* from, void* to, int64_t pixels, float scale) {
  each_pixel<T>(from, to, pixels, scale, [](auto rgb, auto by) {
    auto hsv = hsv_of(rgb);
    hsv.b = std::clamp(hsv.b * by, decltype(hsv.b)(0), decltype(hsv.b)(1));
    return rgb_of(hsv);
  });
}

Status check_colors(const Shape& shape, int least_rank) {
  if (shape.rank() < least_rank)
    return invalid("input must be at least ", least_rank, "-D, got shape", shape.to_string());
  if (shape.dim(shape.rank() - 1) == 3) return {};
  return invalid("input must have 3 channels but instead has ", shape.dim(shape.rank() - 1),
                 " channels.");
}

Result<Tensor> recolored(KernelContext& context, int least_rank, float amount, ColorLoop loop) {
  const Tensor& images = context.input(0);
  MR_TRY(check_colors(images.shape(), least_rank));
  MR_ASSIGN(Tensor output, context.allocate(0, images.shape()));
  const auto* from = static_cast<const char*>(images.data());
  char* const to = static_cast<char*>(output.mutable_data());
  const auto pixel = static_cast<int64_t>(3 * dtype_size(images.dtype()));
  CancelProbe probe(context);
  MR_TRY(probe.in_pieces(images.num_elements() / 3, [&](int64_t begin, int64_t count) {
    loop(from + begin * pixel, to + begin * pixel, count, amount);
  }));
  return output;
}

Result<Tensor> converted(KernelContext& context, ColorLoop loop) {
  return recolored(context, 1, 0, loop);
}

Result<float> scalar_amount(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be scalar: ", tensor.shape().to_string());
  return tensor.item<float>();
}

Result<Tensor> adjusted(KernelContext& context, ColorLoop loop) {
  MR_ASSIGN(const float amount,
            scalar_amount(context.input(1), context.node_name().empty() ? "amount" : "scale"));
  return recolored(context, 3, amount, loop);
}

// --- AdjustContrastv2 ---

using ContrastLoop = void (*)(const void* from, void* to, int64_t pixels, int64_t channels,
                              float factor, std::vector<double>& means);

template <class T>
void scale_contrast(const void* from, void* to, int64_t pixels, int64_t channels, float factor,
                    std::vector<double>& means) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  std::fill(means.begin(), means.end(), 0.0);
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c)
      means[static_cast<size_t>(c)] += static_cast<float>(in[i * channels + c]);
  }
  for (double& mean : means) mean /= static_cast<double>(pixels);
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto mean = static_cast<float>(means[static_cast<size_t>(c)]);
      out[i * channels + c] =
          static_cast<T>((static_cast<float>(in[i * channels + c]) - mean) * factor + mean);
    }
  }
}

Result<Tensor> contrasted(KernelContext& context, ContrastLoop loop) {
  const Tensor& images = context.input(0);
  const Shape& shape = images.shape();
  if (shape.rank() < 3) return invalid("input must be at least 3-D, got shape", shape.to_string());
  MR_ASSIGN(const float factor, scalar_amount(context.input(1), "contrast_factor"));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (images.num_elements() == 0) return output;
  const int64_t channels = shape.dim(shape.rank() - 1);
  const int64_t pixels = shape.dim(shape.rank() - 2) * shape.dim(shape.rank() - 3);
  const int64_t size = pixels * channels * static_cast<int64_t>(dtype_size(images.dtype()));
  const auto* from = static_cast<const char*>(images.data());
  char* to = static_cast<char*>(output.mutable_data());
  std::vector<double> means(static_cast<size_t>(channels));
  CancelProbe probe(context);
  for (int64_t i = 0; i < images.num_elements() / (pixels * channels); ++i) {
    loop(from + i * size, to + i * size, pixels, channels, factor, means);
    if (!probe.go_on(pixels * channels)) return probe.status();
  }
  return output;
}

// How hue, saturation and value move with red, green and blue. Of equal ones the first counts as
// the largest and the last as the least, as in TensorFlow; where all are equal the hue stands
// still.
Status grad_hsv(GradContext& g) {
  const Endpoint rgb = g.input(0), last = g.scalar(DType::i32, -1);
  const DType dtype = g.dtype(rgb);
  const Endpoint one = g.scalar(dtype, 1), zero = g.scalar(dtype, 0);
  const Endpoint two = g.scalar(DType::i32, 2), three = g.scalar(DType::i32, 3);
  const auto marked = [&](Endpoint place) { return g.add("OneHot", {place, three, one, zero}); };
  const auto behind = [&](Endpoint place, Endpoint steps) {
    return g.add("FloorMod", {g.add("AddV2", {place, steps}), three});
  };
  const auto along = [&](const char* op, Endpoint of) {
    return g.add(op, {of, last}, {{"keep_dims", true}});
  };
  const auto times = [&](Endpoint a, Endpoint b) { return g.add("Mul", {a, b}); };
  const auto over = [&](Endpoint a, Endpoint b) { return g.add("DivNoNan", {a, b}); };
  const auto minus = [&](Endpoint a, Endpoint b) { return g.add("Sub", {a, b}); };
  const Attrs small = {{"output_type", DType::i32}};
  const Endpoint largest = g.add("ArgMax", {rgb, last}, small);
  const Endpoint turned = g.add("ReverseV2", {rgb, g.vector({-1})});
  const Endpoint least = minus(two, g.add("ArgMin", {turned, last}, small));
  const Endpoint to_largest = marked(largest), to_least = marked(least);
  const Endpoint value = along("Max", rgb), low = along("Min", rgb), range = minus(value, low);
  const Endpoint to_saturation =
      minus(times(to_largest, over(low, times(value, value))), over(to_least, value));
  // The hue is a sixth of (next - the one behind it) / range, and of a whole number.
  const Endpoint sides =
      minus(marked(behind(largest, g.scalar(DType::i32, 1))), marked(behind(largest, two)));
  const Endpoint slope = over(along("Sum", times(rgb, sides)), times(range, range));
  const Endpoint sixths = minus(over(sides, range), times(minus(to_largest, to_least), slope));
  const Endpoint to_hue = times(sixths, g.scalar(dtype, 1.0 / 6));
  const Endpoint arriving = g.add("Split", {last, g.grad()}, {{"num_split", 3}});
  const Endpoint by_hue = times(arriving, to_hue);
  const Endpoint by_saturation = times(Endpoint{arriving.node, 1}, to_saturation);
  const Endpoint by_value = times(Endpoint{arriving.node, 2}, to_largest);
  g.set_input_grad(0, g.add("AddV2", {g.add("AddV2", {by_hue, by_saturation}), by_value}));
  return {};
}

Status add_color(OpRegistry& ops, std::string name, std::string doc, const std::string& input,
                 const std::string& types, KernelFactory cpu, std::string example,
                 GradFn grad = nullptr) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "images: T" + input + " -> output: T | T: {" + types + "} = float",
      .infer = infer::same_as_input,
      .cpu = std::move(cpu),
      .grad = grad,
      .not_differentiable = grad == nullptr ? "TensorFlow gives it none" : "",
      .examples = {std::move(example)},
  });
}

template <class Loops>
auto any_float(Loops loops) {
  return cpu::loop_of_input<cpu::Floating>(loops);
}

}  // namespace

Status register_colors(OpRegistry& ops) {
  const std::string all = "half, bfloat16, float, double", adjusts = "half, float";
  MR_TRY(add_color(ops, "RGBToHSV", "Red, green, blue in [0, 1] as hue, saturation, value.", "",
                   all, kernel_with(converted, any_float([]<class T>() { return &to_hsv<T>; })),
                   "[[1 0.5 0.25] [0.25 0.5 0.125] [0.25 0.5 1]] -> [[0.055555556 0.75 1] "
                   "[0.27777778 0.75 0.5] [0.61111111 0.75 1]]",
                   grad_hsv));
  MR_TRY(add_color(ops, "HSVToRGB", "Hue, saturation, value in [0, 1] as red, green, blue.", "",
                   all, kernel_with(converted, any_float([]<class T>() { return &to_rgb<T>; })),
                   "[[0 0.5 1] [0 0 0.25] [0.5 1 1]] -> [[1 0.5 0.5] [0.25 0.25 0.25] [0 1 1]]"));
  MR_TRY(add_color(ops, "AdjustHue", "Images with all hues turned by delta, 1 being once around.",
                   ", delta: float", adjusts,
                   kernel_with(adjusted, any_float([]<class T>() { return &turn_hue<T>; })),
                   "[[[1 0 0] [0.5 0.5 0.5]]], 0.5 -> [[[0 1 1] [0.5 0.5 0.5]]]"));
  MR_TRY(add_color(ops, "AdjustSaturation", "Images with all saturations times scale, up to 1.",
                   ", scale: float", adjusts,
                   kernel_with(adjusted, any_float([]<class T>() { return &scale_saturation<T>; })),
                   "[[[1 0.5 0.5]]], 0 -> [[[1 1 1]]]"));
  return add_color(ops, "AdjustContrastv2",
                   "Images whose channels lie contrast_factor times as far from their mean.",
                   ", contrast_factor: float", adjusts,
                   kernel_with(contrasted, any_float([]<class T>() { return &scale_contrast<T>; })),
                   "[[[1 2] [3 6]]], 2 -> [[[0 0] [4 8]]]");
}

}  // namespace millrace
