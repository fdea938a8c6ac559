#include "millrace/ops/lists/variants.h"

#include "millrace/ops/lists/optionals.h"
#include "millrace/ops/lists/tensor_list.h"
#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

Status refuse(const Variant& variant, std::string_view wanted) {
  return invalid("there is no ", wanted, " for a variant of type '",
                 variant.type_name.substr(0, 100), "', only for tensor lists and optionals");
}

// --- zeros ---

Result<Tensor> zeros_like(const Tensor& tensor);

Result<Variant> zeros_like(const Variant& variant) {
  if (variant.type_name == TensorList::kTypeName) {
    MR_ASSIGN(TensorList list, TensorList::from(variant));
    for (Tensor& element : list.elements) {
      MR_ASSIGN(element, zeros_like(element));
    }
    list.most = -1;
    return std::move(list).to_variant();
  }
  if (!is_optional(variant)) return refuse(variant, "ZerosLike");
  MR_TRY(wire::check_variant(variant));
  Variant made = variant;
  for (Tensor& component : made.tensors) {
    MR_ASSIGN(component, zeros_like(component));
  }
  return made;
}

Result<Tensor> zeros_like(const Tensor& tensor) {
  if (!tensor.has_value()) return tensor;
  if (tensor.dtype() != DType::variant) return Tensor::zeros(tensor.dtype(), tensor.shape());
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, tensor.shape()));
  const auto from = tensor.flat<Variant>();
  for (size_t i = 0; i < from.size(); ++i) {
    MR_ASSIGN(made.mutable_flat<Variant>()[i], zeros_like(from[i]));
  }
  return made;
}

// --- sums ---

Result<Tensor> sum(const Tensor& a, const Tensor& b);

Result<TensorList> sum(TensorList a, const TensorList& b) {
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
    MR_ASSIGN(a.elements[i], sum(a.elements[i], b.elements[i]));
  }
  return a;
}

Result<Variant> sum_of_optionals(const Variant& a, const Variant& b) {
  MR_TRY(wire::check_variant(a));
  MR_TRY(wire::check_variant(b));
  if (has_value(a) != has_value(b))
    return invalid("Cannot add optionals because one has a value and the other doesn't.");
  if (a.tensors.size() != b.tensors.size()) {
    return invalid("Cannot add optionals because they have different numbers of components (",
                   a.tensors.size(), " vs. ", b.tensors.size(), ").");
  }
  Variant made = a;
  for (size_t i = 0; i < made.tensors.size(); ++i) {
    MR_ASSIGN(made.tensors[i], sum(a.tensors[i], b.tensors[i]));
  }
  MR_TRY(made.settle());
  return made;
}

Result<Variant> sum(const Variant& a, const Variant& b) {
  if (a.type_name != b.type_name) {
    return invalid("Trying to add variants of different types, '", a.type_name.substr(0, 100),
                   "' and '", b.type_name.substr(0, 100), "'");
  }
  if (a.type_name == TensorList::kTypeName) {
    MR_ASSIGN(TensorList first, TensorList::from(a));
    MR_ASSIGN(const TensorList second, TensorList::from(b));
    MR_ASSIGN(TensorList made, sum(std::move(first), second));
    return std::move(made).to_variant();
  }
  return is_optional(a) ? sum_of_optionals(a, b) : refuse(a, "sum");
}

Result<Tensor> sum(const Tensor& a, const Tensor& b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  if (a.dtype() != b.dtype()) {
    return invalid("Trying to add two tensors with different dtypes. One is ",
                   dtype_name(a.dtype()), " and the other is ", dtype_name(b.dtype()));
  }
  if (a.shape() != b.shape()) {
    return invalid("Trying to add two tensors with incompatible element shapes. One is ",
                   a.shape().to_string(), " and the other is ", b.shape().to_string());
  }
  MR_ASSIGN(Tensor made, Tensor::allocate(a.dtype(), a.shape()));
  if (a.dtype() == DType::variant) {
    const auto first = a.flat<Variant>(), second = b.flat<Variant>();
    for (size_t i = 0; i < first.size(); ++i) {
      MR_ASSIGN(made.mutable_flat<Variant>()[i], sum(first[i], second[i]));
    }
    return made;
  }
  const cpu::BinaryLoop loop = cpu::addition_loop(a.dtype());
  if (loop == nullptr)
    return unimplemented("elements of type ", dtype_name(a.dtype()), " have no sum");
  loop(a.data(), 1, b.data(), 1, made.mutable_data(), made.num_elements());
  return made;
}

}  // namespace

Result<Tensor> zeros_like_variants(const Tensor& variants) { return zeros_like(variants); }

Result<Tensor> sum_of_variants(const Tensor& a, const Tensor& b) { return sum(a, b); }

}  // namespace millrace
