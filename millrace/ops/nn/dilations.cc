// Part of families.h: register_dilations.
#include <algorithm>
#include <optional>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"
#include "millrace/ops/nn/largest.h"

namespace millrace {
namespace {

// Images whose windows are raised by a filter before their largest element is taken.
struct DilationShape {
  int64_t batch = 0, channels = 0;
  Slides slides;

  int64_t image_elements() const { return slides.y.in * slides.x.in * channels; }
  int64_t output_elements() const { return slides.y.out * slides.x.out * channels; }
  // Elements that are looked at for one channel of one image.
  int64_t cost() const {
    const double cost = static_cast<double>(slides.y.out) * static_cast<double>(slides.x.out) *
                        static_cast<double>(slides.y.window) * static_cast<double>(slides.x.window);
    return static_cast<int64_t>(std::min(cost, 1e12)) + 1;
  }
};

Result<DilationShape> dilation_of(const Windows& windows, const Shape& images,
                                  const Shape& filter) {
  if (images.rank() != 4) return invalid("input must be 4-dimensional: ", images.to_string());
  if (filter.rank() != 3) return invalid("filter must be 3-dimensional: ", filter.to_string());
  DilationShape made{.batch = images.dim(0), .channels = images.dim(3)};
  if (filter.dim(2) != made.channels) {
    return invalid("input and filter must have the same depth: ", made.channels, " vs ",
                   filter.dim(2));
  }
  MR_ASSIGN(made.slides.y, windows.slide(0, images.dim(1), filter.dim(0)));
  MR_ASSIGN(made.slides.x, windows.slide(1, images.dim(2), filter.dim(1)));
  return made;
}

Result<Shape> dilated_shape(const DilationShape& shape) {
  return Shape::create(
      std::array{shape.batch, shape.slides.y.out, shape.slides.x.out, shape.channels});
}

// The largest of a window: its value, and which elements of the image and of the filter made it.
template <class T>
struct Raised {
  T value;
  int64_t pixel, tap;
};

template <class T>
std::optional<Raised<T>> largest_raised(const DilationShape& shape, const T* image, const T* filter,
                                        int64_t oy, int64_t ox, int64_t c) {
  using M = cpu::Math<T>;
  const auto& y = shape.slides.y;
  const auto& x = shape.slides.x;
  std::optional<Raised<T>> best;
  for (int64_t ky = 0; ky < y.window; ++ky) {
    const int64_t iy = y.place(oy, ky);
    if (iy < 0 || iy >= y.in) continue;
    for (int64_t kx = 0; kx < x.window; ++kx) {
      const int64_t ix = x.place(ox, kx);
      if (ix < 0 || ix >= x.in) continue;
      const int64_t pixel = iy * x.in + ix, tap = ky * x.window + kx;
      T value = image[pixel * shape.channels + c];
      add_to(value, filter[tap * shape.channels + c]);
      if (!best || static_cast<M>(value) > static_cast<M>(best->value)) best = {value, pixel, tap};
    }
  }
  return best;
}

// Makes the result for some channels of some images. `moved` are the gradients that arrive; null
// for the forward op.
template <class T>
struct Part {
  const DilationShape& shape;
  const T *images, *filter, *moved;
  T* result;
};
enum class Makes : uint8_t { outputs, images, filter };

template <class T, Makes kMakes>
void make_channel(const Part<T>& part, int64_t n, int64_t c) {
  const DilationShape& shape = part.shape;
  const T* image = part.images + n * shape.image_elements();
  for (int64_t oy = 0; oy < shape.slides.y.out; ++oy) {
    for (int64_t ox = 0; ox < shape.slides.x.out; ++ox) {
      const auto best = largest_raised(shape, image, part.filter, oy, ox, c);
      const int64_t output =
          n * shape.output_elements() + (oy * shape.slides.x.out + ox) * shape.channels + c;
      if constexpr (kMakes == Makes::outputs) {
        part.result[output] = best ? best->value : T();
      } else if (best) {
        const int64_t at = kMakes == Makes::images
                               ? n * shape.image_elements() + best->pixel * shape.channels + c
                               : best->tap * shape.channels + c;
        add_to(part.result[at], part.moved[output]);
      }
    }
  }
}

using DilationLoop = Status (*)(KernelContext& context, const DilationShape& shape, Tensor& result);

// Channels are apart in all three, and a filter's is summed by one thread over all images.
template <class T, Makes kMakes>
Status dilate(KernelContext& context, const DilationShape& shape, Tensor& result) {
  const Part<T> part{shape, context.input(0).flat<T>().data(), context.input(1).flat<T>().data(),
                     kMakes == Makes::outputs ? nullptr : context.input(2).flat<T>().data(),
                     result.mutable_flat<T>().data()};
  const bool by_channel = kMakes == Makes::filter;
  const int64_t outer = by_channel ? shape.channels : shape.batch;
  const int64_t inner = by_channel ? shape.batch : shape.channels;
  const double cost = static_cast<double>(shape.cost()) * static_cast<double>(inner);
  return share_range(context, outer, static_cast<int64_t>(std::min(cost, 1e15)),
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t i = begin; i < end; ++i) {
                         for (int64_t j = 0; j < inner; ++j) {
                           make_channel<T, kMakes>(part, by_channel ? j : i, by_channel ? i : j);
                           if (!probe.go_on(shape.cost())) return probe.status();
                         }
                       }
                       return {};
                     });
}

