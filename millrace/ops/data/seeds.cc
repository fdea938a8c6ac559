#include "millrace/ops/data/seeds.h"

namespace millrace::data {

Seeds Seeds::of(int64_t first, int64_t second, Random* random) {
  if (first != 0 || second != 0) return {first, second};
  const auto system = random != nullptr ? nullptr : make_random();
  Random& source = random != nullptr ? *random : *system;
  const auto drawn = static_cast<int64_t>(source.next());
  return {drawn, static_cast<int64_t>(source.next())};
}

Seeds WalkSeeds::next() {
  if (reshuffle_ == Reshuffle::never) return seeds_;
  MutexLock lock(mutex_);
  const int64_t first = words_.next();
  return {first, int64_t{words_.next()}};
}

}  // namespace millrace::data
