// Philox: a sequence of random bits that is a function of a counter and a key, as TensorFlow's ops
// draw them: same seeds, same numbers.
//
//   Philox 4x32, ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011):
//   each counter of 128 bits makes four words of 32. The key is the first seed, the second seed the
//   upper half of the counter.
#pragma once

#include <array>
#include <cstdint>

namespace millrace {

class Philox {
 public:
  Philox(uint64_t seed, uint64_t seed2)
      : key_{low(seed), high(seed)}, counter_{0, 0, low(seed2), high(seed2)} {}

  // Leaves out 4 * `blocks` words.
  void skip(uint64_t blocks);

  uint32_t word() {
    if (used_ == 4) refill();
    return block_[used_++];
  }
  uint64_t two_words() {
    const uint64_t first = word();
    return first | uint64_t{word()} << 32;
  }
  // Uniform in [0, 1), of 23 and of 52 bits.
  float real32();
  double real64();
  // Uniform in [0, limit), each exactly as likely; 0 for a limit of 0.
  uint32_t below32(uint32_t limit) {
    return below(limit, [this] { return word(); });
  }
  uint64_t below64(uint64_t limit) {
    return below(limit, [this] { return two_words(); });
  }

 private:
  static uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
  static uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
  void refill();

  template <class T, class Next>
  static T below(T limit, Next next) {
    if ((limit & (limit - 1)) == 0) return next() & (limit == 0 ? T(0) : static_cast<T>(limit - 1));
    // As many values as are left over when all of them are dealt out are drawn again.
    const T rest = static_cast<T>(static_cast<T>(~T(0)) % limit + 1);
    for (;;) {
      const T drawn = next();
      if (drawn >= rest) return drawn % limit;
    }
  }

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // words of the block
};

}  // namespace millrace
