#include "millrace/api/input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "millrace/api/op_call.h"

namespace millrace {

namespace {

// True if `to` holds the number exactly as written; for floating targets, as closely as it can.
template <class To, class From>
bool holds(From value) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return std::in_range<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    return std::trunc(value) == value &&
           value >= static_cast<double>(std::numeric_limits<To>::min()) &&
           value < std::ldexp(1.0, std::numeric_limits<To>::digits);
  } else {
    return true;
  }
}

template <class To, class From>
Result<Tensor> cast(const Shape& shape, const std::vector<From>& from) {
  MR_ASSIGN(Tensor tensor, Tensor::allocate(dtype_of<To>, shape));
  std::span<To> to = tensor.mutable_flat<To>();
  for (size_t i = 0; i < from.size(); ++i) {
    if constexpr (std::is_integral_v<To>) {
      if (!holds<To>(from[i]))
        return invalid("literal ", from[i], " can't be a ", dtype_name(dtype_of<To>));
    }
    to[i] = To(from[i]);
  }
  return tensor;
}

template <class From>
Result<Tensor> number(const Shape& shape, const std::vector<From>& from, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return cast<float>(shape, from);
    case DType::f64:
      return cast<double>(shape, from);
    case DType::i32:
      return cast<int32_t>(shape, from);
    case DType::i64:
      return cast<int64_t>(shape, from);
    case DType::i16:
      return cast<int16_t>(shape, from);
    case DType::i8:
      return cast<int8_t>(shape, from);
    case DType::u8:
      return cast<uint8_t>(shape, from);
    case DType::u16:
      return cast<uint16_t>(shape, from);
    case DType::u32:
      return cast<uint32_t>(shape, from);
    case DType::u64:
      return cast<uint64_t>(shape, from);
    default:
      break;
  }
  // The rare types go through float, which every one of them is made from.
  std::vector<float> floats(from.begin(), from.end());
  switch (dtype) {
    case DType::f16:
      return cast<Half>(shape, floats);
    case DType::bf16:
      return cast<BFloat16>(shape, floats);
    case DType::c64:
      return cast<std::complex<float>>(shape, floats);
    case DType::c128:
      return cast<std::complex<double>>(shape, std::vector<double>(from.begin(), from.end()));
    default:
      return invalid("a literal number can't be a ", dtype_name(dtype));
  }
}

Output binary(std::string_view op, const Output& a, const Input& b) {
  return Output(call_op(Scope(a.op().state()), op, {{a}, {b}}, {}), 0);
}

}  // namespace

Literal::Literal(Shape shape, Elements elements)
    : shape_(std::move(shape)), elements_(std::move(elements)) {}

Literal Literal::scalar(Elements element) { return {Shape(), std::move(element)}; }

Literal Literal::vector(Elements elements) {
  const size_t size = std::visit([](const auto& list) { return list.size(); }, elements);
  return {Shape{static_cast<int64_t>(size)}, std::move(elements)};
}

DType Literal::natural_dtype() const {
  switch (elements_.index()) {
    case 0: {
      for (const int64_t value : std::get<0>(elements_))
        if (!std::in_range<int32_t>(value)) return DType::i64;
      return DType::i32;
    }
    case 1:
      return DType::f32;
    case 2:
      return DType::string;
    default:
      return DType::boolean;
  }
}

Result<Tensor> Literal::to_tensor(DType dtype) const {
  if (const auto* integers = std::get_if<0>(&elements_)) return number(shape_, *integers, dtype);
  if (const auto* reals = std::get_if<1>(&elements_)) return number(shape_, *reals, dtype);
  if (dtype != natural_dtype()) {
    return invalid("a literal ", dtype_name(natural_dtype()), " can't be a ", dtype_name(dtype));
  }
  MR_ASSIGN(Tensor tensor, Tensor::allocate(dtype, shape_));
  if (const auto* texts = std::get_if<2>(&elements_)) {
    std::copy(texts->begin(), texts->end(), tensor.mutable_flat<std::string>().begin());
  } else {
    const auto& flags = std::get<3>(elements_);
    std::copy(flags.begin(), flags.end(), tensor.mutable_flat<bool>().begin());
  }
  return tensor;
}

Output constant(const Scope& scope, const Input& value, DType dtype) {
  if (value.output() != nullptr) return *value.output();
  Tensor tensor;
  if (value.tensor() != nullptr) {
    tensor = *value.tensor();
  } else {
    const Literal& literal = *value.literal();
    auto made = literal.to_tensor(dtype == DType::invalid ? literal.natural_dtype() : dtype);
    if (!made.ok()) {
      scope.fail(made.status(), "constant");
      return {};
    }
    tensor = std::move(made).value();
  }
  const DType made = tensor.dtype();
  return Output(scope.add("Const", {}, {{"dtype", made}, {"value", std::move(tensor)}}), 0);
}

Output operator+(const Output& a, const Input& b) { return binary("AddV2", a, b); }
Output operator-(const Output& a, const Input& b) { return binary("Sub", a, b); }
Output operator*(const Output& a, const Input& b) { return binary("Mul", a, b); }
Output operator/(const Output& a, const Input& b) { return binary("RealDiv", a, b); }
Output operator-(const Output& a) {
  return Output(call_op(Scope(a.op().state()), "Neg", {{a}}, {}), 0);
}

}  // namespace millrace
