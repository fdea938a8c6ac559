// Half and bfloat16 are computed as float where an op is more than a loop: its inputs are widened
// first, what comes out is narrowed once. Loops do so in runs.
#pragma once

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/float_types.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Runs of n elements; nothing may overlap. What is rounded goes to the nearest, ties to even.
void widen(const Half* from, float* to, int64_t n);
void widen(const BFloat16* from, float* to, int64_t n);
void narrow(const float* from, Half* to, int64_t n);
void narrow(const float* from, BFloat16* to, int64_t n);

// body(begin, count) for one run of [0, n) after the other, each short enough to be widened on the
// stack.
inline constexpr int64_t kNarrowRun = 256;
template <class Body>
void in_narrow_runs(int64_t n, Body body) {
  for (int64_t begin = 0; begin < n; begin += kNarrowRun)
    body(begin, n - begin < kNarrowRun ? n - begin : kNarrowRun);
}

// What elements of a type are computed in: float for half and bfloat16, else the type itself.
DType wide_type(DType dtype);
// The tensor in that type; the same one if it is in it.
Result<Tensor> widened(const Tensor& tensor, CancelProbe probe);
// A tensor of floats as half or bfloat16; the same one if it has that type.
Result<Tensor> narrowed(const Tensor& tensor, DType dtype, CancelProbe probe);

}  // namespace millrace
