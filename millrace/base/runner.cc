#include "millrace/base/runner.h"

#include <utility>

namespace millrace {

void CallerThread::post(Task task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void CallerThread::finish() {
  // Notify with the lock held: the waiter may destroy this object as soon as it gets the lock.
  MutexLock lock(mutex_);
  finished_ = true;
  changed_.notify_one();
}

bool CallerThread::wait(std::optional<Clock::Time> deadline) {
  MutexLock lock(mutex_);
  for (;;) {
    if (!tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      mutex_.unlock();
      task();
      task = nullptr;
      mutex_.lock();
      continue;
    }
    if (finished_) return true;
    if (!deadline) {
      changed_.wait(mutex_);
    } else if (!changed_.wait_until(mutex_, *deadline) && tasks_.empty() && !finished_) {
      return false;
    }
  }
}

}  // namespace millrace
