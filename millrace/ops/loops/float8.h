// Floats of eight bits as storage, with conversions (round to nearest, ties to even).
//
// float8_e5m2 is the upper half of a half: sign, 5 bits of exponent, 2 of fraction, and infinities.
// float8_e4m3fn has 4 and 3, no infinity and one NaN of each sign: what is too large becomes NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace millrace::cpu {

enum class Beyond : uint8_t { infinity, nan };

template <int kFraction, int kBias, Beyond kBeyond>
struct Float8 {
  uint8_t bits = 0;

  Float8() = default;
  explicit Float8(double value) : bits(rounded(value)) {}
  explicit operator float() const;

 private:
  // Codes without their sign.
  static constexpr uint64_t kNan = kBeyond == Beyond::nan ? 0x7f : 0x7e;
  static constexpr uint64_t kTooLarge = kBeyond == Beyond::nan ? 0x7f : 0x7c;

  static uint8_t rounded(double value);
};

using Float8E5m2 = Float8<2, 15, Beyond::infinity>;
using Float8E4m3fn = Float8<3, 7, Beyond::nan>;

template <class T>
inline constexpr bool kIsFloat8 = false;
template <int kFraction, int kBias, Beyond kBeyond>
inline constexpr bool kIsFloat8<Float8<kFraction, kBias, kBeyond>> = true;

template <int kFraction, int kBias, Beyond kBeyond>
uint8_t Float8<kFraction, kBias, kBeyond>::rounded(double value) {
  constexpr int kLost = 52 - kFraction;
  constexpr uint64_t kInfinity = 0x7ffull << 52;
  // The exponents, as a double has them, of the least number with all its bits, and of 1 in a place
  // where the last bit of a double stands for the last one of ours.
  constexpr uint64_t kLeastNormal = static_cast<uint64_t>(1023 + 1 - kBias) << 52;
  constexpr uint64_t kShift = static_cast<uint64_t>(1023 + 1 - kBias + kLost) << 52;
  const auto word = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = word & ~(1ull << 63), sign = word >> 63 << 7;
  uint64_t code = 0;
  if (magnitude > kInfinity) {
    code = kNan;
  } else if (magnitude == kInfinity) {
    code = kTooLarge;
  } else if (magnitude < kLeastNormal) {
    // Adding shifts the wanted bits to the bottom and lets the FPU round them.
    code =
        std::bit_cast<uint64_t>(std::bit_cast<double>(magnitude) + std::bit_cast<double>(kShift)) -
        kShift;
  } else {
    const uint64_t odd = (magnitude >> kLost) & 1;
    const uint64_t moved = magnitude - (static_cast<uint64_t>(1023 - kBias) << 52);
    code = (moved + (1ull << (kLost - 1)) - 1 + odd) >> kLost;
    if (code > kTooLarge) code = kTooLarge;
  }
  return static_cast<uint8_t>(sign | code);
}

template <int kFraction, int kBias, Beyond kBeyond>
Float8<kFraction, kBias, kBeyond>::operator float() const {
  constexpr int kAdded = 23 - kFraction;
  const uint32_t code = bits & 0x7fu, sign = static_cast<uint32_t>(bits & 0x80u) << 24;
  uint32_t magnitude = 0;
  if (kBeyond == Beyond::nan ? code == kNan : code > kTooLarge) {
    magnitude = 0x7fc00000u;
  } else if (kBeyond == Beyond::infinity && code == kTooLarge) {
    magnitude = 0x7f800000u;
  } else if (code >> kFraction == 0) {
    constexpr uint32_t kLastBit = static_cast<uint32_t>(127 + 1 - kBias - kFraction) << 23;
    magnitude = std::bit_cast<uint32_t>(static_cast<float>(code) * std::bit_cast<float>(kLastBit));
  } else {
    magnitude = (code << kAdded) + (static_cast<uint32_t>(127 - kBias) << 23);
  }
  return std::bit_cast<float>(sign | magnitude);
}

}  // namespace millrace::cpu
