// 16-bit floats as storage with conversions to and from float (round to nearest, ties to even).
#pragma once

#include <bit>
#include <cstdint>

namespace millrace {

// The upper half of a float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    // Without a branch: loops of it become vectors.
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t nan = (word >> 16) | 0x40u;  // NaN stays NaN
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    bits = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  friend bool operator==(BFloat16 a, BFloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

// IEEE 754 binary16.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(static_cast<uint16_t>(from_float(value))) {}
  explicit operator float() const { return to_float(bits); }
  friend bool operator==(Half a, Half b) { return static_cast<float>(a) == static_cast<float>(b); }

 private:
  static uint32_t from_float(float value);
  static float to_float(uint32_t half);
};

inline uint32_t Half::from_float(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16) & 0x8000u;
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 65536 and more: infinity
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 2^-1 shifts the wanted bits to the bottom and lets the FPU round them.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u);
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

inline float Half::to_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

}  // namespace millrace
