// Time as an argument. Code that needs to know the time takes a Clock; tests pass a FakeClock
// (testing/fake_clock.h).
#pragma once

#include <chrono>

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

}  // namespace millrace
