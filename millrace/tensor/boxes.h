// Tensors in variants, under TensorFlow's names for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// One tensor.
inline constexpr std::string_view kBoxedTensor = "tensorflow::Tensor";
// The splits of a ragged tensor, outermost first, then its values.
inline constexpr std::string_view kBoxedRagged = "RaggedTensorVariant";

// Errors: INVALID_ARGUMENT if they hold variants in variants deeper than is allowed.
inline Result<Variant> boxed(std::string_view type_name, std::vector<Tensor> tensors) {
  Variant made{std::string(type_name), "", std::move(tensors)};
  MR_TRY(made.settle());
  return made;
}

// A vector of a variant for each of them: of the places, values and shape of a sparse tensor, say.
inline Result<Tensor> boxed_each(const std::vector<Tensor>& tensors) {
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, {static_cast<int64_t>(tensors.size())}));
  for (size_t i = 0; i < tensors.size(); ++i) {
    MR_ASSIGN(made.mutable_flat<Variant>()[i], boxed(kBoxedTensor, {tensors[i]}));
  }
  return made;
}

}  // namespace millrace
