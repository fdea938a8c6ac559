#include "millrace/ops/loops/variants.h"

#include "millrace/ops/loops/sums.h"

namespace millrace {

Status VariantArithmetic::refuse(const Variant& variant, std::string_view wanted) const {
  std::string known;
  for (const VariantType& type : types_.all())
    str_append(&known, known.empty() ? ", only for " : ", ", type.plural);
  return invalid("there is no ", wanted, " for a variant of type '",
                 variant.type_name.substr(0, 100), "'", known);
}

Result<Variant> VariantArithmetic::zeros_like(const Variant& variant) {
  const VariantType* type = types_.find(variant.type_name);
  if (type == nullptr || type->zeros_like == nullptr) return refuse(variant, "ZerosLike");
  return type->zeros_like(variant, *this);
}

Result<Tensor> VariantArithmetic::zeros_like(const Tensor& tensor) {
  if (!tensor.has_value()) return tensor;
  if (!probe_.go_on(tensor.num_elements())) return probe_.status();
  if (tensor.dtype() != DType::variant) return Tensor::zeros(tensor.dtype(), tensor.shape());
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, tensor.shape()));
  const auto from = tensor.flat<Variant>();
  for (size_t i = 0; i < from.size(); ++i) {
    MR_ASSIGN(made.mutable_flat<Variant>()[i], zeros_like(from[i]));
  }
  return made;
}

Result<Variant> VariantArithmetic::sum(const Variant& a, const Variant& b) {
  if (a.type_name != b.type_name) {
    return invalid("Trying to add variants of different types, '", a.type_name.substr(0, 100),
                   "' and '", b.type_name.substr(0, 100), "'");
  }
  const VariantType* type = types_.find(a.type_name);
  if (type == nullptr || type->sum == nullptr) return refuse(a, "sum");
  return type->sum(a, b, *this);
}

Result<Tensor> VariantArithmetic::sum(const Tensor& a, const Tensor& b) {
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
  if (!probe_.go_on(a.num_elements())) return probe_.status();
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

}  // namespace millrace
