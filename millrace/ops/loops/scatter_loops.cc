#include "millrace/ops/loops/scatter_loops.h"

#include <algorithm>

namespace millrace {
namespace {

template <class T>
bool has_zero_of(const Tensor& tensor) {
  const auto values = tensor.flat<T>();
  return std::any_of(values.begin(), values.end(),
                     [](const T& x) { return static_cast<cpu::Math<T>>(x) == cpu::Math<T>(0); });
}

constexpr auto quotient = [](auto x, auto y) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    if (y == T(0)) return T(0);
    // The lowest number divided by -1 wraps around.
    if constexpr (std::is_signed_v<T>) {
      if (y == T(-1)) return cpu::negate(x);
    }
  }
  return static_cast<T>(x / y);
};

}  // namespace

cpu::BinaryLoop product_loop(DType dtype) {
  return cpu::binary_loop_for<cpu::Number>(dtype,
                                           [](auto x, auto y) { return cpu::multiply(x, y); });
}

cpu::BinaryLoop quotient_loop(DType dtype) {
  return cpu::binary_loop_for<cpu::Number>(dtype, quotient);
}

cpu::BinaryLoop minimum_loop(DType dtype) {
  return cpu::binary_loop_for<cpu::Real>(dtype, [](auto x, auto y) { return y < x ? y : x; });
}

cpu::BinaryLoop maximum_loop(DType dtype) {
  return cpu::binary_loop_for<cpu::Real>(dtype, [](auto x, auto y) { return y > x ? y : x; });
}

bool has_zero(const Tensor& tensor) {
  using HasZero = bool (*)(const Tensor&);
  const auto look = cpu::pick<HasZero>(cpu::Number(), tensor.dtype(),
                                       []<class T>() -> HasZero { return &has_zero_of<T>; });
  return look != nullptr && look(tensor);
}

}  // namespace millrace
