// The arithmetic of a convolution over images, or volumes, with their channels last, in its three
// directions: outputs from images and a filter, images (their gradient) from a filter and outputs,
// a filter (its gradient) from images and outputs.
//
// Filters are [(depth,) height, width, channels of a group, output channels]; a filter with fewer
// channels than the images makes groups, each with its share of the outputs. Elements are float,
// double or int32; float goes to oneDNN where that is to be had and worth the call, all else
// through loops here. Work is shared with the step's pool; how it is cut follows from the shapes
// alone.
#pragma once

#include "absl/functional/function_ref.h"

#include "millrace/op/kernel.h"
#include "millrace/ops/nn/windows.h"
#include "millrace/ops/onednn/convolution.h"

namespace millrace {

struct ConvolutionShape {
  int64_t batch = 0, channels = 0, outputs = 0, groups = 1;
  Slides slides;

  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  // One channel in, one out.
  bool keeps_channels_apart() const { return groups == channels && groups == outputs; }
  int64_t image_elements() const { return slides.pixels_in() * channels; }
  int64_t output_elements() const { return slides.pixels_out() * outputs; }
  // Multiplications for one image. As a double: shapes of empty tensors may be huge.
  double work() const {
    double product = static_cast<double>(outputs) * static_cast<double>(group_channels());
    for (const Slide* slide : {&slides.z, &slides.y, &slides.x})
      product *= static_cast<double>(slide->out) * static_cast<double>(slide->window);
    return product;
  }
};

// The three tensors of a convolution, all of one type; one of them is written.
struct ConvolutionTensors {
  Tensor& images;
  Tensor& filter;
  Tensor& outputs;
};

// Called for all outputs, some pixels [first, first + count) of all images at a time, as soon as
// these are made: while they are near. On the thread that made them.
using AfterPixels = absl::FunctionRef<void(int64_t first, int64_t count)>;

// Makes the tensor that `direction` says from the two others. One per kernel: it keeps what oneDNN
// made for the shapes that came last. Any thread.
class Convolver {
 public:
  explicit Convolver(onednn::Direction direction) : direction_(direction) {}
  // Errors: UNIMPLEMENTED for other types; CANCELLED; RESOURCE_EXHAUSTED.
  Status run(KernelContext& context, const ConvolutionShape& shape, ConvolutionTensors tensors);
  // The same forward.
  Status run(KernelContext& context, const ConvolutionShape& shape, ConvolutionTensors tensors,
             AfterPixels after);

 private:
  const onednn::Direction direction_;
  onednn::Convolutions made_;
};

}  // namespace millrace
