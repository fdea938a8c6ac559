// Lines of a text file, without their ends; the last one may have none. Returns are left out, at
// the end of a line and, as TensorFlow does, everywhere else. One thread; waits for the disk.
#pragma once

#include <memory>
#include <string>

#include "millrace/base/files.h"
#include "millrace/io/byte_source.h"

namespace millrace::io {

class LineReader {
 public:
  // A file without line ends must not fill memory.
  static constexpr size_t kLongestLine = size_t{64} << 20;

  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  explicit LineReader(std::unique_ptr<ReadableFile> file)
      : LineReader(bytes_of(std::move(file), Packing::none)) {}

  // The next line, in `line`; false at the end of the file.
  // Errors: INVALID_ARGUMENT for one of more than 64 MiB; what the disk says.
  Result<bool> next(std::string* line);
  // Where among the unpacked bytes the next line begins.
  uint64_t offset() const { return offset_; }

 private:
  const std::unique_ptr<ByteSource> source_;
  uint64_t offset_ = 0;
};

}  // namespace millrace::io
