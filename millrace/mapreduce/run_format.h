// Files of sorted runs: what a mapper leaves for reducers, and what does not fit into memory.
//
//   | "MRRUNS2\n" 8 | block ... |
//   block = | entries' bytes u32 | checksum u32 | entries |
//   entry = | key's bytes varint | value's bytes varint | key | value |
//
// Numbers are little-endian, varints seven bits a byte, lowest first. The checksum is the CRC-32C
// of the size's four bytes and the entries, masked as in TensorFlow's files (io/crc32c.h). A
// segment is a range of whole blocks in which keys do not descend, in the order of their bytes. A
// block is closed when it has kBlockBytes or more; so one has more only by its last entry. Where
// segments begin is not in the file: whoever had it written knows (Segment).
//
// Made to be written once and read once by the same program's tasks, soon: no index, no version but
// the magic, no compression. Readers trust nothing: run_reader.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::mapreduce {

inline constexpr std::string_view kRunMagic = "MRRUNS2\n";
inline constexpr size_t kBlockHeadBytes = 8;
inline constexpr size_t kBlockBytes = 128 << 10;
// Of a key and a value together.
inline constexpr size_t kLongestEntry = size_t{1} << 30;

// A sorted run: in a file, from a byte on, so many bytes. None if it is empty.
struct Segment {
  std::string path;
  uint64_t offset = 0;
  uint64_t length = 0;
};

inline void put_varint(std::string* out, uint64_t number) {
  while (number >= 0x80) {
    *out += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *out += static_cast<char>(number);
}

// Takes a number off the front; false if there is none of at most 32 bits.
inline bool take_varint(std::string_view* bytes, uint32_t* number) {
  uint64_t made = 0;
  for (size_t i = 0; i < 5 && i < bytes->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*bytes)[i]);
    made |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    if (made > 0xffffffff) return false;
    bytes->remove_prefix(i + 1);
    *number = static_cast<uint32_t>(made);
    return true;
  }
  return false;
}

}  // namespace millrace::mapreduce
