// Sums of probabilities that are kept as logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace {

// The logarithm of 0.
template <class T>
inline constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b)).
template <class T>
T log_sum(T a, T b) {
  if (a == kNever<T>) return b;
  if (b == kNever<T>) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

}  // namespace millrace
