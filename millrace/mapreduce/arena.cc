#include "millrace/mapreduce/arena.h"

#include <algorithm>
#include <cstring>

namespace millrace::mapreduce {

std::string_view Arena::add(std::string_view text) {
  if (text.empty()) return {};
  char* const at = room(text.size());
  std::memcpy(at, text.data(), text.size());
  return {at, text.size()};
}

void Arena::clear() {
  if (blocks_.empty()) return;
  blocks_.resize(1);
  at_ = blocks_.front().bytes.get();
  left_ = bytes_ = blocks_.front().size;
}

void Arena::add_block(size_t size) {
  const size_t taken = std::max(size, block_);
  blocks_.push_back({std::make_unique_for_overwrite<char[]>(taken), taken});
  at_ = blocks_.back().bytes.get();
  left_ = taken;
  bytes_ += taken;
}

}  // namespace millrace::mapreduce
