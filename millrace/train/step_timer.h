// StepTimer: when a hook is due that wants to be so every so many steps, or every so long. Due at
// the first step that it is asked about.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "millrace/base/clock.h"

namespace millrace {

// How often: of the two, what is not 0; neither: once.
struct Every {
  int64_t steps = 0;
  std::chrono::milliseconds time{0};
};

class StepTimer {
 public:
  explicit StepTimer(Every every) : every_(every) {}

  // Never twice at one step.
  bool is_due(int64_t step, Clock::Time now) const {
    if (!last_) return true;
    if (last_->step == step) return false;
    if (every_.steps > 0 && step >= last_->step + every_.steps) return true;
    return every_.time.count() > 0 && now >= last_->time + every_.time;
  }

  struct Moment {
    int64_t step = 0;
    Clock::Time time = {};
  };
  // Notes that it was done; the time before, if there was one.
  std::optional<Moment> done(int64_t step, Clock::Time now) {
    return std::exchange(last_, Moment{step, now});
  }
  std::optional<Moment> last() const { return last_; }

 private:
  Every every_;
  std::optional<Moment> last_;
};

}  // namespace millrace
