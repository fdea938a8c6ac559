#include "millrace/io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace millrace::io {

uint32_t crc32c(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, std::min<size_t>(bytes.size(), 1 << 30));
    // The library reads only, whatever its type says.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(piece.data()));
    crc = crc32_iscsi(data, static_cast<int>(piece.size()), crc);
    bytes.remove_prefix(piece.size());
  }
  return ~crc;
}

}  // namespace millrace::io
