#include "millrace/ops/nn/convolution.h"

#include <algorithm>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/share_work.h"

namespace millrace {
namespace {

using onednn::Direction;

// y += a * x, n elements.
template <class T>
void add_scaled(T* y, T a, const T* x, int64_t n) {
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = cpu::add(y[i], cpu::multiply(a, x[i]));
}

// y += a * x, element by element: a window that keeps channels apart.
template <class T>
void add_products(T* y, const T* a, const T* x, int64_t n) {
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = cpu::add(y[i], cpu::multiply(a[i], x[i]));
}

// The element of a filter in plane `kz`, row `ky`, column `kx`.
struct Tap {
  int64_t kz, ky, kx, index;
};

Tap tap_at(const ConvolutionShape& shape, int64_t index) {
  const int64_t width = shape.slides.x.window, height = shape.slides.y.window;
  return {index / width / height, index / width % height, index % width, index};
}

int64_t taps_of(const ConvolutionShape& shape) {
  return shape.slides.z.window * shape.slides.y.window * shape.slides.x.window;
}

template <class Visit>
void each_tap(const ConvolutionShape& shape, Visit visit) {
  const int64_t taps = taps_of(shape);
  for (int64_t index = 0; index < taps; ++index) visit(tap_at(shape, index));
}

// visit(pixel of the image, pixel of the output) for those of row `row` of outputs that a tap
// joins.
template <class Visit>
void each_pair(const ConvolutionShape& shape, int64_t row, Tap tap, Visit visit) {
  const auto& [y, x, z] = shape.slides;
  const int64_t iz = z.place(row / y.out, tap.kz), iy = y.place(row % y.out, tap.ky);
  if (iz < 0 || iz >= z.in || iy < 0 || iy >= y.in) return;
  const int64_t image_row = iz * y.in + iy;
  const auto [first, last] = x.reaching(tap.kx);
  for (int64_t ox = first; ox < last; ++ox)
    visit(image_row * x.in + x.place(ox, tap.kx), row * x.out + ox);
}

// One row of outputs, which begins as zeros.
template <class T>
void output_row(const ConvolutionShape& shape, const T* image, const T* filter, T* output,
                int64_t oy) {
  const int64_t channels = shape.group_channels(), outputs = shape.group_outputs();
  each_tap(shape, [&](Tap tap) {
    const T* weights = filter + tap.index * channels * shape.outputs;
    each_pair(shape, oy, tap, [&](int64_t from, int64_t to) {
      if (shape.keeps_channels_apart()) {
        add_products(output + to * shape.outputs, image + from * shape.channels, weights,
                     shape.channels);
        return;
      }
      for (int64_t c = 0; c < shape.channels; ++c) {
        const int64_t group = c / channels * outputs;
        add_scaled(output + to * shape.outputs + group, image[from * shape.channels + c],
                   weights + (c % channels) * shape.outputs + group, outputs);
      }
    });
  });
}

// What one row of outputs gives back to its image. `turned` is the filter with its last two axes
// swapped, so that the channels of the image are beside each other.
template <class T>
void give_back_row(const ConvolutionShape& shape, T* image, const T* turned, const T* output,
                   int64_t oy) {
  const int64_t channels = shape.group_channels(), outputs = shape.group_outputs();
  each_tap(shape, [&](Tap tap) {
    const T* weights = turned + tap.index * channels * shape.outputs;
    each_pair(shape, oy, tap, [&](int64_t to, int64_t from) {
      if (shape.keeps_channels_apart()) {
        add_products(image + to * shape.channels, output + from * shape.outputs, weights,
                     shape.channels);
        return;
      }
      for (int64_t o = 0; o < shape.outputs; ++o) {
        add_scaled(image + to * shape.channels + o / outputs * channels,
                   output[from * shape.outputs + o], weights + o * channels, channels);
      }
    });
  });
}

// What one row of outputs says of the weights of a tap from channels [begin, end) of each group.
template <class T>
void add_weights(const ConvolutionShape& shape, const T* image, T* weights, const T* output,
                 int64_t oy, Tap tap, int64_t begin, int64_t end) {
  const int64_t channels = shape.group_channels(), outputs = shape.group_outputs();
  each_pair(shape, oy, tap, [&](int64_t from, int64_t to) {
    if (shape.keeps_channels_apart()) {
      add_products(weights, image + from * shape.channels, output + to * shape.outputs,
                   shape.channels);
      return;
    }
    for (int64_t group = 0; group < shape.groups; ++group) {
      for (int64_t c = begin; c < end; ++c) {
        add_scaled(weights + c * shape.outputs + group * outputs,
                   image[from * shape.channels + group * channels + c],
                   output + to * shape.outputs + group * outputs, outputs);
      }
    }
  });
}

int64_t as_cost(double work) { return static_cast<int64_t>(std::min(work, 1e15)) + 1; }

template <class T>
struct Loops {
  KernelContext& context;
  const ConvolutionShape& shape;
  const ConvolutionTensors& tensors;
  const AfterPixels* after;
  T* images = static_cast<T*>(tensors.images.mutable_data());
  T* filter = static_cast<T*>(tensors.filter.mutable_data());
  T* outputs = static_cast<T*>(tensors.outputs.mutable_data());

