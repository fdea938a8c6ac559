// Arena: bytes that are added and never taken out one by one, and how much memory they take in all.
// What was added does not move. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace::mapreduce {

class Arena {
 public:
  // Blocks of `block` bytes; what is longer gets one of its own.
  explicit Arena(size_t block) : block_(block) {}

  // Room for `size` bytes, at least one; valid until clear().
  char* room(size_t size) {
    if (size > left_) add_block(size);
    char* const at = at_;
    at_ += size;
    left_ -= size;
    return at;
  }
  // A copy.
  std::string_view add(std::string_view text);
  // Forgets all; the first block stays for what comes.
  void clear();

  // What the blocks take, used or not.
  size_t bytes() const { return bytes_; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  void add_block(size_t size);

  const size_t block_;
  std::vector<Block> blocks_;
  char* at_ = nullptr;
  size_t left_ = 0;
  size_t bytes_ = 0;
};

}  // namespace millrace::mapreduce
