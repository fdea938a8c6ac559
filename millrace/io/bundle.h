// A checkpoint in TensorFlow's second format ("tensor bundle"): what lies where.
//
//   <prefix>.index                   a table, sorted by key:
//       ""      -> header            how many shards of data, byte order, version
//       <name>  -> entry             type, shape, where its bytes are, their checksum;
//                                    or, of a tensor that was saved in slices, which slices there
//                                    are
//       <slice_key(name, slice)> -> entry of the slice
//   <prefix>.data-00000-of-00002     the bytes of tensors, one after the other
//   <prefix>.data-00001-of-00002
//
// Plain elements lie as they do in memory (lowest byte first). A tensor of strings is their lengths
// as varints, a checksum of the lengths (4 bytes), then the strings. A tensor of variants is, for
// each, the length of its message as a varint, the message, and a checksum of all so far.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/io/slice.h"
#include "millrace/tensor/dtype.h"
#include "millrace/tensor/shape.h"

namespace millrace::io {

struct BundleHeader {
  int num_shards = 1;
  bool is_big_endian = false;
  int min_consumer = 0;  // the oldest reader that understands it
};

struct BundleEntry {
  DType dtype = DType::invalid;
  Shape shape;
  int shard = 0;
  uint64_t offset = 0, size = 0;
  uint32_t checksum = 0;      // masked
  std::vector<Slice> slices;  // not empty: the bytes are those of the slices

  friend bool operator==(const BundleEntry&, const BundleEntry&) = default;
};

// The version that this reads and writes.
inline constexpr int kBundleVersion = 1;

std::string encode(const BundleHeader& header);
std::string encode(const BundleEntry& entry);
// Errors: DATA_LOSS for bytes that are no such message, or say what can't be.
Result<BundleHeader> decode_bundle_header(std::string_view bytes);
Result<BundleEntry> decode_bundle_entry(std::string_view bytes);

// The checksum of lengths of strings, gone on with one more: of the number, not of its varint. One
// that fits is summed up as four bytes.
uint32_t crc_with_length(uint32_t before, uint64_t length);
// The checksum of variants, gone on with the length of one: always of eight bytes.
uint32_t crc_with_whole_length(uint32_t before, uint64_t length);

std::string index_path(std::string_view prefix);
std::string data_path(std::string_view prefix, int shard, int num_shards);

}  // namespace millrace::io
