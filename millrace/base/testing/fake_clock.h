// FakeClock: time that stands still until a test moves it.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace {

// Thread-safe.
class FakeClock final : public Clock {
 public:
  Time now() const override {
    MutexLock lock(mutex_);
    return Time(elapsed_);
  }
  int64_t wall_micros() const override {
    MutexLock lock(mutex_);
    return std::chrono::duration_cast<std::chrono::microseconds>(elapsed_).count();
  }
  void advance(Duration by) {
    MutexLock lock(mutex_);
    elapsed_ += by;
  }

 private:
  mutable Mutex mutex_;
  Duration elapsed_ MR_GUARDED_BY(mutex_){};
};

}  // namespace millrace
