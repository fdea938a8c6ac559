// IdlePool: objects that are not in use, kept so that what runs again and again makes none. As many
// are kept as were in use at once, up to a bound. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "millrace/base/mutex.h"

namespace millrace {

// What a pool keeps. Whoever gives it in knows what it really is.
class Pooled {
 public:
  virtual ~Pooled() = default;
};

class IdlePool {
 public:
  IdlePool() = default;
  ~IdlePool() { delete first_.load(std::memory_order_acquire); }

  // Null if there is none.
  std::unique_ptr<Pooled> take() {
    if (Pooled* first = first_.exchange(nullptr, std::memory_order_acquire))
      return std::unique_ptr<Pooled>(first);
    MutexLock lock(mutex_);
    if (more_.empty()) return nullptr;
    std::unique_ptr<Pooled> one = std::move(more_.back());
    more_.pop_back();
    return one;
  }

  void give(std::unique_ptr<Pooled> one) {
    Pooled* none = nullptr;
    if (first_.compare_exchange_strong(none, one.get(), std::memory_order_acq_rel)) {
      (void)one.release();  // first_ owns it now
      return;
    }
    MutexLock lock(mutex_);
    if (more_.size() < kMost) more_.push_back(std::move(one));
  }

 private:
  static constexpr size_t kMost = 63;

  std::atomic<Pooled*> first_{nullptr};  // the one that uses one after the other have
  Mutex mutex_;
  std::vector<std::unique_ptr<Pooled>> more_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
