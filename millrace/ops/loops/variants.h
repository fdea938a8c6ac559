// Arithmetic on tensors that may hold variants, as far as there is any: zeros like one, and the sum
// of two. Both are what gradients of loops and conditionals need of the lists and optionals that
// carry their values. How it is done for a type of variants stands with the type, in a hook
// (op/variant_type.h); here is the walk through tensors, which knows no type by name.
#pragma once

#include "millrace/op/cancel_probe.h"
#include "millrace/op/variant_type.h"

namespace millrace {

// Made on the stack of a kernel. A list may hold another one twice, and that one a third twice, so
// that a few variants are walked through as many: the walk ends when the step does.
class VariantArithmetic final : public TensorArithmetic {
 public:
  VariantArithmetic(const VariantTypes& types, CancelProbe probe) : types_(types), probe_(probe) {}

  // Errors: INVALID_ARGUMENT for variants of a type without the hook; CANCELLED.
  Result<Tensor> zeros_like(const Tensor& tensor) override;
  // Errors: as above; INVALID_ARGUMENT if a and b are not alike in type, length or shapes;
  // UNIMPLEMENTED for elements that can't be added.
  Result<Tensor> sum(const Tensor& a, const Tensor& b) override;

 private:
  Result<Variant> zeros_like(const Variant& variant);
  Result<Variant> sum(const Variant& a, const Variant& b);
  Status refuse(const Variant& variant, std::string_view wanted) const;

  const VariantTypes& types_;
  CancelProbe probe_;
};

}  // namespace millrace
