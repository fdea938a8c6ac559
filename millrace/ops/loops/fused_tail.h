// What an op that stands for several does to its product before anybody sees it: a bias, or a
// normalisation by given means and variances, and then an activation. TensorFlow's master writes
// such ops (_FusedMatMul, _FusedConv2D) where a graph had them one after the other; the attributes
// "fused_ops", "epsilon" and "leakyrelu_alpha" say which.
#pragma once

#include <span>

#include "millrace/op/kernel.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct FusedTail {
  enum class Activation : uint8_t {
    none,
    elu,
    gelu,
    gelu_by_tanh,
    leaky_relu,
    relu,
    relu6,
    sigmoid,
    tanh
  };

  bool normalizes = false;  // else a bias is added
  Activation activation = Activation::none;
  float alpha = 0, epsilon = 0;

  // Errors: UNIMPLEMENTED for what is not in this list, with the list that the node has.
  static Result<FusedTail> of(const AttrView& attrs);

  // Changes `rows`, float32 or float64, whose last axis are the channels. `args` are of its type:
  // a bias; or scale, offset, mean and variance.
  // Errors: INVALID_ARGUMENT if one is no vector of a number for each channel; CANCELLED.
  Status apply(KernelContext& context, Tensor& rows, std::span<const Tensor> args) const;
};

// For kernel_with() and kernel_from().
struct BoundFusedTail {
  Result<FusedTail> read(const KernelSpec& spec) const { return FusedTail::of(spec.attrs); }
};

}  // namespace millrace
