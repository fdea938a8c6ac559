// Mutex, its scoped lock and its condition variable, with clang's thread-safety annotations.
//
//   Mutex mutex_;
//   std::map<Key, Waiter> waiting_ MR_GUARDED_BY(mutex_);
//   ...
//   MutexLock lock(mutex_);
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MR_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define MR_THREAD_ATTRIBUTE(x)
#endif
#define MR_GUARDED_BY(x) MR_THREAD_ATTRIBUTE(guarded_by(x))
#define MR_REQUIRES(...) MR_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define MR_EXCLUDES(...) MR_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace millrace {

class MR_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() MR_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() MR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class MR_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MR_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() MR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits with a Mutex held. Spurious wake-ups happen: wait in a loop over the condition.
class Condition {
 public:
  void wait(Mutex& mutex) MR_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False if `deadline` passed first.
  template <class ClockType, class Duration>
  bool wait_until(Mutex& mutex, std::chrono::time_point<ClockType, Duration> deadline)
      MR_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace millrace
