// TaskWatches: who wants to be told when something about a task of the cluster changes. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/op/device_name.h"

namespace millrace {

// Held by whoever is to be told; dropping it ends that, but one last call may be under way then.
using TaskWatch = std::shared_ptr<const std::function<void(const TaskName&)>>;

class TaskWatches {
 public:
  TaskWatch add(std::function<void(const TaskName&)> hear);
  // Calls all who watch, on this thread and without a lock.
  void tell(const TaskName& task);

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<const std::function<void(const TaskName&)>>> watches_ MR_GUARDED_BY(
      mutex_);
};

}  // namespace millrace
