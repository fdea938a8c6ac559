// Backups: which pieces of work are given out a second time, because whoever has them takes long.
// Pure: time is an argument. Of one phase of a job.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "millrace/base/clock.h"

namespace millrace::mapreduce {

class Backups {
 public:
  // A piece is given out once more when nothing has been left to take for `least`, and for twice as
  // long as any piece took, and not twice. None: never.
  explicit Backups(std::optional<Clock::Duration> least) : least_(least) {}

  // A piece took so long.
  void note(Clock::Duration took) { longest_ = std::max(longest_, took); }
  // Those of the outstanding pieces to give out now; `num_waiting` wait to be taken.
  std::vector<int64_t> due(int64_t num_waiting, const std::vector<int64_t>& outstanding,
                           Clock::Time now);

 private:
  std::optional<Clock::Duration> least_;
  Clock::Duration longest_{0};
  std::optional<Clock::Time> idle_since_;
  std::set<int64_t> given_;
};

}  // namespace millrace::mapreduce
