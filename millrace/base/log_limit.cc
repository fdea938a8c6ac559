#include "millrace/base/log_limit.h"

#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

std::optional<int64_t> LogLimit::next() {
  const Clock::Time now = clock_.now();
  MutexLock lock(mutex_);
  if (last_ && now < *last_ + interval_) {
    ++left_out_;
    metrics_.add(Counter::log_lines_left_out);
    return std::nullopt;
  }
  last_ = now;
  return std::exchange(left_out_, 0);
}

std::string LogLimit::note(int64_t left_out) {
  if (left_out == 0) return {};
  return str_cat(" (and ", left_out, left_out == 1 ? " time" : " times",
                 " more since the last such line)");
}

}  // namespace millrace
