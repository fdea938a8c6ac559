// StepPool: step states of one CompiledGraph that are not in use, kept so that a step allocates
// nothing. As many are kept as steps ran at once, up to a bound. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "millrace/base/mutex.h"

namespace millrace {

// What a pool keeps. The executor knows what it really is.
class PooledStep {
 public:
  virtual ~PooledStep() = default;
};

class StepPool {
 public:
  StepPool() = default;
  ~StepPool() { delete first_.load(std::memory_order_acquire); }

  // Null if there is none.
  std::unique_ptr<PooledStep> take() {
    if (PooledStep* first = first_.exchange(nullptr, std::memory_order_acquire))
      return std::unique_ptr<PooledStep>(first);
    MutexLock lock(mutex_);
    if (more_.empty()) return nullptr;
    std::unique_ptr<PooledStep> step = std::move(more_.back());
    more_.pop_back();
    return step;
  }

  void give(std::unique_ptr<PooledStep> step) {
    PooledStep* none = nullptr;
    if (first_.compare_exchange_strong(none, step.get(), std::memory_order_acq_rel)) {
      (void)step.release();  // first_ owns it now
      return;
    }
    MutexLock lock(mutex_);
    if (more_.size() < kMost) more_.push_back(std::move(step));
  }

 private:
  static constexpr size_t kMost = 63;

  std::atomic<PooledStep*> first_{nullptr};  // the one that steps one after the other use
  Mutex mutex_;
  std::vector<std::unique_ptr<PooledStep>> more_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
