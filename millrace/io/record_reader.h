// RecordReader: the records of a file (records.h), one after another, of a file of any length.
//
// One thread; waits for the disk.
#pragma once

#include <memory>
#include <string>

#include "millrace/io/byte_source.h"

namespace millrace::io {

class RecordReader {
 public:
  // No message of protobuf is longer; a record that says so must not fill memory.
  static constexpr uint64_t kLongestRecord = (uint64_t{1} << 31) - 1;

  explicit RecordReader(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}

  // The next record; false at the end, also if no more than the beginning of a record's head is
  // there, as TensorFlow does. After an error, the same error again.
  // Errors: DATA_LOSS with the offset where a checksum is wrong or a record is cut off;
  // INVALID_ARGUMENT for one of 2 GiB or more; what the source says.
  Result<bool> next(std::string* record);
  // Where among the unpacked bytes the next record begins.
  uint64_t offset() const { return offset_; }

 private:
  Result<bool> read_next(std::string* record);
  // One that lies across pieces of the source.
  Result<bool> gather(std::string* record);
  Result<uint64_t> size_in(std::string_view head) const;
  Status check(std::string_view record, std::string_view tail) const;
  // What a source that failed, or ended, inside the record says.
  Status truncated(std::string_view why) const;

  const std::unique_ptr<ByteSource> bytes_;
  uint64_t offset_ = 0;
  Status failed_;
};

}  // namespace millrace::io
