#include "millrace/cluster/task_watches.h"

#include <utility>

namespace millrace {

TaskWatch TaskWatches::add(std::function<void(const TaskName&)> hear) {
  auto watch = std::make_shared<const std::function<void(const TaskName&)>>(std::move(hear));
  MutexLock lock(mutex_);
  std::erase_if(watches_, [](const auto& known) { return known.expired(); });
  watches_.emplace_back(watch);
  return watch;
}

void TaskWatches::tell(const TaskName& task) {
  std::vector<TaskWatch> told;
  {
    MutexLock lock(mutex_);
    for (const auto& watch : watches_)
      if (TaskWatch held = watch.lock()) told.push_back(std::move(held));
  }
  for (const TaskWatch& watch : told) (*watch)(task);
}

}  // namespace millrace
