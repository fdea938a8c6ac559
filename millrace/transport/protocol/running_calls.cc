#include "millrace/transport/protocol/running_calls.h"

#include <chrono>
#include <map>
#include <vector>

#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {

Status RunningCalls::enter(RunningCall& call) {
  MutexLock lock(mutex_);
  if (stopping_.ok()) calls_.insert(&call);
  return stopping_;
}

void RunningCalls::leave(RunningCall& call) {
  MutexLock lock(mutex_);
  calls_.erase(&call);
  if (!stopping_.ok() && calls_.empty()) changed_.notify_all();
}

void RunningCalls::stop(const Status& why) {
  std::vector<std::shared_ptr<RunningCall>> calls;
  {
    MutexLock lock(mutex_);
    stopping_ = why;
    // A call leaves before it goes, so these are alive.
    for (RunningCall* call : calls_) calls.push_back(call->shared_from_this());
  }
  for (const auto& call : calls) call->cancel(why);
}

bool RunningCalls::wait_until_empty(Clock::Time deadline) {
  MutexLock lock(mutex_);
  while (!calls_.empty())
    if (!changed_.wait_until(mutex_, deadline)) return calls_.empty();
  return true;
}

std::string RunningCalls::list() const {
  std::map<std::string, int> counts;
  {
    MutexLock lock(mutex_);
    for (const RunningCall* call : calls_) ++counts[std::string(short_name(call->method()))];
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    if (count > 1) str_append(&text, count, " x ");
    text += name;
  }
  return text;
}

void RunningCalls::complain(RunningCall& call, std::string_view text) const {
  MutexLock lock(mutex_);
  if (calls_.contains(&call)) log_.error(text);
}

Status why_nobody_waits(std::string_view method, const std::optional<Clock::Time>& deadline,
                        Clock::Time now) {
  const std::string_view name = short_name(method);
  const Status why =
      deadline && now >= *deadline
          ? error(Code::deadline_exceeded, "the caller's deadline for ", name, " passed")
          : cancelled("the caller of ", name, " cancelled it or lost its connection");
  return why.as_consequence();
}

void count_reply(Metrics& metrics, int64_t bytes, Clock::Duration took) {
  metrics.add(Counter::bytes_sent, bytes);
  metrics.record(Histogram::reply_bytes, bytes);
  metrics.record(Histogram::call_micros,
                 std::chrono::duration_cast<std::chrono::microseconds>(took).count());
}

}  // namespace millrace::transport
