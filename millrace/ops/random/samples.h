// Samples of distributions that have parameters, number by number as TensorFlow draws them: the ops
// of this room, with state and without, differ only in where their bits come from.
//
// Each element has blocks of its own, whatever the others took. Parameters are innermost: the
// sample s of parameter p of n is element s * n + p, and has the blocks of p * samples + s.
#pragma once

#include <array>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/philox_blocks.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Numbers for one element, from blocks of its own: each kind in pairs, the second one first.
class ElementNumbers {
 public:
  explicit ElementNumbers(PhiloxBlocks blocks) : blocks_(blocks) {}

  double uniform() {
    if (uniforms_left_ == 0) {
      const PhiloxBlock block = blocks_.next();
      uniforms_ = {unit_double(block[0], block[1]), unit_double(block[2], block[3])};
      uniforms_left_ = 2;
    }
    return uniforms_[--uniforms_left_];
  }
  double normal();

 private:
  PhiloxBlocks blocks_;
  std::array<double, 2> uniforms_{}, normals_{};
  size_t uniforms_left_ = 0, normals_left_ = 0;
};

// The types of parameters and of samples.
using SampleTypes = cpu::Types<Half, float, double, int32_t, int64_t>;

using WriteSample = void (*)(void* data, int64_t at, double value);
// Null if it is none of SampleTypes. What is no number has no place among integers: 0.
WriteSample sample_writer(DType dtype);

enum class Sampled : uint8_t { gamma, poisson };

// How parameters of one type become samples of another.
struct SampleLoops {
  double (*read)(const void* data, int64_t at) = nullptr;
  WriteSample write = nullptr;
  double most = 0;  // that the samples' type can hold
};
SampleLoops sample_loops(DType parameters, DType samples);

// As many samples of each parameter as `output` has room for, which is a multiple of their number.
Status fill_samples(Sampled sampled, const SampleLoops& loops, const Tensor& parameters,
                    PhiloxBlocks blocks, Tensor& output, CancelProbe probe);

}  // namespace millrace