  // As much work as a row of outputs is.
  int64_t row_cost() const {
    return as_cost(shape.work() / static_cast<double>(shape.slides.rows_out()));
  }

  Status forward() {
    const int64_t rows = shape.slides.rows_out(), size = shape.slides.x.out * shape.outputs;
    return share_range(context, shape.batch * rows, row_cost(),
                       [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                         for (int64_t row = begin; row < end; ++row) {
                           T* const image_outputs = outputs + row / rows * shape.output_elements();
                           std::fill_n(image_outputs + row % rows * size, size, T(0));
                           output_row(shape, images + row / rows * shape.image_elements(), filter,
                                      image_outputs, row % rows);
                           if (after != nullptr)
                             (*after)(row * shape.slides.x.out, shape.slides.x.out);
                           if (!probe.go_on(row_cost())) return probe.status();
                         }
                         return {};
                       });
  }

  Status by_images() {
    const int64_t channels = shape.group_channels();
    MR_ASSIGN(Tensor kept, Tensor::allocate(tensors.filter.dtype(), tensors.filter.shape()));
    T* const turned = static_cast<T*>(kept.mutable_data());
    each_tap(shape, [&](Tap tap) {
      const int64_t at = tap.index * channels * shape.outputs;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t o = 0; o < shape.outputs; ++o)
          turned[at + o * channels + c] = filter[at + c * shape.outputs + o];
      }
    });
    return share_range(context, shape.batch, as_cost(shape.work()),
                       [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                         for (int64_t n = begin; n < end; ++n) {
                           T* const image = images + n * shape.image_elements();
                           std::fill_n(image, shape.image_elements(), T(0));
                           for (int64_t row = 0; row < shape.slides.rows_out(); ++row) {
                             give_back_row(shape, image, turned,
                                           outputs + n * shape.output_elements(), row);
                             if (!probe.go_on(row_cost())) return probe.status();
                           }
                         }
                         return {};
                       });
  }

  // Each tap and channel is summed by one thread, over all images in order.
  Status by_filter() {
    const int64_t channels = shape.group_channels(), taps = taps_of(shape);
    const int64_t rows = shape.slides.rows_out();
    const double work = shape.work() * static_cast<double>(shape.batch);
    std::fill_n(filter, taps * channels * shape.outputs, T(0));
    return share_range(
        context, taps * channels, as_cost(work / static_cast<double>(taps * channels)),
        [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
          while (begin < end) {
            const int64_t index = begin / channels, first = begin % channels;
            const int64_t last = std::min(channels, first + end - begin);
            const Tap tap = tap_at(shape, index);
            T* const weights = filter + index * channels * shape.outputs;
            for (int64_t row = 0; row < shape.batch * rows; ++row) {
              const int64_t n = row / rows;
              add_weights(shape, images + n * shape.image_elements(), weights,
                          outputs + n * shape.output_elements(), row % rows, tap, first, last);
              if (!probe.go_on(shape.slides.x.out * shape.outputs)) return probe.status();
            }
            begin += last - first;
          }
          return {};
        });
  }

  Status run(Direction direction) {
    switch (direction) {
      case Direction::forward:
        return forward();
      case Direction::by_images:
        return by_images();
      case Direction::by_filter:
        return by_filter();
    }
    return {};
  }
};

Tensor& written(Direction direction, ConvolutionTensors& tensors) {
  if (direction == Direction::forward) return tensors.outputs;
  return direction == Direction::by_images ? tensors.images : tensors.filter;
}

// --- oneDNN ---

