// Files: where what outlives a process is kept. What a Host gives for it (host.h).
//
// The local disk is one kind (io/local_files.h); a test's files live in memory, or break where the
// test says so. Paths are texts with slashes, as the kind understands them. Calls wait inside
// system calls: whoever must not wait makes them where blocking is allowed (Host::blocking).
//
// Errors of all: NOT_FOUND, PERMISSION_DENIED, ALREADY_EXISTS, RESOURCE_EXHAUSTED (the disk or a
// quota is full), FAILED_PRECONDITION (a directory where a file was expected, or the reverse, or
// one that is not empty), UNKNOWN for what the system says else; "<path>; <what the system says>".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// Any thread may read, several at once.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // Fills `into` with what the file has from `offset` on; the number of bytes, fewer than asked for
  // only at its end.
  virtual Result<size_t> read(uint64_t offset, std::span<char> into) const = 0;
  virtual Result<uint64_t> size() const = 0;
};

// Grows at its end. One thread at a time. Going out of scope closes it; what `close` would have
// said is lost then.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // All of it, or an error; then nothing is known of the file's end.
  virtual Status append(std::string_view bytes) = 0;
  // Returns when other processes that open the file see what was appended.
  virtual Status flush() = 0;
  // Returns when what was appended would survive the machine.
  virtual Status sync() = 0;
  // Nothing may be called afterwards.
  virtual Status close() = 0;
};

struct FileFacts {
  uint64_t size = 0;
  bool is_directory = false;
  int64_t changed_micros = 0;  // since 1970, UTC
};

// Thread-safe.
class Files {
 public:
  virtual ~Files() = default;

  virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  // A new file, or an old one that is emptied.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;
  // A new file, or the end of an old one.
  virtual Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) = 0;

  virtual Result<FileFacts> facts(const std::string& path) = 0;
  // Names in a directory, in no order, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // With all that are above it. One that is there is fine.
  virtual Status make_directories(const std::string& path) = 0;
  virtual Status remove(const std::string& path) = 0;
  // Only if it is empty.
  virtual Status remove_directory(const std::string& path) = 0;
  // At once, for whoever looks: the new name stands for the old file or for this one. Both must be
  // files of one kind.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
};

}  // namespace millrace
