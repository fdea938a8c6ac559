// The gradients of Fourier transforms, which are transforms the other way. Each stands in the
// `.grad` of its op.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

Status fft(GradContext& g);
Status ifft(GradContext& g);
Status rfft(GradContext& g);
Status irfft(GradContext& g);

}  // namespace millrace::grad