Status run_dilation(KernelContext& context, DilationLoop loop, const Windows& windows,
                    Makes makes) {
  const Shape& images = context.input(0).shape();
  const Shape& filter = context.input(1).shape();
  MR_ASSIGN(const DilationShape shape, dilation_of(windows, images, filter));
  MR_ASSIGN(const Shape outputs, dilated_shape(shape));
  if (makes != Makes::outputs && context.input(2).shape() != outputs) {
    return invalid("out_backprop has incompatible size: its shape is ",
                   context.input(2).shape().to_string(), ", and ", outputs.to_string(),
                   " is needed");
  }
  const Shape& made = makes == Makes::outputs ? outputs : makes == Makes::images ? images : filter;
  MR_ASSIGN(Tensor result, Tensor::zeros(context.output_dtype(0), made));
  if (result.num_elements() > 0 && outputs.num_elements() > 0) MR_TRY(loop(context, shape, result));
  context.set_output(0, std::move(result));
  return {};
}

template <Makes kMakes>
KernelFactory dilation_kernel() {
  return kernel_with(
      [](KernelContext& context, DilationLoop loop, const Windows& windows) {
        return run_dilation(context, loop, windows, kMakes);
      },
      cpu::loop_of_input<cpu::Real>([]<class T>() { return &dilate<T, kMakes>; }), BoundWindows{});
}

Status infer_dilation(InferContext& context) {
  MR_ASSIGN(const Windows windows, Windows::of(context.attrs()));
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  MR_ASSIGN(const PartialShape filter, context.input_of_rank(1, 3));
  MR_ASSIGN(const PartialShape depth,
            PartialShape{images.dim(3)}.merge(PartialShape{filter.dim(2)}));
  MR_ASSIGN(const int64_t height, windows.number(0, images.dim(1), filter.dim(0)));
  MR_ASSIGN(const int64_t width, windows.number(1, images.dim(2), filter.dim(1)));
  return context.set_output(
      0, PartialShape::create(std::array{images.dim(0), height, width, depth.dim(0)}));
}

template <int kSlot>
Status infer_like_input(InferContext& context) {
  MR_TRY(Windows::of(context.attrs()));
  MR_ASSIGN(PartialShape shape, context.input_of_rank(kSlot, kSlot == 0 ? 4 : 3));
  context.set_output(0, std::move(shape));
  return {};
}

}  // namespace

Status register_dilations(OpRegistry& ops) {
  const std::string attrs =
      " | T: real, strides: list(int) >= 4, rates: list(int) >= 4, padding: {'SAME', 'VALID'}";
  const std::string windows = " | strides = {1, 1, 1, 1}, rates = {1, 1, 1, 1}, padding = 'VALID'";
  const std::string inputs = "[[[[1] [4] [2]] [[3] [0] [5]]]], [[[1] [0]] [[2] [7]]]";
  MR_TRY(ops.add({
      .name = "Dilation2D",
      .doc = "The largest of input + filter in each window: a dilation of grey images. filter is "
             "[height, width, channels].",
      .signature = "input: T, filter: T -> output: T" + attrs,
      .infer = infer_dilation,
      .cpu = dilation_kernel<Makes::outputs>(),
      .grad = grad::dilation,
      .cost = Cost::heavy,
      .examples = {inputs + " -> [[[[7] [12]]]]" + windows,
                   "[[[[1] [4] [2]]]], [[[1] [2]]] -> [[[[6] [4] [5]]]] | strides = {1, 1, 1, 1}, "
                   "rates = {1, 1, 2, 1}, padding = 'SAME'"},
  }));
  MR_TRY(ops.add({
      .name = "Dilation2DBackpropInput",
      .doc = "The gradient of Dilation2D by its input.",
      .signature = "input: T, filter: T, out_backprop: T -> in_backprop: T" + attrs,
      .infer = infer_like_input<0>,
      .cpu = dilation_kernel<Makes::images>(),
      .not_differentiable = "TensorFlow has no gradient of it",
      .cost = Cost::heavy,
      .examples = {inputs + ", [[[[1] [2]]]] -> [[[[0] [0] [0]] [[0] [1] [2]]]]" + windows},
  }));
  return ops.add({
      .name = "Dilation2DBackpropFilter",
      .doc = "The gradient of Dilation2D by its filter.",
      .signature = "input: T, filter: T, out_backprop: T -> filter_backprop: T" + attrs,
      .infer = infer_like_input<1>,
      .cpu = dilation_kernel<Makes::filter>(),
      .not_differentiable = "TensorFlow has no gradient of it",
      .cost = Cost::heavy,
      .examples = {inputs + ", [[[[1] [2]]]] -> [[[0] [0]] [[0] [3]]]" + windows},
  });
}

}  // namespace millrace
