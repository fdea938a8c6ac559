#include "millrace/transport/inproc/directory.h"

#include <utility>

namespace millrace {

void InprocDirectory::add(const TaskName& task, std::shared_ptr<WorkerService> worker) {
  MutexLock lock(mutex_);
  // The old one, if any, goes without the lock: it may wait for its steps.
  workers_[task].swap(worker);
}

void InprocDirectory::remove(const TaskName& task) {
  std::shared_ptr<WorkerService> removed;
  MutexLock lock(mutex_);
  const auto found = workers_.find(task);
  if (found == workers_.end()) return;
  removed = std::move(found->second);
  workers_.erase(found);
}

Result<std::shared_ptr<WorkerService>> InprocDirectory::worker(const TaskName& task,
                                                               std::string_view address) {
  MutexLock lock(mutex_);
  const auto found = workers_.find(task);
  if (found != workers_.end()) return found->second;
  return not_found("task ", task.to_string(), " at ", address, " is not in this process");
}

Result<std::shared_ptr<WorkerService>> DirectoryChain::worker(const TaskName& task,
                                                              std::string_view address) {
  for (WorkerDirectory* directory : directories_) {
    auto found = directory->worker(task, address);
    if (found.ok() || found.status().code() != Code::not_found) return found;
  }
  return not_found("there is no way to task ", task.to_string(), " at ", address);
}

}  // namespace millrace
