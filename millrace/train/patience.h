// Patience: how long to wait before trying once more what failed, and when to give up. The first
// try comes at once; then pauses double, up to half a minute. Success starts it anew.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "millrace/base/clock.h"

namespace millrace {

class Patience {
 public:
  // `limit`: how long failures in a row may go on, from the first one.
  explicit Patience(std::chrono::milliseconds limit) : limit_(limit) {}

  int failures() const { return failures_; }
  void succeeded() { failures_ = 0; }
  // How long to wait before the next try; none to give up.
  std::optional<std::chrono::milliseconds> failed(Clock::Time now) {
    if (failures_++ == 0) since_ = now;
    if (now - since_ >= limit_) return std::nullopt;
    if (failures_ == 1) return std::chrono::milliseconds(0);
    // The power is bounded before it is taken: failures may go on for days.
    return std::min(kFirst * (1 << std::min(failures_ - 2, 10)), kLongest);
  }

 private:
  static constexpr std::chrono::milliseconds kFirst{500}, kLongest{30'000};

  std::chrono::milliseconds limit_;
  int failures_ = 0;
  Clock::Time since_{};
};

}  // namespace millrace
