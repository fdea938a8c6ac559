// Calls back at a time. One thread serves all timers of a TimerQueue and starts with the first one.
#pragma once

#include <map>
#include <thread>
#include <utility>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/base/runner.h"

namespace millrace {

class TimerQueue {
 public:
  // Cancels its timer when destroyed, waiting for the callback if it is running on another thread.
  // Must not outlive the queue.
  class [[nodiscard]] Timer {
   public:
    Timer() = default;
    Timer(Timer&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)), key_(std::move(other.key_)) {}
    Timer& operator=(Timer&& other) noexcept {
      if (this == &other) return *this;
      cancel();
      queue_ = std::exchange(other.queue_, nullptr);
      key_ = other.key_;
      return *this;
    }
    ~Timer() { cancel(); }
    void cancel();

   private:
    friend class TimerQueue;
    using Key = std::pair<Clock::Time, uint64_t>;
    Timer(TimerQueue* queue, Key key) : queue_(queue), key_(key) {}
    TimerQueue* queue_ = nullptr;
    Key key_{};
  };

  TimerQueue() = default;
  // Timers that have not fired never will.
  ~TimerQueue();

  // Starts the thread now, so that it is there whatever happens later.
  // Errors: RESOURCE_EXHAUSTED if the system refuses it.
  Status start();

  // Runs `task` on the queue's thread at `when` (real clock) or soon after. It must not block.
  Timer at(Clock::Time when, Task task);

 private:
  Status start_thread_if_missing() MR_REQUIRES(mutex_);
  void work();

  Mutex mutex_;
  Condition changed_;
  std::map<Timer::Key, Task> timers_ MR_GUARDED_BY(mutex_);
  uint64_t next_id_ MR_GUARDED_BY(mutex_) = 1;
  uint64_t running_id_ MR_GUARDED_BY(mutex_) = 0;
  bool closing_ MR_GUARDED_BY(mutex_) = false;
  std::thread thread_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
