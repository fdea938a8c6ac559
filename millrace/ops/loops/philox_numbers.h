// Philox: numbers of several kinds out of Philox's words (ops/loops/philox_blocks.h), as
// TensorFlow's samplers draw them: same seeds, same numbers. A value; one run of a kernel has one.
#pragma once

#include <cstdint>

#include "millrace/ops/loops/philox_blocks.h"

namespace millrace {

class Philox {
 public:
  explicit Philox(PhiloxBlocks blocks) : words_(blocks) {}

  // Uniform in [0, 1), of 23 and of 52 bits.
  float real32() { return unit_float(words_.next()); }
  double real64() {
    const uint32_t upper = words_.next();
    return unit_double(upper, words_.next());
  }
  // Uniform in [0, limit), each exactly as likely; 0 for a limit of 0.
  uint32_t below32(uint32_t limit) {
    return below(limit, [this] { return words_.next(); });
  }
  uint64_t below64(uint64_t limit) {
    return below(limit, [this] { return two_words(); });
  }

 private:
  uint64_t two_words() {
    const uint64_t first = words_.next();
    return first | uint64_t{words_.next()} << 32;
  }

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

  PhiloxWords words_;
};

}  // namespace millrace
