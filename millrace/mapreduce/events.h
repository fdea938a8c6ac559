// Events: functions that several threads have one thread call, in the order in which they come.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace::mapreduce {

class Events {
 public:
  void post(std::function<void()> event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_one();
  }
  // The next one; none if none comes until then.
  std::optional<std::function<void()>> next(Clock::Time until) {
    MutexLock lock(mutex_);
    while (events_.empty())
      if (!changed_.wait_until(mutex_, until) && events_.empty()) return std::nullopt;
    std::function<void()> event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> events_ MR_GUARDED_BY(mutex_);
};

// How many pieces may still be put into a queue: whoever divides the input waits for those who map.
class Room {
 public:
  explicit Room(int64_t pieces) : left_(pieces) {}
  // Waits for room; false if there will be none any more.
  bool take() {
    MutexLock lock(mutex_);
    while (left_ <= 0 && !is_closed_) changed_.wait(mutex_);
    --left_;
    return !is_closed_;
  }
  void give() {
    MutexLock lock(mutex_);
    ++left_;
    changed_.notify_one();
  }
  void close() {
    MutexLock lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int64_t left_ MR_GUARDED_BY(mutex_);
  bool is_closed_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::mapreduce
