// Powers that need no logarithm: x to the power of -1, -0.5, 0, 0.5, 1, 2 or 3.
//
// Programs square by `x ** 2` and take roots by `x ** 0.5`, and the gradient of the former is a
// power of 1. A product, quotient or root takes a tenth of the time that the power function does,
// and lies as near to the exact result; infinities, NaN and zeros with their signs give what it
// gives.
#pragma once

#include <cstdint>
#include <limits>

#include "millrace/ops/loops/vector_math.h"

namespace millrace::cpu {

namespace internal_powers {

template <class T, class F>
void each(const T* x, T* z, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) z[i] = f(x[i]);
}

// What has the root of x that the power function takes: that of -infinity is infinity, and that of
// a negative zero has no sign.
template <class T>
void each_root(VectorLoop root, const T* x, T* z, int64_t n) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  each(x, z, n, [](T value) { return value == -kInfinity ? kInfinity : value + T(0); });
  root(z, z, n);
}

}  // namespace internal_powers

// z[i] = x[i] to the power of `exponent`, for float and double where the processor has the vector
// functions; `z` may be `x`. False, and nothing is done, if the exponent is none of these.
template <class T>
bool plain_power(const T* x, T exponent, T* z, int64_t n) {
  using internal_powers::each;
  if (exponent == T(2)) {
    each(x, z, n, [](T value) { return value * value; });
  } else if (exponent == T(1)) {
    each(x, z, n, [](T value) { return value; });
  } else if (exponent == T(3)) {
    each(x, z, n, [](T value) { return value * value * value; });
  } else if (exponent == T(-1)) {
    each(x, z, n, [](T value) { return T(1) / value; });
  } else if (exponent == T(0)) {
    each(x, z, n, [](T) { return T(1); });
  } else if (exponent == T(0.5)) {
    internal_powers::each_root(vector_loop(VectorFunction::sqrt, dtype_of<T>), x, z, n);
  } else if (exponent == T(-0.5)) {
    internal_powers::each_root(vector_loop(VectorFunction::rsqrt, dtype_of<T>), x, z, n);
  } else {
    return false;
  }
  return true;
}

}  // namespace millrace::cpu
