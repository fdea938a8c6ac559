// What poolings have in common: the sizes of images and windows, the checks of them, and the rules
// for shapes. Kernels see images with their channels last; a window over channels becomes one over
// the width of images that have one channel.
#pragma once

#include "millrace/op/kernel.h"
#include "millrace/ops/nn/windows.h"

namespace millrace {

struct PoolShape {
  int64_t batch = 0, channels = 0;
  Slides slides;

  int64_t pixels() const { return slides.pixels_in(); }
  int64_t image_elements() const { return pixels() * channels; }
  int64_t output_elements() const { return slides.pixels_out() * channels; }
  // Elements that are looked at for one row of outputs.
  int64_t row_cost() const;
};

// Of images in the node's format. Errors: INVALID_ARGUMENT; UNIMPLEMENTED for windows over
// channels.
Result<PoolShape> pool_of(const Windows& windows, const Shape& images);
// The same for windows over channels and nothing else.
Result<PoolShape> depth_pool_of(const Windows& windows, const Shape& images);
bool pools_depth(const Windows& windows);

// The outputs, in the node's format, or with channels last.
Result<Shape> pooled_shape(const Windows& windows, const PoolShape& pool);
Result<Shape> pooled_rows(const Windows& windows, const PoolShape& pool);
// That a tensor, called `what`, has the shape of the outputs.
Status check_pooled(const Windows& windows, const PoolShape& pool, const Shape& shape,
                    std::string_view what);

// For ops that take ksize and strides as inputs from `slot` on: those; otherwise what the node
// said when it was made.
Result<Windows> windows_of(const Windows& said, KernelContext& context, int slot);

// What is known of input 0, pooled: for ops with window sizes as inputs from `slot` on; 0:
// attributes.
Result<PartialShape> pooled(const InferContext& context, int slot);
// A rule that gives it to output 0.
Status infer_pool(InferContext& context, int slot);

}  // namespace millrace
