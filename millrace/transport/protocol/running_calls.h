// RunningCalls: the calls to a server that have arrived and in which it may still be needed,
// whatever carried them. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "millrace/base/clock.h"
#include "millrace/base/log.h"
#include "millrace/base/metrics.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/transport/protocol/received_call.h"

namespace millrace::transport {

class RunningCall : public ReceivedCall, public std::enable_shared_from_this<RunningCall> {
 public:
  // Tells whoever handles it, unless it has been answered.
  virtual void cancel(const Status& why) = 0;
};

// Why a call that has not been answered has nobody to answer to, as a consequence.
Status why_nobody_waits(std::string_view method, const std::optional<Clock::Time>& deadline,
                        Clock::Time now);
// Once a call has ended: so many bytes answered it, so long after it came.
void count_reply(Metrics& metrics, int64_t bytes, Clock::Duration took);

class RunningCalls {
 public:
  // `log` lives as long as there are calls.
  explicit RunningCalls(const Log& log) : log_(log) {}

  // Errors: the reason of `stop`.
  Status enter(RunningCall& call);
  void leave(RunningCall& call);

  // Refuses calls from now on, and cancels those that run.
  void stop(const Status& why);
  // False if `deadline` passed before they had left.
  bool wait_until_empty(Clock::Time deadline);
  // "RunStep, 3 x RecvTensor"
  std::string list() const;
  // A line about a call, if it is among them: afterwards nobody is there to whom it matters.
  void complain(RunningCall& call, std::string_view text) const;

 private:
  const Log& log_;
  mutable Mutex mutex_;
  Condition changed_;
  std::unordered_set<RunningCall*> calls_ MR_GUARDED_BY(mutex_);
  Status stopping_ MR_GUARDED_BY(mutex_);  // why; OK while it runs
};

}  // namespace millrace::transport
