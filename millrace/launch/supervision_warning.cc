// Part of supervision.h: the warning before the time limit.
#include <chrono>

#include "millrace/base/str_cat.h"
#include "millrace/launch/supervision.h"

namespace millrace {

std::optional<Clock::Time> Supervision::warning_at() const {
  if (is_warned_ || !limits_.warning || !limits_.time_limit) return {};
  return start_ + *limits_.time_limit - limits_.warning->before;
}

void Supervision::warn_due(Clock::Time now, Actions& actions) {
  const std::optional<Clock::Time> due = warning_at();
  if (!due || now < *due) return;
  is_warned_ = true;
  const int signal = limits_.warning->signal;
  const Clock::Duration left = start_ + *limits_.time_limit - now;
  actions.emplace_back(
      Say{str_cat(duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(left)),
                  " are left of the time limit: ", signal_text(signal), " to all tasks")});
  for (size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i].phase == Phase::running && !tasks_[i].leaves_by)
      actions.emplace_back(Warn{i, signal});
}

}  // namespace millrace
