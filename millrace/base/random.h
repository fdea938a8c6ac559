// Randomness as an argument, like time. Real is for ids that must differ between processes; Seeded
// gives tests the same numbers each time.
#pragma once

#include <cstdint>
#include <memory>
#include <random>

#include "millrace/base/mutex.h"

namespace millrace {

class Random {
 public:
  virtual ~Random() = default;
  // Uniform over all 64-bit numbers but zero. Thread-safe.
  virtual uint64_t next() = 0;
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : engine_(seed) {}
  uint64_t next() override;

 private:
  Mutex mutex_;
  std::mt19937_64 engine_ MR_GUARDED_BY(mutex_);
};

// A generator seeded from the operating system's entropy, and again in each process that is forked
// off: ids of two processes differ.
std::unique_ptr<Random> make_random();

}  // namespace millrace