// Below this a call costs more than it saves.
constexpr double kWorthACall = 1 << 15;

onednn::ConvolutionSpec spec_of(const ConvolutionShape& shape, Direction direction, int64_t batch) {
  const auto side = [](const Slide& slide) {
    return onednn::ConvolutionSide{slide.in,     slide.out,      slide.window,
                                   slide.stride, slide.dilation, slide.before};
  };
  return {.direction = direction,
          .batch = batch,
          .channels = shape.channels,
          .outputs = shape.outputs,
          .groups = shape.groups,
          .y = side(shape.slides.y),
          .x = side(shape.slides.x),
          .z = side(shape.slides.z)};
}

// How many images make a piece: all pieces are of one shape.
int64_t images_of_piece(const ConvolutionShape& shape, int64_t pieces) {
  int64_t images = std::max<int64_t>(1, shape.batch / pieces);
  while (shape.batch % images != 0) --images;
  return images;
}

// Calls one convolution for each piece of the images.
Status run_pieces(KernelContext& context, const ConvolutionShape& shape,
                  const onednn::Convolution& one, const ConvolutionTensors& tensors, int64_t images,
                  float* packed, int64_t packed_step, const AfterPixels* after) {
  float* const x = tensors.images.mutable_flat<float>().data();
  float* const y = tensors.outputs.mutable_flat<float>().data();
  const double work = shape.work() * static_cast<double>(images);
  const int64_t pixels = images * shape.slides.pixels_out();
  return share_range(context, shape.batch / images, as_cost(work / 8),
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       MR_ASSIGN(const auto caller, one.caller());
                       for (int64_t piece = begin; piece < end; ++piece) {
                         MR_TRY(caller->run(x + piece * images * shape.image_elements(),
                                            packed + piece * packed_step,
                                            y + piece * images * shape.output_elements()));
                         if (after != nullptr) (*after)(piece * pixels, pixels);
                         if (!probe.go_on(as_cost(work / 8))) return probe.status();
                       }
                       return {};
                     });
}

// `pieces` of the images, all of one size. The gradients of filters of each are summed in order.
Status run_onednn(KernelContext& context, const ConvolutionShape& shape, Direction direction,
                  const onednn::Convolution& one, int64_t pieces, ConvolutionTensors& tensors,
                  const AfterPixels* after) {
  const int64_t images = shape.batch / pieces;
  float* const filter = tensors.filter.mutable_flat<float>().data();
  const bool sums = direction == Direction::by_filter;
  const int64_t packed_size = one.packed_filter_elements();
  MR_ASSIGN(Tensor kept, Tensor::allocate(DType::f32, {packed_size * (sums ? pieces : 1)}));
  float* const packed = kept.mutable_flat<float>().data();
  if (!sums) MR_TRY(one.pack_filter(filter, packed));
  MR_TRY(run_pieces(context, shape, one, tensors, images, packed, sums ? packed_size : 0, after));
  if (!sums) return {};
  for (int64_t piece = 1; piece < pieces; ++piece) {
    const float* more = packed + piece * packed_size;
    MR_INDEPENDENT
    for (int64_t i = 0; i < packed_size; ++i) packed[i] += more[i];
  }
  return one.unpack_filter(packed, filter);
}

// A piece of a single image: some rows of outputs, and the rows of the image that they reach.
struct Slab {
  onednn::ConvolutionSpec spec;
  int64_t image_row, output_row;
};

Slab slab_of(const onednn::ConvolutionSpec& whole, int64_t begin, int64_t end) {
  Slab made{whole, 0, begin};
  onednn::ConvolutionSide& y = made.spec.y;
  const int64_t reach = (y.window - 1) * y.dilation + 1;
  const int64_t first = begin * y.stride - y.before, last = (end - 1) * y.stride - y.before + reach;
  made.image_row = std::clamp<int64_t>(first, 0, y.in - 1);
  y.in = std::max<int64_t>(1, std::min(last, whole.y.in) - made.image_row);
  y.before = std::max<int64_t>(0, made.image_row - first);
  y.out = end - begin;
  return made;
}

