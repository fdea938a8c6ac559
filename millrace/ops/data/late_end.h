// LateEnd: what ends later, on another thread, and the one iterator that waits for it without one.
#pragma once

#include <memory>
#include <utility>

#include "millrace/base/mutex.h"
#include "millrace/ops/data/dataset.h"

namespace millrace::data {

class LateEnd {
 public:
  // Once.
  void end(Status status = {}) {
    std::shared_ptr<Waker> waiting;
    {
      MutexLock lock(mutex_);
      has_ended_ = true;
      status_ = std::move(status);
      waiting = std::move(waiting_);
    }
    if (waiting != nullptr) waiting->wake();
  }
  // How it ended; false if it has not: then `waker` will be told.
  bool poll(const std::shared_ptr<Waker>& waker, Status* status) {
    MutexLock lock(mutex_);
    if (has_ended_) {
      *status = std::move(status_);
    } else {
      waiting_ = waker;
    }
    return has_ended_;
  }

 private:
  Mutex mutex_;
  bool has_ended_ MR_GUARDED_BY(mutex_) = false;
  Status status_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<Waker> waiting_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::data
