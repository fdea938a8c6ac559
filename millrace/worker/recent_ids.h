// RecentIds: recognises requests that come twice, as after a retry below this process. It remembers
// the last `capacity` ids. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/mutex.h"

namespace millrace {

class RecentIds {
 public:
  explicit RecentIds(size_t capacity) : capacity_(capacity) {}

  // True if `id` was not among the last ones; it is now. 0 is always new.
  bool is_new(int64_t id) {
    if (id == 0) return true;
    MutexLock lock(mutex_);
    if (!known_.insert(id).second) return false;
    if (order_.size() < capacity_) {
      order_.push_back(id);
      return true;
    }
    known_.erase(order_[next_]);
    order_[next_] = id;
    next_ = (next_ + 1) % capacity_;
    return true;
  }

 private:
  const size_t capacity_;
  Mutex mutex_;
  absl::flat_hash_set<int64_t> known_ MR_GUARDED_BY(mutex_);
  std::vector<int64_t> order_ MR_GUARDED_BY(mutex_);  // a ring once it is full
  size_t next_ MR_GUARDED_BY(mutex_) = 0;             // the oldest of a full ring
};

}  // namespace millrace
