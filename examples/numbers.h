// Random numbers as NumPy's RandomState draws them, so that a program here and its twin in Python
// see the same ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

class Numbers {
 public:
  explicit Numbers(uint32_t seed) : bits_(seed) {}

  // From 0 up to and without 1.
  double random() {
    const auto high = static_cast<double>(bits_() >> 5), low = static_cast<double>(bits_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  double uniform(double from, double to) { return from + (to - from) * random(); }
  // A whole number from 0 up to and without `end`.
  int64_t below(uint32_t end) {
    uint32_t mask = end - 1, drawn = 0;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    do drawn = bits_() & mask;
    while (drawn >= end);
    return drawn;
  }
  // Of a normal distribution: two at a time.
  double normal(double deviation = 1) {
    if (has_other_) {
      has_other_ = false;
      return deviation * other_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * random() - 1;
      y = 2 * random() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    other_ = factor * x;
    has_other_ = true;
    return deviation * (factor * y);
  }

 private:
  std::mt19937 bits_;
  double other_ = 0;
  bool has_other_ = false;
};
