// What an op that stands for several does to its product before anybody sees it: a bias, or a
// normalisation by given means and variances, and then an activation. TensorFlow's master writes
// such ops (_FusedMatMul, _FusedConv2D) where a graph had them one after the other; the attributes
// "fused_ops", "epsilon" and "leakyrelu_alpha" say which.
#pragma once

#include <span>

#include "millrace/op/kernel.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

class ReadyTail;

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

  // With its arguments, for float32 or float64 of shape `rows`, whose last axis are the channels.
  // `args` are of the same type: a bias; or scale, offset, mean and variance.
  // Errors: INVALID_ARGUMENT if one is no vector of a number for each channel.
  Result<ReadyTail> with(const Shape& rows, std::span<const Tensor> args) const;

  // Changes all of `rows`. Errors: as with(); CANCELLED.
  Status apply(KernelContext& context, Tensor& rows, std::span<const Tensor> args) const;
};

// What a product that is made in pieces calls for each, while it is near.
class ReadyTail {
 public:
  // Changes rows [first, first + count). Any thread.
  void change(Tensor& rows, int64_t first, int64_t count) const;

 private:
  friend struct FusedTail;
  template <class T>
  void change_rows(T* rows, int64_t count) const;

  FusedTail tail_;
  int64_t channels_ = 0, rows_at_once_ = 1;
  // What each channel is multiplied by, about which it is, and what is added:
  // (y - about) * by + add; without the first two, y + add. Each for `rows_at_once_` rows.
  Tensor by_, about_, add_;
};

// For kernel_with() and kernel_from().
struct BoundFusedTail {
  Result<FusedTail> read(const KernelSpec& spec) const { return FusedTail::of(spec.attrs); }
};

}  // namespace millrace
