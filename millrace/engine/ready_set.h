// ReadySet: the nodes of a graph without loops that can run now. Private to this room.
//
// The one with the lowest number is taken first. Numbers are in topological order, so what becomes
// ready lies ahead, and a step walks through its arrays from front to back: memory is read in the
// order in which it lies, however large the graph. One bit a node; taking is a scan that goes on
// where it was, adding sets a bit. Only what ended elsewhere meanwhile may lie behind; the scan
// then goes back.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

class ReadySet {
 public:
  // For the numbers from 0 up to `size`, exclusive.
  explicit ReadySet(size_t size) : words_((size + 63) / 64 + 1) { words_.back() = kEnd; }

  void add(uint32_t number) {
    const size_t word = number / 64;
    words_[word] |= uint64_t{1} << (number % 64);
    at_ = std::min(at_, word);
  }

  // False if it is empty.
  bool take_lowest(uint32_t* number) {
    while (words_[at_] == 0) ++at_;
    if (at_ == words_.size() - 1) return false;
    *number =
        static_cast<uint32_t>(at_ * 64) + static_cast<uint32_t>(std::countr_zero(words_[at_]));
    words_[at_] &= words_[at_] - 1;
    return true;
  }

  void clear() { std::fill(words_.begin(), words_.end() - 1, 0); }

 private:
  static constexpr uint64_t kEnd = 1;  // in the last word, where every scan stops

  std::vector<uint64_t> words_;
  size_t at_ = 0;  // the words before this one are empty
};

}  // namespace millrace
