// The checksum of TensorFlow's files: CRC-32C, and its disguise.
//
// Files that hold checksums of data that holds checksums would weaken them; so a checksum is kept
// "masked": turned by 15 bits, plus a constant. Both are facts of the formats.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::io {

// Of `bytes`; or of what `before` is the checksum of, followed by `bytes`.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

constexpr uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }
constexpr uint32_t unmasked(uint32_t kept) {
  const uint32_t turned = kept - 0xa282ead8U;
  return (turned >> 17) | (turned << 15);
}

}  // namespace millrace::io
