#include "millrace/mapreduce/utf8.h"

#include <cstdint>
#include <cstring>

namespace millrace::mapreduce {

namespace {

// How many bytes the character at the front takes, which is beyond ASCII; 0 if it is none.
size_t wide_character(const unsigned char* at, size_t left) {
  const auto follows = [&](size_t i, unsigned char low = 0x80, unsigned char high = 0xbf) {
    return i < left && at[i] >= low && at[i] <= high;
  };
  const unsigned char lead = at[0];
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned char low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned char low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  size_t left = text.size();
  while (left != 0) {
    uint64_t eight = 0;
    while (left >= sizeof eight) {
      std::memcpy(&eight, at, sizeof eight);
      if ((eight & 0x8080808080808080U) != 0) break;
      at += sizeof eight;
      left -= sizeof eight;
    }
    if (left == 0) break;
    const size_t size = *at < 0x80 ? 1 : wide_character(at, left);
    if (size == 0) return false;
    at += size;
    left -= size;
  }
  return true;
}

}  // namespace millrace::mapreduce
