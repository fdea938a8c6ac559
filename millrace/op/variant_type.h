// VariantType: what is known of one type of variants beyond how it is stored: the arithmetic that
// gradients of loops and conditionals need of the values which variants carry for them.
//
//   MR_TRY(ops.add_variant({.type_name = "box",
//                           .plural = "boxes",
//                           .zeros_like = [](const Variant& box, TensorArithmetic& tensors)
//                               -> Result<Variant> {
//                             Variant made = box;
//                             MR_ASSIGN(made.tensors[0], tensors.zeros_like(box.tensors[0]));
//                             return made;
//                           }}));
//
// It stands beside the type and is registered with its ops. Ops on variants of any type ask the
// table by the name that a variant bears (ops/loops/variants.h). Variants of a type that is not in
// it are stored and passed on like all others; they only have no zeros and no sum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What hooks are given for the tensors that their variants hold: of any type, variants again among
// them (how deep is bounded by Variant::kMostNested). One thread at a time.
class TensorArithmetic {
 public:
  virtual ~TensorArithmetic() = default;
  // A tensor without a value stays one.
  virtual Result<Tensor> zeros_like(const Tensor& tensor) = 0;
  // A tensor without a value counts for nothing. Errors: INVALID_ARGUMENT if they are not alike.
  virtual Result<Tensor> sum(const Tensor& a, const Tensor& b) = 0;
};

// Hooks are functions of their arguments alone. What a variant says of itself may be wrong: it may
// come from a peer.
struct VariantType {
  std::string type_name;  // as in Variant::type_name
  std::string plural;     // for people: "tensor lists"

  // The same thing with zeros for what it holds; what is not set stays so. None: there is no such.
  Result<Variant> (*zeros_like)(const Variant& of, TensorArithmetic& tensors) = nullptr;
  // The thing that holds the sums of what both hold, which are of this type. None: no sum.
  // Errors: INVALID_ARGUMENT if they are not alike.
  Result<Variant> (*sum)(const Variant& a, const Variant& b, TensorArithmetic& tensors) = nullptr;
};

// The types that a registry knows, filled with it and read-only afterwards.
class VariantTypes {
 public:
  // Errors: ALREADY_EXISTS for a second type of the name.
  Status add(VariantType type);
  // Null if unknown.
  const VariantType* find(std::string_view type_name) const;
  // In the order in which they were added.
  const std::vector<VariantType>& all() const { return types_; }

 private:
  std::vector<VariantType> types_;  // a handful
};

}  // namespace millrace
