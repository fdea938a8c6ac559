#include "millrace/master/early_end.h"

#include <algorithm>
#include <utility>

namespace millrace {

EarlyEnd::EarlyEnd(const Host& host, const Call& call, std::string_view what, const Stop& stop) {
  if (call.cancellation != nullptr) given_up_ = posting(*call.cancellation, host.endings, stop);
  if (!call.deadline) return;
  timer_ = host.timers.at(
      *call.deadline, [&metrics = host.metrics, &endings = host.endings, stop, late = late(what)] {
        metrics.add(Counter::limits_hit);
        endings.post([stop, late] { stop(late); });
      });
}

Status EarlyEnd::late(std::string_view what) {
  return error(Code::deadline_exceeded, "Timed out waiting for ", what,
               ": the timeout of the run, of the session or of the call passed");
}

EarlyEnd EarlyEnd::or_stopping(MasterContext& context, const Call& call, std::string_view what,
                               const Stop& stop) {
  EarlyEnd made(context.host(), call, what, stop);
  made.stopping_ = posting(context.stopping, context.host().endings, stop);
  return made;
}

std::optional<Clock::Time> EarlyEnd::deadline(const Call& call, std::chrono::milliseconds timeout,
                                              Clock::Time now) {
  // A timeout beyond what the clock can count is none.
  if (timeout.count() <= 0 || timeout > std::chrono::hours(24 * 365 * 100)) return call.deadline;
  const Clock::Time own = now + timeout;
  return call.deadline ? std::min(*call.deadline, own) : own;
}

Clock::Time EarlyEnd::in_time_for(Clock::Time deadline, Clock::Time now) {
  constexpr Clock::Duration kMost = std::chrono::milliseconds(500);
  return deadline - std::clamp((deadline - now) / 10, Clock::Duration::zero(), kMost);
}

}  // namespace millrace
