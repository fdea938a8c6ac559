// LogLimit: keeps one kind of line from filling the log.
//
//   LogLimit limit{std::chrono::seconds(10), host.clock, host.metrics};
//   ...
//   if (const auto left_out = limit.next())
//     log.warning("can't accept a connection: ", why, LogLimit::note(*left_out));
//
// The first line goes through, then at most one per interval, which tells how many were left out
// since. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/metrics.h"
#include "millrace/base/mutex.h"

namespace millrace {

class LogLimit {
 public:
  LogLimit(Clock::Duration interval, const Clock& clock, Metrics& metrics)
      : interval_(interval), clock_(clock), metrics_(metrics) {}

  // Nothing if the line is to be left out; else how many were since the last one.
  std::optional<int64_t> next();
  // " (and 41 times more since the last such line)"; nothing for 0.
  static std::string note(int64_t left_out);

 private:
  const Clock::Duration interval_;
  const Clock& clock_;
  Metrics& metrics_;
  Mutex mutex_;
  std::optional<Clock::Time> last_ MR_GUARDED_BY(mutex_);
  int64_t left_out_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
