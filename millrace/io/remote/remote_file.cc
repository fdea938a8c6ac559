#include "millrace/io/remote/remote_file.h"

#include <algorithm>
#include <cstring>

namespace millrace::remote {
namespace {

// A piece that is read ahead: what comes in about the time that a question takes, up to what keeps
// the network busy.
constexpr size_t kSmallestPiece = 256 << 10, kLargestPiece = 8 << 20;
// Larger reads go past the piece, in requests of no more than this.
constexpr size_t kLargestRequest = 64 << 20;

}  // namespace

RemoteFile::RemoteFile(uint64_t size, Fetch fetch)
    : size_(size), fetch_(std::move(fetch)), next_size_(kSmallestPiece) {}

Status RemoteFile::refill(uint64_t offset) const {
  const bool goes_on = !piece_.empty() && offset == begin_ + piece_.size();
  next_size_ = goes_on ? std::min(next_size_ * 2, kLargestPiece) : kSmallestPiece;
  piece_.resize(std::min<uint64_t>(next_size_, size_ - offset));
  Status fetched = fetch_(offset, piece_);
  if (!fetched.ok()) piece_.clear();
  begin_ = offset;
  return fetched;
}

Result<size_t> RemoteFile::read(uint64_t offset, std::span<char> into) const {
  if (offset >= size_) return size_t{0};
  into = into.first(std::min<uint64_t>(into.size(), size_ - offset));
  size_t done = 0;
  while (done < into.size()) {
    const std::span<char> left = into.subspan(done);
    const uint64_t at = offset + done;
    if (left.size() >= kLargestPiece) {
      const size_t some = std::min(left.size(), kLargestRequest);
      MR_TRY(fetch_(at, left.first(some)));
      done += some;
      continue;
    }
    MutexLock lock(mutex_);
    if (at < begin_ || at >= begin_ + piece_.size()) MR_TRY(refill(at));
    const size_t from = at - begin_;
    const size_t some = std::min(left.size(), piece_.size() - from);
    std::memcpy(left.data(), piece_.data() + from, some);
    done += some;
  }
  return done;
}

}  // namespace millrace::remote
