#include "millrace/master/early_end.h"

#include <algorithm>
#include <utility>

namespace millrace {

namespace {

Cancellation::Registration on_pool(Cancellation& cancellation, Runner& pool,
                                   const EarlyEnd::Stop& stop) {
  return cancellation.on_cancel(
      [&pool, stop](const Status& why) { pool.post([stop, why] { stop(why); }); });
}

}  // namespace

EarlyEnd::EarlyEnd(MasterContext& context, const Call& call, std::string_view what,
                   const Stop& stop) {
  Runner& pool = context.options.pool;
  if (call.cancellation != nullptr) given_up_ = on_pool(*call.cancellation, pool, stop);
  if (!call.deadline) return;
  Status late(Code::deadline_exceeded,
              str_cat("Timed out waiting for ", what,
                      ": the timeout of the run, of the session or of the call passed"));
  timer_ = context.options.timers.at(*call.deadline, [&pool, stop, late = std::move(late)] {
    pool.post([stop, late] { stop(late); });
  });
}

EarlyEnd EarlyEnd::or_stopping(MasterContext& context, const Call& call, std::string_view what,
                               const Stop& stop) {
  EarlyEnd made(context, call, what, stop);
  made.stopping_ = on_pool(context.stopping, context.options.pool, stop);
  return made;
}

std::optional<Clock::Time> EarlyEnd::deadline(const Call& call, std::chrono::milliseconds timeout) {
  // A timeout beyond what the clock can count is none.
  if (timeout.count() <= 0 || timeout > std::chrono::hours(24 * 365 * 100)) return call.deadline;
  const Clock::Time own = Clock::real().now() + timeout;
  return call.deadline ? std::min(*call.deadline, own) : own;
}

}  // namespace millrace
