// The shapes of convolutions, as kernels and rules need them: what images and a filter make of each
// other, or why they do not fit.
#pragma once

#include "millrace/op/infer.h"
#include "millrace/ops/nn/convolution.h"

namespace millrace {

// Ordinary filters are [(depth,) height, width, channels of a group, outputs]; depthwise ones
// [height, width, channels, outputs of each channel], which in memory is a group for each channel.
enum class Filter : uint8_t { ordinary, depthwise };

// That a tensor, called `what`, has as many axes as images have.
Status check_axes(const Windows& windows, const Shape& shape, std::string_view what);

// What the shapes of images, in the node's format, and of a filter make.
Result<ConvolutionShape> convolution_of(const Windows& windows, Filter kind, const Shape& images,
                                        const Shape& filter);
// The outputs, in the node's format.
Result<Shape> output_shape(const Windows& windows, const ConvolutionShape& shape);

// The dims of the outputs of what is known of both, each of as many axes as the windows.
// Errors: INVALID_ARGUMENT if they can't fit.
Result<std::vector<int64_t>> convolved_dims(const Windows& windows, Filter kind,
                                            const PartialShape& images, const PartialShape& filter);

// The rule of ops that convolve forward: input 0 is images, input 1 a filter.
InferFn infer_convolution(Filter kind);

}  // namespace millrace
