// Fourier transforms along some axes of a box of complex numbers, each line on its own: what the
// ops of this room are made of.
#pragma once

#include "millrace/op/kernel.h"
#include "millrace/ops/spectral/fourier.h"

namespace millrace {

// A tensor of complex128 whose axes may be cut off or filled with zeros to other sizes.
class SpectralBox {
 public:
  // Of a real or complex tensor: its elements as far as `sizes`, one per axis, reach; zeros behind.
  // Errors: RESOURCE_EXHAUSTED; CANCELLED.
  static Result<SpectralBox> of(KernelContext& context, const Tensor& tensor,
                                std::span<const int64_t> sizes);

  // In place, along `axis`; scaled by 1 / n if backward.
  Status transform(KernelContext& context, int axis, Fourier::Direction direction);
  // The half of a spectrum along `axis` as the real line of `size` numbers that has it, in the real
  // parts; scaled by 1 / size. What the half says of imaginary parts at its ends is not looked at.
  Status to_real_line(KernelContext& context, int axis, int64_t size);

  // The elements as far as `sizes` reach, in a type; of a real type the real parts.
  Result<Tensor> as(KernelContext& context, DType dtype, std::span<const int64_t> sizes) const;

 private:
  SpectralBox(Tensor tensor, Shape shape) : tensor_(std::move(tensor)), shape_(std::move(shape)) {}

  Tensor tensor_;  // complex128
  Shape shape_;
};

}  // namespace millrace
