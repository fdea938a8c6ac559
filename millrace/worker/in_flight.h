// InFlight: counts what is under way, so that its owner can wait for the end of it.
#pragma once

#include <utility>

#include "millrace/base/mutex.h"

namespace millrace {

class InFlight {
 public:
  // Counts as long as it lives.
  class [[nodiscard]] Ticket {
   public:
    explicit Ticket(InFlight& owner) : owner_(&owner) {
      MutexLock lock(owner.mutex_);
      ++owner.count_;
    }
    Ticket(Ticket&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (owner_ == nullptr) return;
      // Notify with the lock held: the owner may go as soon as it gets the lock.
      MutexLock lock(owner_->mutex_);
      if (--owner_->count_ == 0) owner_->none_.notify_all();
    }

   private:
    InFlight* owner_;
  };

  // Blocks until nothing is under way. The caller sees to it that nothing is added.
  void wait() {
    MutexLock lock(mutex_);
    while (count_ > 0) none_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition none_;
  size_t count_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
