// Seeds of what is random in datasets, drawn as TensorFlow draws them: same seeds, same order.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/ops/loops/philox_blocks.h"

namespace millrace::data {

struct Seeds {
  int64_t first = 0, second = 0;
  bool are_chosen_here = false;  // nobody has given any: another run has others
  // Both 0 means seeds of the system's.
  static Seeds of(int64_t first, int64_t second, Random* random);
  friend bool operator==(const Seeds&, const Seeds&) = default;
};

// From so many blocks on.
inline PhiloxWords words_of(const Seeds& seeds, uint64_t blocks = 0) {
  return PhiloxWords(PhiloxBlocks::of_seeds(static_cast<uint64_t>(seeds.first),
                                            static_cast<uint64_t>(seeds.second))
                         .from(blocks));
}

// Whether each walk along a dataset has an order of its own.
enum class Reshuffle : uint8_t { never, each_walk };

// Gives each walk its seeds. Thread-safe.
class WalkSeeds {
 public:
  // How far it is: the seeds it began with, and how often it was asked.
  struct Place {
    Seeds seeds;
    uint64_t drawn = 0;
  };

  WalkSeeds(const Seeds& seeds, Reshuffle reshuffle) : WalkSeeds(Place{seeds, 0}, reshuffle) {}
  WalkSeeds(const Place& place, Reshuffle reshuffle);
  Seeds next();
  Place place() const;
  Reshuffle reshuffle() const { return reshuffle_; }

 private:
  const Seeds seeds_;
  const Reshuffle reshuffle_;
  mutable Mutex mutex_;
  PhiloxWords words_ MR_GUARDED_BY(mutex_);
  uint64_t drawn_ MR_GUARDED_BY(mutex_);
};

// What one walk has drawn, so that another one may draw the same: the generators it has asked, and
// where each stood when it was first asked. Thread-safe.
class DrawnSeeds {
 public:
  using Places = std::vector<WalkSeeds::Place>;
  // More generators than these are not written down: a walk may make any number on its way.
  static constexpr size_t kMostPlaces = 4096;

  DrawnSeeds() = default;
  // For a walk that draws what the one drew that left these places. A generator is known again by
  // its seeds; of those that chose their own, which are others now, the first asked is the first.
  explicit DrawnSeeds(Places places) : places_(std::move(places)), again_(places_.size()) {}

  Seeds next(const std::shared_ptr<WalkSeeds>& from);
  Places places() const;

 private:
  struct Asked {
    std::weak_ptr<WalkSeeds> asked;    // to know that its address is still its own
    std::shared_ptr<WalkSeeds> drawn;  // null: itself
  };
  // The place that a generator asked for the first time is to stand at, if it was asked before.
  const WalkSeeds::Place* known(const Seeds& seeds) MR_REQUIRES(mutex_);
  void note(const WalkSeeds::Place& place) MR_REQUIRES(mutex_);
  void forget_what_is_gone() MR_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Places places_ MR_GUARDED_BY(mutex_);
  size_t again_ MR_GUARDED_BY(mutex_) = 0;        // so many were there before
  size_t next_chosen_ MR_GUARDED_BY(mutex_) = 0;  // of those: where the next one is looked for
  std::map<const WalkSeeds*, Asked> asked_ MR_GUARDED_BY(mutex_);
  size_t most_asked_ MR_GUARDED_BY(mutex_) = 64;  // before it is looked who is gone
};

}  // namespace millrace::data
