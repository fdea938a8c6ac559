// Files of records, as TensorFlow writes them: events for TensorBoard, examples to train on.
//
//   | length u64 | checksum of the length u32 | data | checksum of the data u32 |   ... again
//
// Numbers are little-endian; a checksum is a CRC32C, masked because data may hold such checksums
// itself. Pure: bytes in, bytes out; files are Python's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::io {

inline constexpr size_t kRecordHeadBytes = 12, kRecordTailBytes = 4;  // around the data

// Whether the checksum at the front of `kept` is that of `bytes`.
bool is_record_checksum(std::string_view kept, std::string_view bytes);
// What a head says, of 12 bytes: how many bytes of data follow; none if its checksum is wrong.
std::optional<uint64_t> record_size(std::string_view head);

// One record with what stands around it.
std::string framed_record(std::string_view data);

// The data of all records of a file, in order. A last one that is cut off is left out: its writer
// may still be at it. Errors: DATA_LOSS with the offset of a record whose checksum is wrong.
Result<std::vector<std::string_view>> records_of(std::string_view file);

}  // namespace millrace::io
