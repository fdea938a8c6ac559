// Part of tensor_list_ops.h: tensor lists as a type of variants.
#include "millrace/ops/lists/tensor_list_ops.h"

namespace millrace {
namespace {

Result<Variant> zeros_like_list(const Variant& of, TensorArithmetic& tensors) {
  MR_ASSIGN(TensorList list, TensorList::from(of));
  for (Tensor& element : list.elements) {
    MR_ASSIGN(element, tensors.zeros_like(element));
  }
  // Gradients may be pushed onto lists that are full: as in TensorFlow, they have no limit.
  list.most = -1;
  return std::move(list).to_variant();
}

Result<Variant> sum_of_lists(const Variant& first, const Variant& second,
                             TensorArithmetic& tensors) {
  MR_ASSIGN(TensorList a, TensorList::from(first));
  MR_ASSIGN(const TensorList b, TensorList::from(second));
  if (a.dtype != b.dtype) {
    return invalid("Trying to add two lists of tensors of different dtypes. One is ",
                   dtype_name(a.dtype), " and the other is ", dtype_name(b.dtype));
  }
  auto shape = a.element_shape.merge(b.element_shape);
  if (!shape.ok()) {
    return invalid("Trying to add two lists of tensors with incompatible element shapes. One is ",
                   a.element_shape.to_string(), " and the other is ", b.element_shape.to_string());
  }
  if (a.elements.size() != b.elements.size()) {
    return invalid("Trying to add two lists of tensors with different lengths. One is ",
                   a.elements.size(), " and the other is ", b.elements.size());
  }
  a.element_shape = *std::move(shape);
  a.most = -1;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    MR_ASSIGN(a.elements[i], tensors.sum(a.elements[i], b.elements[i]));
  }
  return std::move(a).to_variant();
}

}  // namespace

VariantType tensor_list_type() {
  return {.type_name = std::string(TensorList::kTypeName),
          .plural = "tensor lists",
          .zeros_like = zeros_like_list,
          .sum = sum_of_lists};
}

}  // namespace millrace
