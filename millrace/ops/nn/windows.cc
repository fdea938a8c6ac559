#include "millrace/ops/nn/windows.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

// An attribute that not every op has, with a value for each axis.
Result<std::vector<int64_t>> sizes_if_any(const AttrView& attrs, int axes, std::string_view name,
                                          std::string_view as_attribute) {
  if (attrs.find(name) == nullptr) return std::vector<int64_t>();
  MR_ASSIGN(std::vector<int64_t> values, attrs.integers(name));
  if (values.size() == static_cast<size_t>(axes)) return values;
  const AttrDef* const known = attrs.op().find_attr(name);
  const bool may_be_empty = known != nullptr && known->default_value == *attrs.find(name);
  if (values.empty() && may_be_empty) return values;
  return invalid(attrs.op().name, " requires the ", as_attribute, " attribute to contain ", axes,
                 " values, but got: ", values.size(), "; sliding window ", name,
                 " field must specify ", axes, " dimensions");
}

Result<Padding> padding_of(const AttrView& attrs) {
  MR_ASSIGN(const std::string text, attrs.string("padding"));
  if (text == "SAME") return Padding::same;
  if (text == "VALID") return Padding::valid;
  if (text == "EXPLICIT") return Padding::given;
  return invalid("padding is '", text, "'; it must be SAME, VALID or EXPLICIT");
}