// A single image forward, in slabs. The filter is packed by each, because oneDNN may want another
// order for another height.
Status run_slabs(KernelContext& context, const onednn::ConvolutionSpec& whole,
                 onednn::Convolutions& made, int64_t pieces, const ConvolutionTensors& tensors,
                 const AfterPixels* after) {
  const int64_t each = (whole.y.out + pieces - 1) / pieces;
  pieces = (whole.y.out + each - 1) / each;
  float* const x = tensors.images.mutable_flat<float>().data();
  float* const y = tensors.outputs.mutable_flat<float>().data();
  return share_work(context, pieces, [&](int64_t piece, CancelProbe&) -> Status {
    const Slab slab = slab_of(whole, piece * each, std::min(whole.y.out, (piece + 1) * each));
    MR_ASSIGN(const auto one, made.get(slab.spec));
    MR_ASSIGN(Tensor packed, Tensor::allocate(DType::f32, {one->packed_filter_elements()}));
    float* const filter = packed.mutable_flat<float>().data();
    MR_TRY(one->pack_filter(tensors.filter.flat<float>().data(), filter));
    MR_ASSIGN(const auto caller, one->caller());
    MR_TRY(caller->run(x + slab.image_row * whole.x.in * whole.channels, filter,
                       y + slab.output_row * whole.x.out * whole.outputs));
    if (after != nullptr) (*after)(slab.output_row * whole.x.out, slab.spec.y.out * whole.x.out);
    return {};
  });
}

// A filter that is large beside the work of an image is not kept once more for every piece.
int64_t most_pieces(const ConvolutionShape& shape, Direction direction) {
  const int64_t pieces = pieces_of_range(shape.batch, as_cost(shape.work() / 8));
  return direction == Direction::by_filter ? std::min<int64_t>(pieces, 4) : pieces;
}

// Into how many slabs a single image is cut; 1 for none.
int64_t slabs_of(const ConvolutionShape& shape, Direction direction) {
  const Slide& z = shape.slides.z;
  const bool is_flat = z.in == 1 && z.out == 1 && z.window == 1;
  if (shape.batch != 1 || !is_flat || direction != Direction::forward) return 1;
  constexpr double kSlabs = 4, kWorth = 1 << 22;
  if (shape.work() < kSlabs * kWorth || shape.slides.y.out < 4 * kSlabs) return 1;
  // Not where whole slabs could lie outside of the image.
  const Slide& y = shape.slides.y;
  if (y.place(0, y.window - 1) < 0 || y.place(y.out - 1, 0) >= y.in) return 1;
  return static_cast<int64_t>(kSlabs);
}

Status run_any(KernelContext& context, const ConvolutionShape& shape, Direction direction,
               onednn::Convolutions& made, ConvolutionTensors& tensors, const AfterPixels* after) {
  Tensor& result = written(direction, tensors);
  if (result.num_elements() == 0) return {};
  if (tensors.images.num_elements() == 0 || tensors.outputs.num_elements() == 0) {
    std::fill_n(static_cast<char*>(result.mutable_data()), result.num_bytes(), 0);
    if (after != nullptr) (*after)(0, result.num_elements() / shape.outputs);
    return {};
  }
  switch (result.dtype()) {
    case DType::f32:
      break;
    case DType::f64:
      return Loops<double>{context, shape, tensors, after}.run(direction);
    case DType::i32:
      return Loops<int32_t>{context, shape, tensors, after}.run(direction);
    default:
      return unimplemented("convolutions of ", dtype_name(result.dtype()));
  }
  if (shape.work() * static_cast<double>(shape.batch) >= kWorthACall) {
    if (const int64_t slabs = slabs_of(shape, direction); slabs > 1) {
      Status status = run_slabs(context, spec_of(shape, direction, 1), made, slabs, tensors, after);
      if (status.code() != Code::unimplemented) return status;
    }
    const int64_t images = images_of_piece(shape, most_pieces(shape, direction));
    const auto one = made.get(spec_of(shape, direction, images));
    if (one.ok())
      return run_onednn(context, shape, direction, **one, shape.batch / images, tensors, after);
    if (one.status().code() != Code::unimplemented) return one.status();
  }
  return Loops<float>{context, shape, tensors, after}.run(direction);
}

}  // namespace

Status Convolver::run(KernelContext& context, const ConvolutionShape& shape,
                      ConvolutionTensors tensors) {
  return run_any(context, shape, direction_, made_, tensors, nullptr);
}

Status Convolver::run(KernelContext& context, const ConvolutionShape& shape,
                      ConvolutionTensors tensors, AfterPixels after) {
  return run_any(context, shape, direction_, made_, tensors, &after);
}

}  // namespace millrace
