// How long poll() may wait for what is due at some time. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "millrace/base/clock.h"

namespace millrace {

// In milliseconds: not less than what is left until then, nothing if that is over, and a minute at
// most.
inline int poll_milliseconds(Clock::Time until, Clock::Time now) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - now).count() + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

}  // namespace millrace
