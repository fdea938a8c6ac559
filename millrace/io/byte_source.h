// ByteSource: the bytes of a file from its beginning to its end, as they are or unpacked.
//
// Memory stays that of one piece, however long the file and whatever it unpacks to. One thread;
// waits for the disk.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/files.h"

namespace millrace::io {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `into`; the number of bytes, fewer than asked for only at the end.
  // Errors: DATA_LOSS for what does not unpack, or ends too early; what the disk says.
  virtual Result<size_t> read(std::span<char> into) = 0;

  // The bytes that come next, as many as are there without reading on; at least one, and none only
  // at the end. They stay, and come again, until they are taken. Errors: those of read().
  virtual Result<std::string_view> look() = 0;
  // Reads past so many of what look() showed.
  virtual void take(size_t count) = 0;
};

enum class Packing : uint8_t { none, zlib, gzip };

// By TensorFlow's names: "", "ZLIB", "GZIP". Errors: INVALID_ARGUMENT for another.
Result<Packing> packing_of(std::string_view name);

// A GZIP file may have several parts, one after another; what stands behind a ZLIB stream is left.
// Of what is cut off either an error comes, or as much as is there.
enum class CutOff : uint8_t { refused, ends };
std::unique_ptr<ByteSource> bytes_of(std::unique_ptr<ReadableFile> file, Packing packing,
                                     CutOff cut_off = CutOff::refused);

// Reads past `count` bytes; false if there are fewer.
Result<bool> skip(ByteSource& source, uint64_t count);

// Reads `count` bytes to the end of `into`, which grows with what comes: a length that lies costs
// nothing. False if there are fewer; then what there is.
Result<bool> read_exactly(ByteSource& source, uint64_t count, std::string* into);

}  // namespace millrace::io
