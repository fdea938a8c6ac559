#include "millrace/mapreduce/run_reader.h"

#include <algorithm>
#include <utility>

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::mapreduce {

RunReader::RunReader(std::string path, std::unique_ptr<ReadableFile> file, uint64_t begin,
                     uint64_t end)
    : path_(std::move(path)), file_(std::move(file)), at_(begin), end_(end) {}

Status RunReader::lost(std::string_view what) const {
  return error(Code::data_loss, path_, ", byte ", block_at_, ": ", what, "; it is damaged");
}

Result<RunReader> RunReader::open(Files& files, const Segment& segment) {
  MR_ASSIGN(auto file, files.open(segment.path));
  MR_ASSIGN(const uint64_t size, file->size());
  char magic[kRunMagic.size()];
  MR_ASSIGN(const size_t some, file->read(0, magic));
  RunReader made(segment.path, std::move(file), segment.offset, segment.offset + segment.length);
  if (std::string_view(magic, some) != kRunMagic)
    return made.lost("it does not begin as a file of runs");
  made.block_at_ = segment.offset;
  if (segment.offset > size || segment.length > size - segment.offset)
    return made.lost(
        str_cat("a segment of ", segment.length, " bytes goes beyond its end at ", size));
  return made;
}

Status RunReader::read_block() {
  block_at_ = at_;
  last_key_.assign(key_);
  key_ = {};
  if (end_ - at_ < kBlockHeadBytes) return lost("there is no room for a block");
  if (next_head_.empty()) {
    next_head_.resize(kBlockHeadBytes);
    MR_ASSIGN(const size_t some, file_->read(at_, next_head_));
    if (some < kBlockHeadBytes) return lost("it ends too early");
  }
  const std::string head = std::exchange(next_head_, {});
  const auto size = io::read_little<uint32_t>(head);
  const auto checksum = io::read_little<uint32_t>(std::string_view(head).substr(4));
  const uint64_t left = end_ - at_ - kBlockHeadBytes;
  if (size == 0 || size > left)
    return lost(str_cat("a block of ", size, " bytes, with ", left, " left of its segment"));
  // With the head of the one that follows: one call of the system for each block.
  const size_t wanted = size + (size < left ? kBlockHeadBytes : 0);
  block_.resize(wanted);
  MR_ASSIGN(const size_t some, file_->read(at_ + kBlockHeadBytes, block_));
  if (some < size) return lost("it ends too early");
  if (some == wanted) next_head_.assign(block_, size);
  left_ = std::string_view(block_).substr(0, size);
  const uint32_t before = io::crc32c(std::string_view(head).substr(0, 4));
  if (io::masked(io::crc32c(left_, before)) != checksum) return lost("its checksum is another one");
  at_ += kBlockHeadBytes + size;
  return {};
}

Result<bool> RunReader::next() {
  const bool is_new_block = left_.empty();
  if (is_new_block) {
    if (at_ == end_) return false;
    MR_TRY(read_block());
  }
  const std::string_view before = is_new_block ? std::string_view(last_key_) : key_;
  uint32_t key = 0, value = 0;
  if (!take_varint(&left_, &key) || !take_varint(&left_, &value))
    return lost("a pair without its sizes");
  if (key > left_.size() || value > left_.size() - key)
    return lost(str_cat("a pair of ", key, " and ", value, " bytes, with ", left_.size(),
                        " left of its block"));
  key_ = left_.substr(0, key);
  value_ = left_.substr(key, value);
  left_.remove_prefix(size_t{key} + value);
  if (key_ < before) return lost("its keys are out of order");
  return true;
}

}  // namespace millrace::mapreduce
