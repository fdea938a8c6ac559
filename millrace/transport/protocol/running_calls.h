// RunningCalls: the calls to a server that have arrived and in which it may still be needed,
// whatever carried them. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "millrace/base/clock.h"
#include "millrace/base/log.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/transport/protocol/received_call.h"

namespace millrace::transport {

class RunningCall : public ReceivedCall, public std::enable_shared_from_this<RunningCall> {
 public:
  // Tells whoever handles it, unless it has been answered.
  virtual void cancel(const Status& why) = 0;
};

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
