#include "millrace/mapreduce/heartbeat.h"

#include <utility>

#include "millrace/base/start_thread.h"

namespace millrace::mapreduce {

Heartbeat::Heartbeat(SharedQueues& queues, const SharedQueues::Loan& loan, Clock::Duration lease,
                     const Clock& clock)
    : queues_(queues), loan_(loan), pause_(lease / 3), clock_(clock) {
  Result<std::thread> thread = start_thread("lease", [this] { beat(); });
  if (thread.ok()) thread_ = *std::move(thread);
}

Heartbeat::~Heartbeat() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::beat() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      const Clock::Time due = clock_.now() + pause_;
      while (!is_over_ && changed_.wait_until(mutex_, due)) {
      }
      if (is_over_) return;
    }
    // One that fails may be followed by one that comes through in time; a loan that is lost is told
    // to whoever reports.
    const Result<bool> is_held = queues_.extend(loan_);
    if (is_held.ok() && !*is_held) return;
  }
}

}  // namespace millrace::mapreduce
