#include "millrace/base/timer.h"

#include "millrace/base/start_thread.h"

namespace millrace {

TimerQueue::~TimerQueue() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

TimerQueue::Timer TimerQueue::at(Clock::Time when, Task task) {
  MutexLock lock(mutex_);
  const Key key{when, next_id_++};
  const bool is_first = timers_.empty() || key < timers_.begin()->first;
  timers_.emplace(key, std::move(task));
  if (is_first) changed_.notify_all();
  // The next timer tries again.
  const Status refused = start_thread_if_missing();
  if (!refused.ok() && log_ != nullptr) log_->error(refused.message());
  return handle(key);
}

Status TimerQueue::start() {
  MutexLock lock(mutex_);
  return start_thread_if_missing();
}

Status TimerQueue::start_thread_if_missing() {
  if (thread_.joinable() || closing_) return {};
  MR_ASSIGN(thread_, start_thread("millrace-timer", [this] { work(); }));
  return {};
}

void TimerQueue::cancel(const Key& key) {
  MutexLock lock(mutex_);
  timers_.erase(key);
  // A task that cancels its own timer does not wait for itself.
  while (running_id_ == key.id && thread_.get_id() != std::this_thread::get_id())
    changed_.wait(mutex_);
}

void TimerQueue::work() {
  MutexLock lock(mutex_);
  while (!closing_) {
    if (timers_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    auto first = timers_.begin();
    if (Clock::real().now() < first->first.when) {
      changed_.wait_until(mutex_, first->first.when);
      continue;
    }
    running_id_ = first->first.id;
    Task task = std::move(first->second);
    timers_.erase(first);
    mutex_.unlock();
    task();
    task = nullptr;
    mutex_.lock();
    running_id_ = 0;
    changed_.notify_all();
  }
}

}  // namespace millrace
