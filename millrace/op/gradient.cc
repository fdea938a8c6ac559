#include "millrace/op/gradient.h"

#include <algorithm>
#include <limits>

#include "millrace/tensor/visit_dtype.h"

namespace millrace {

Result<Tensor> scalar_of(DType dtype, double value) {
  MR_ASSIGN(Tensor made, Tensor::zeros(dtype, {}));
  Status status = invalid(dtype_name(dtype), " has no numbers");
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    // Of types that are only their bits, zero alone is known.
    if (dtype_of<T> != dtype) {
      if (is_plain(dtype) && value == 0) status = Status();
      return;
    }
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      made.mutable_flat<T>()[0] = T(static_cast<float>(value));
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      made.mutable_flat<T>()[0] = T(static_cast<typename T::value_type>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      made.mutable_flat<T>()[0] = static_cast<T>(value);
    } else {
      return;
    }
    status = Status();
  });
  MR_TRY(status);
  return made;
}

namespace {

template <class T>
Tensor vector_of(std::span<const int64_t> values) {
  std::vector<T> narrow;
  for (const int64_t value : values) narrow.push_back(static_cast<T>(value));
  return Tensor::vector(std::span<const T>(narrow));
}

}  // namespace

Endpoint GradContext::add(std::string_view op, std::span<const Endpoint> inputs, Attrs attrs) {
  if (!status_.ok()) return {};
  return keep(make(op, inputs, std::move(attrs)));
}

Endpoint GradContext::keep(Result<Endpoint> made) {
  if (made.ok()) return *made;
  if (status_.ok()) status_ = made.status();
  return {};
}

Endpoint GradContext::add_constant(Result<Tensor> value) {
  if (!status_.ok()) return {};
  if (!value.ok()) {
    status_ = value.status();
    return {};
  }
  const DType dtype = value->dtype();
  return add("Const", {}, {{"value", *std::move(value)}, {"dtype", dtype}});
}

Endpoint GradContext::scalar(DType dtype, double value) {
  return add_constant(scalar_of(dtype, value));
}

// int32 as everywhere in TensorFlow, unless that is too small.
Endpoint GradContext::vector(std::span<const int64_t> values) {
  const bool is_wide = std::ranges::any_of(
      values, [](int64_t value) { return value > std::numeric_limits<int32_t>::max(); });
  return add_constant(is_wide ? vector_of<int64_t>(values) : vector_of<int32_t>(values));
}

Endpoint GradContext::shape_node(Endpoint of) {
  const PartialShape known = shape(of);
  if (known.is_fully_known()) return vector(known.dims());
  return add("Shape", {of});
}

}  // namespace millrace
