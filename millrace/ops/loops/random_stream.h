// RandomStream: where a random kernel gets its numbers. One per kernel; each run takes a substream
// of its own, so that runs on several threads share nothing but a counter.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/op/attrs.h"

namespace millrace {

// A number out of `random`, or out of the system's source if that is null.
uint64_t fresh_number(Random* random);

// A sequence of random bits (xoshiro256**), a value type. Meets UniformRandomBitGenerator.
class RandomBits {
 public:
  using result_type = uint64_t;
  explicit RandomBits(uint64_t seed);
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()();

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  // Uniform in [0, limit). Requires limit > 0.
  uint64_t below(uint64_t limit);
  // Normally distributed with mean 0 and deviation 1.
  double normal();

 private:
  uint64_t state_[4];
  double spare_ = 0;  // the second value of the pair that normal() makes
  bool has_spare_ = false;
};

class RandomStream {
 public:
  // From the attributes "seed" and "seed2"; both 0 means a seed out of `random`, or of the
  // system's if that is null.
  static Result<std::unique_ptr<RandomStream>> create(const AttrView& attrs, Random* random);
  explicit RandomStream(uint64_t seed) : seed_(seed) {}
  RandomBits next_run() {
    return RandomBits(seed_ + 0x9e3779b97f4a7c15u * runs_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  const uint64_t seed_;
  std::atomic<uint64_t> runs_{1};
};

}  // namespace millrace
