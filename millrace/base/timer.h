// TimerQueue: the timers of the machine's clock. One thread serves them all and starts with the
// first one.
#pragma once

#include <map>
#include <thread>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/timers.h"

namespace millrace {

class TimerQueue final : public Timers {
 public:
  // `log` hears if the system refuses the thread; null: nobody. It outlives this.
  explicit TimerQueue(const Log* log = nullptr) : log_(log) {}
  // Timers that have not fired never will.
  ~TimerQueue() override;

  // Starts the thread now, so that it is there whatever happens later.
  // Errors: RESOURCE_EXHAUSTED if the system refuses it.
  Status start();

  // On the queue's thread, at `when` by the machine's clock.
  Timer at(Clock::Time when, Task task) override;

 private:
  void cancel(const Key& key) override;
  Status start_thread_if_missing() MR_REQUIRES(mutex_);
  void work();

  const Log* const log_;
  Mutex mutex_;
  Condition changed_;
  std::map<Key, Task> timers_ MR_GUARDED_BY(mutex_);
  uint64_t next_id_ MR_GUARDED_BY(mutex_) = 1;
  uint64_t running_id_ MR_GUARDED_BY(mutex_) = 0;
  bool closing_ MR_GUARDED_BY(mutex_) = false;
  std::thread thread_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
