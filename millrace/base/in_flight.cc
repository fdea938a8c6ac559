#include "millrace/base/in_flight.h"

namespace millrace {

InFlight::Token InFlight::enter() {
  MutexLock lock(mutex_);
  ++count_;
  return Token(this);
}

void InFlight::leave() {
  // Notify with the lock held: the waiter may destroy this object as soon as it gets the lock.
  MutexLock lock(mutex_);
  if (--count_ == 0) empty_.notify_all();
}

size_t InFlight::count() const {
  MutexLock lock(mutex_);
  return count_;
}

bool InFlight::wait(std::optional<Clock::Time> deadline) {
  MutexLock lock(mutex_);
  while (count_ > 0) {
    if (!deadline) {
      empty_.wait(mutex_);
    } else if (!empty_.wait_until(mutex_, *deadline) && count_ > 0) {
      return false;
    }
  }
  return true;
}

}  // namespace millrace
