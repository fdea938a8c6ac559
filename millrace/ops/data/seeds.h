// Seeds of what is random in datasets, drawn as TensorFlow draws them: same seeds, same order.
#pragma once

#include <memory>
#include <utility>

#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/ops/loops/philox_blocks.h"

namespace millrace::data {

struct Seeds {
  int64_t first = 0, second = 0;
  // Both 0 means seeds of the system's.
  static Seeds of(int64_t first, int64_t second, Random* random);
};

inline PhiloxWords words_of(const Seeds& seeds) {
  return PhiloxWords(PhiloxBlocks::of_seeds(static_cast<uint64_t>(seeds.first),
                                            static_cast<uint64_t>(seeds.second)));
}

// Whether each walk along a dataset has an order of its own.
enum class Reshuffle : uint8_t { never, each_walk };

// Gives each walk its seeds. Thread-safe.
class WalkSeeds {
 public:
  WalkSeeds(const Seeds& seeds, Reshuffle reshuffle)
      : seeds_(seeds), reshuffle_(reshuffle), words_(words_of(seeds)) {}
  Seeds next();

 private:
  const Seeds seeds_;
  const Reshuffle reshuffle_;
  Mutex mutex_;
  PhiloxWords words_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::data
