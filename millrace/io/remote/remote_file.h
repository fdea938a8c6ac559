// RemoteFile: a file of a store, read by ranges. Small reads are served from a piece that is read
// ahead; it grows while reads go on where the last one ended.
#pragma once

#include <functional>
#include <string>

#include "millrace/base/files.h"
#include "millrace/base/mutex.h"

namespace millrace::remote {

// Fills all of `into` from `offset` on, both inside the file. Any thread.
using Fetch = std::function<Status(uint64_t offset, std::span<char> into)>;

class RemoteFile final : public ReadableFile {
 public:
  RemoteFile(uint64_t size, Fetch fetch);
  Result<size_t> read(uint64_t offset, std::span<char> into) const override;
  Result<uint64_t> size() const override { return size_; }

 private:
  Status refill(uint64_t offset) const MR_REQUIRES(mutex_);

  const uint64_t size_;
  const Fetch fetch_;
  mutable Mutex mutex_;  // held while a piece is on its way: who waits, wants it
  mutable std::string piece_ MR_GUARDED_BY(mutex_);
  mutable uint64_t begin_ MR_GUARDED_BY(mutex_) = 0;  // of the piece, in the file
  mutable size_t next_size_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::remote
