// MurmurHash2-64A, as TensorFlow's peers compute it for frame ids: both ends of a loop that spans
// tasks must agree on it byte for byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

inline constexpr uint64_t kFrameHashSeed = 0xDECAFCAFFEULL;

uint64_t murmur64(std::string_view bytes, uint64_t seed = kFrameHashSeed);
// Order-dependent mix of two 64-bit values.
inline uint64_t combine64(uint64_t a, uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7800ULL + (a << 10) + (a >> 4));
}

}  // namespace millrace
