// Windows that slide over images, or over volumes (images with a depth): what convolutions,
// poolings and their gradients have in common.
//
// A node says by its attributes how windows move (strides), how far apart the elements of one are
// (dilations), what stands around the image (padding), and which axis is which (data_format). This
// turns that and the sizes of an image into sizes of outputs and places of windows. It moves no
// element. Values, made on the stack.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"

namespace millrace {

enum class Padding : uint8_t { same, valid, given };

// One axis of an image and the windows along it. All sizes fit 32 bits but `in` and `out`.
struct Slide {
  int64_t in = 0, out = 0;  // elements of the image, and windows
  int64_t window = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // of what is padded, which the image lacks

  // Where element `k` of window `at` lies in the image; outside of it if < 0 or >= in.
  int64_t place(int64_t at, int64_t k) const { return at * stride - before + k * dilation; }
  // The windows [first, last) whose element `k` lies in the image.
  struct Span {
    int64_t first, last;
  };
  Span reaching(int64_t k) const;
  // The elements [first, last) of window `at` that lie in the image; of what is not dilated.
  Span inside(int64_t at) const;
  // The windows [first, last) that have the image's element `place`; of what is not dilated.
  Span covering(int64_t place) const;
};

// All spatial axes. An image is a volume of one plane.
struct Slides {
  Slide y, x;
  Slide z = {.in = 1, .out = 1};

  int64_t pixels_in() const { return z.in * y.in * x.in; }
  int64_t pixels_out() const { return rows_out() * x.out; }
  // Rows of outputs: row r is row r % y.out of plane r / y.out.
  int64_t rows_out() const { return z.out * y.out; }
};

class Windows {
 public:
  // What a node says. `strides` and `window` (ksize) are empty until they are known, if they come
  // as inputs. Errors: INVALID_ARGUMENT or UNIMPLEMENTED in TensorFlow's words.
  static Result<Windows> of(const AttrView& attrs);

  // The same with sizes and strides that came as inputs, four of each. Errors: as `of`.
  Result<Windows> with_sizes(std::vector<int64_t> window, std::vector<int64_t> strides) const;

  const std::string& op() const { return op_; }
  bool channels_first() const { return channels_first_; }
  // Four for images, five for volumes; two fewer of them are spatial: [depth,] height, width.
  int axes() const { return axes_; }
  int spatial_axes() const { return axes_ - 2; }
  int channels() const { return channels_first_ ? 1 : axes_ - 1; }
  int spatial(int n) const { return (channels_first_ ? 2 : 1) + n; }
  // Of a pooling, by axis: how many channels are in a window.
  int64_t depth() const { return window_.empty() ? 1 : window_[channels()]; }
  int64_t depth_stride() const { return strides_.empty() ? 1 : strides_[channels()]; }
  // Of a pooling, along the n-th spatial axis.
  int64_t window(int n) const { return window_[spatial(n)]; }

  // How windows of `window` elements go along the n-th spatial axis of `in` elements.
  // Errors: INVALID_ARGUMENT if not one fits, or numbers are too large.
  Result<Slide> slide(int n, int64_t in, int64_t window) const;
  // Along all of them, of images in the node's format; `window` has a size for each spatial axis.
  Result<Slides> slides(const Shape& images, std::span<const int64_t> window) const;
  // How many there are, for shape rules: either size may be unknown.
  Result<int64_t> number(int n, int64_t in, int64_t window) const;

 private:
  Status check() const;

  std::string op_;
  int axes_ = 4;
  Padding padding_ = Padding::valid;
  bool channels_first_ = false;
  std::vector<int64_t> window_, strides_, dilations_, paddings_;
};

// For kernel_with() and kernel_from().
struct BoundWindows {
  Result<Windows> read(const KernelSpec& spec) const { return Windows::of(spec.attrs); }
};

// The shape of images in the node's format; `spatial` has a size for each spatial axis.
std::vector<int64_t> image_dims(const Windows& windows, int64_t batch,
                                std::span<const int64_t> spatial, int64_t channels);
// Of what goes in, or comes out, with its channels last.
enum class Side : uint8_t { in, out };
Result<Shape> rows_shape(const Windows& windows, int64_t batch, const Slides& slides, Side side,
                         int64_t channels);
// A size for each spatial axis.
std::vector<int64_t> spatial_sizes(const Windows& windows, const Slides& slides, Side side);

// Images with their channels last: the tensor itself, or a copy if its channels come first.
Result<Tensor> channels_last(const Windows& windows, const Tensor& images, KernelContext& context);
// The way back: from channels last to the format of the node.
Result<Tensor> in_format(const Windows& windows, const Tensor& images, KernelContext& context);

}  // namespace millrace