Status check_paddings(std::span<const int64_t> paddings, Padding padding, int axes, int channels) {
  if (padding != Padding::given) {
    if (paddings.empty()) return {};
    return invalid(
        "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
  }
  if (paddings.size() != 2 * static_cast<size_t>(axes)) {
    return invalid("explicit_paddings attribute must contain ", 2 * axes,
                   " values, but got: ", paddings.size());
  }
  for (const int64_t padding : paddings) {
    if (padding < 0) return invalid("All elements of explicit_paddings must be nonnegative");
    if (padding > kLargest) return invalid("explicit_paddings of ", padding, " are too large");
  }
  for (const int axis : {0, channels}) {
    const size_t before = 2 * static_cast<size_t>(axis);
    if (paddings[before] == 0 && paddings[before + 1] == 0) continue;
    return invalid("Nonzero explicit padding in the batch or depth dimensions is not supported");
  }
  return {};
}

Status check_sizes(std::span<const int64_t> sizes, std::string_view rule) {
  for (const int64_t size : sizes) {
    if (size <= 0) return invalid(rule, ", but got ", size);
    if (size > kLargest) return invalid(rule, " and fit 32 bits, but got ", size);
  }
  return {};
}

int64_t rounded_up(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// With axis `from` moved to place `to`.
Result<Tensor> turned(const Tensor& images, int from, int to, KernelContext& context) {
  const Strides steps = row_major_strides(images.shape());
  std::vector<int64_t> dims, strides;
  for (int axis = 0; axis < images.shape().rank(); ++axis) {
    if (axis == from) continue;
    dims.push_back(images.shape().dim(axis));
    strides.push_back(steps[axis]);
  }
  dims.insert(dims.begin() + to, images.shape().dim(from));
  strides.insert(strides.begin() + to, steps[from]);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return copied_box(shape, images, {0, strides}, context);
}

}  // namespace

Slide::Span Slide::reaching(int64_t k) const {
  const int64_t shift = before - k * dilation;  // window `at` reaches at * stride - shift
  const int64_t first = shift > 0 ? rounded_up(shift, stride) : 0;
  const int64_t end = in + shift;  // at * stride < end
  const int64_t last = end > 0 ? std::min(out, rounded_up(end, stride)) : 0;
  return {first, std::max(first, last)};
}

Slide::Span Slide::inside(int64_t at) const {
  const int64_t begin = at * stride - before;
  const int64_t first = std::clamp<int64_t>(begin, 0, in);
  return {first, std::clamp<int64_t>(begin + window, first, in)};
}

Slide::Span Slide::covering(int64_t place) const {
  // at * stride <= end < at * stride + window, of numbers of 32 bits, which are sooner divided.
  const int64_t end = place + before;
  const auto step = static_cast<uint32_t>(stride);
  const int64_t first = end < window ? 0 : static_cast<uint32_t>(end - window) / step + int64_t{1};
  const int64_t last = std::min(out, static_cast<uint32_t>(end) / step + int64_t{1});
  return {first, std::max(first, last)};
}

Result<Windows> Windows::of(const AttrView& attrs) {
  Windows made;
  made.op_ = attrs.op().name;
  const AttrDef* const strides = attrs.op().find_attr("strides");
  if (strides != nullptr && strides->minimum) made.axes_ = static_cast<int>(*strides->minimum);
  MR_ASSIGN(made.padding_, padding_of(attrs));
  if (attrs.find("data_format") != nullptr) {
    MR_ASSIGN(const std::string format, attrs.string("data_format"));
    if (format == "NCHW_VECT_C") {
      return unimplemented(made.op_,
                           ": data format NCHW_VECT_C is for GPUs; here are NHWC and "
                           "NCHW");
    }
    made.channels_first_ = format.starts_with("NC") || format == "CHANNELS_FIRST";
    // Such a format is of images and of volumes: what has a stride is an axis.
    if (format.starts_with("CHANNELS")) {
      MR_ASSIGN(const std::vector<int64_t> steps, attrs.integers("strides"));
      if (steps.size() != 4 && steps.size() != 5) {
        return invalid(made.op_,
                       ": Sliding window strides field must specify 4 dimensions, or 5 "
                       "for volumes, but got: ",
                       steps.size());
      }
      made.axes_ = static_cast<int>(steps.size());
    }
  }
  MR_ASSIGN(made.window_, sizes_if_any(attrs, made.axes_, "ksize", "ksize"));
  MR_ASSIGN(made.strides_, sizes_if_any(attrs, made.axes_, "strides", "stride"));
  const bool dilates = attrs.find("rates") == nullptr;
  MR_ASSIGN(made.dilations_, sizes_if_any(attrs, made.axes_, dilates ? "dilations" : "rates",
                                          dilates ? "dilation" : "rates"));
  if (attrs.find("explicit_paddings") != nullptr) {
    MR_ASSIGN(made.paddings_, attrs.integers("explicit_paddings"));
  }
  MR_TRY(made.check());
  return made;
}

Result<Windows> Windows::with_sizes(std::vector<int64_t> window,
                                    std::vector<int64_t> strides) const {
  Windows made = *this;
  if (window.size() != 4) return invalid("Sliding window ksize field must specify 4 dimensions");
  if (strides.size() != 4) return invalid("Sliding window stride field must specify 4 dimensions");
  made.window_ = std::move(window);
  made.strides_ = std::move(strides);
  MR_TRY(made.check());
  return made;
}

Status Windows::check() const {
  MR_TRY(check_paddings(paddings_, padding_, axes_, channels()));
  MR_TRY(check_sizes(window_, "Sliding window ksize must be positive"));
  MR_TRY(
      check_sizes(strides_, "Sliding window strides should be larger than 0. Stride must be > 0"));
  MR_TRY(check_sizes(dilations_, "Dilated rates should be larger than 0"));
  const auto is_one = [](const std::vector<int64_t>& values, int axis) {
    return values.empty() || values[axis] == 1;
  };
  if (!window_.empty()) {
    if (is_one(window_, 0) && is_one(strides_, 0)) return {};
    return unimplemented("Pooling is not yet supported on the batch dimension.");
  }
  if (!is_one(strides_, 0) || !is_one(strides_, channels())) {
    return unimplemented(
        "Current implementation does not yet support strides in the batch and depth dimensions.");
  }
  if (is_one(dilations_, 0) && is_one(dilations_, channels())) return {};
  return unimplemented(
      "Current implementation does not yet support dilations in the batch and depth dimensions.");
}

Result<Slide> Windows::slide(int n, int64_t in, int64_t window) const {
  Slide made{.in = in, .window = window};
  const int axis = spatial(n);
  if (!strides_.empty()) made.stride = strides_[axis];
  if (!dilations_.empty()) made.dilation = dilations_[axis];
  if (window <= 0 || window > kLargest || in > kLargest) {
    return invalid(op_, ": a window of ", window, " elements along an axis of ", in,
                   " is too large or empty");
  }
  const int64_t reach = (window - 1) * made.dilation + 1;
  if (padding_ == Padding::same) {
    made.out = rounded_up(in, made.stride);
    const int64_t lacking = std::max<int64_t>(0, (made.out - 1) * made.stride + reach - in);
    made.before = lacking / 2;
    made.after = lacking - made.before;
    return made;
  }
  if (padding_ == Padding::given) {
    const size_t before = 2 * static_cast<size_t>(axis);
    made.before = paddings_[before];
    made.after = paddings_[before + 1];
    // A pooling's window needs an element to pool.
    if (!window_.empty() && std::max(made.before, made.after) >= window) {
      constexpr const char* kSides[] = {"Top", "Bottom", "Left", "Right"};
      const bool behind = made.after >= window;
      return invalid(op_, ": ", kSides[2 * (n % 2) + (behind ? 1 : 0)], " padding ",
                     behind ? made.after : made.before,
                     " needs to be smaller than the window size ", window);
    }
  }
  // Towards zero, as TensorFlow divides: one element too few gives no window, more is an error.
  made.out = (in + made.before + made.after - reach + made.stride) / made.stride;
  if (made.out < 0) {
    return invalid("Computed output size would be negative: ", made.out, " [input_size: ", in,
                   ", effective_filter_size: ", reach, ", stride: ", made.stride, "]");
  }
  return made;
}

Result<Slides> Windows::slides(const Shape& images, std::span<const int64_t> window) const {
  Slides made;
  Slide* const of[] = {&made.z, &made.y, &made.x};
  const int first = 3 - spatial_axes();
  for (int n = 0; n < spatial_axes(); ++n) {
    MR_ASSIGN(*of[first + n], slide(n, images.dim(spatial(n)), window[static_cast<size_t>(n)]));
  }
  return made;
}

Result<int64_t> Windows::number(int n, int64_t in, int64_t window) const {
  const int axis = spatial(n);
  if (in == kUnknownDim || window == kUnknownDim || strides_.empty()) return kUnknownDim;
  MR_ASSIGN(const Slide made, slide(n, in, window));
  int64_t padded = in;
  if (padding_ == Padding::given) {
    const size_t before = 2 * static_cast<size_t>(axis);
    padded += paddings_[before] + paddings_[before + 1];
  }
  const int64_t reach = (window - 1) * made.dilation + 1;
  if (padding_ != Padding::same && padded < reach) {
    return invalid("Negative dimension size caused by subtracting ", reach, " from ", padded,
                   " for '", op_, "'");
  }
  return made.out;
}

std::vector<int64_t> image_dims(const Windows& windows, int64_t batch,
                                std::span<const int64_t> spatial, int64_t channels) {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  dims.insert(dims.begin() + windows.channels(), channels);
  return dims;
}

std::vector<int64_t> spatial_sizes(const Windows& windows, const Slides& slides, Side side) {
  const auto size = [&](const Slide& slide) { return side == Side::in ? slide.in : slide.out; };
  if (windows.spatial_axes() == 3) return {size(slides.z), size(slides.y), size(slides.x)};
  return {size(slides.y), size(slides.x)};
}

Result<Shape> rows_shape(const Windows& windows, int64_t batch, const Slides& slides, Side side,
                         int64_t channels) {
  std::vector<int64_t> dims = spatial_sizes(windows, slides, side);
  dims.insert(dims.begin(), batch);
  dims.push_back(channels);
  return Shape::create(dims);
}

Result<Tensor> channels_last(const Windows& windows, const Tensor& images, KernelContext& context) {
  if (!windows.channels_first()) return images;
  return turned(images, 1, images.shape().rank() - 1, context);
}

Result<Tensor> in_format(const Windows& windows, const Tensor& images, KernelContext& context) {
  if (!windows.channels_first()) return images;
  return turned(images, images.shape().rank() - 1, 1, context);
}

}  // namespace millrace
