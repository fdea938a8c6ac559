// Heartbeat: a thread that extends a loan, each third of its time, as long as this is in scope.
#pragma once

#include <chrono>
#include <thread>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/mapreduce/shared_queues.h"

namespace millrace::mapreduce {

class Heartbeat {
 public:
  // All are referred to. Without a thread, which the system may refuse, the loan is not extended.
  Heartbeat(SharedQueues& queues, const SharedQueues::Loan& loan, Clock::Duration lease,
            const Clock& clock);
  // Waits for the last one.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat();

  SharedQueues& queues_;
  const SharedQueues::Loan& loan_;
  const Clock::Duration pause_;
  const Clock& clock_;
  Mutex mutex_;
  Condition changed_;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace millrace::mapreduce
