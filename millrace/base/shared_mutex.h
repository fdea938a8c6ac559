// SharedMutex: one writer, or any number of readers. For what is read often, for a while at a time,
// and changed seldom; elsewhere a Mutex is quicker.
//
//   SharedMutex mutex_;
//   Graph graph_ MR_GUARDED_BY(mutex_);
//   ...
//   ReaderLock lock(mutex_);  // or WriterLock
#pragma once

#include <shared_mutex>

#include "millrace/base/mutex.h"

#define MR_REQUIRES_SHARED(...) MR_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))

namespace millrace {

class MR_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 public:
  void lock() MR_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() MR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  void lock_shared() MR_THREAD_ATTRIBUTE(acquire_shared_capability()) { mutex_.lock_shared(); }
  void unlock_shared() MR_THREAD_ATTRIBUTE(release_shared_capability()) { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class MR_THREAD_ATTRIBUTE(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) MR_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~WriterLock() MR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class MR_THREAD_ATTRIBUTE(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) MR_THREAD_ATTRIBUTE(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() MR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace millrace
