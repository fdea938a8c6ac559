// Time as an argument. Code that needs to know the time takes a Clock; tests pass a FakeClock.
#pragma once

#include <chrono>

#include "millrace/base/mutex.h"

namespace millrace {

class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  virtual ~Clock() = default;
  // Monotonic; for deadlines and durations.
  virtual Time now() const = 0;
  // Microseconds since the Unix epoch; for timelines and logs only.
  virtual int64_t wall_micros() const = 0;

  // The machine's clock.
  static const Clock& real();
};

// Stands still until it is told to move. Thread-safe.
class FakeClock final : public Clock {
 public:
  Time now() const override;
  int64_t wall_micros() const override;
  void advance(Duration by);

 private:
  mutable Mutex mutex_;
  Duration elapsed_ MR_GUARDED_BY(mutex_){};
};

}  // namespace millrace
