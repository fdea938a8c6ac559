// Random bits by counting, as TensorFlow's ops draw them: same seeds, same numbers.
//
//   Philox 4x32, ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011):
//   a block of four words is a function of a counter of 128 bits and a key of 64. Any block can be
//   had without those before it.
//
// PhiloxBlocks is a value; PhiloxStream is a kernel's own, and each run takes a part of it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/op/attrs.h"

namespace millrace {

using PhiloxBlock = std::array<uint32_t, 4>;

class PhiloxBlocks {
 public:
  using Key = std::array<uint32_t, 2>;

  PhiloxBlocks(Key key, PhiloxBlock counter) : key_(key), counter_(counter) {}
  // The key is the first seed, the second one the upper half of the counter.
  static PhiloxBlocks of_seeds(uint64_t seed, uint64_t seed2);
  // As stateless ops begin: from two seeds of which neither need be good alone.
  static PhiloxBlocks scrambled(uint64_t seed, uint64_t seed2);

  const Key& key() const { return key_; }
  const PhiloxBlock& counter() const { return counter_; }

  PhiloxBlock next();
  // The next `count`, which are had sooner together than one by one.
  void next(PhiloxBlock* blocks, int64_t count);
  void skip(uint64_t blocks);
  // The same, so many blocks further.
  PhiloxBlocks from(uint64_t blocks) const {
    PhiloxBlocks later = *this;
    later.skip(blocks);
    return later;
  }

 private:
  // The halves of the counter.
  uint64_t lower() const { return counter_[0] | uint64_t{counter_[1]} << 32; }
  uint64_t upper() const { return counter_[2] | uint64_t{counter_[3]} << 32; }

  Key key_;
  PhiloxBlock counter_;  // lowest word first
};

// The words of blocks, one by one.
class PhiloxWords {
 public:
  explicit PhiloxWords(PhiloxBlocks blocks) : blocks_(blocks) {}
  uint32_t next() {
    if (used_ == 4) {
      block_ = blocks_.next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  PhiloxBlocks blocks_;
  PhiloxBlock block_{};
  size_t used_ = 4;
};

// Words as numbers in [0, 1): the mantissa of a number in [1, 2), less 1.
inline float unit_float(uint32_t word) {
  constexpr uint32_t kOne = uint32_t{127} << 23;
  return std::bit_cast<float>(kOne | (word & 0x7fffffu)) - 1.0f;
}
inline double unit_double(uint32_t first, uint32_t second) {
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  return std::bit_cast<double>(kOne | uint64_t{first & 0xfffffu} << 32 | second) - 1.0;
}

class PhiloxStream {
 public:
  // From the attributes "seed" and "seed2"; both 0 means seeds out of `random`, or of the system's
  // if that is null.
  static Result<std::unique_ptr<PhiloxStream>> create(const AttrView& attrs, Random* random);
  static std::unique_ptr<PhiloxStream> unseeded(Random* random);
  explicit PhiloxStream(PhiloxBlocks blocks) : blocks_(blocks) {}

  // The next blocks, which nobody else gets. Thread-safe.
  PhiloxBlocks reserve(uint64_t blocks);

 private:
  Mutex mutex_;
  PhiloxBlocks blocks_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
