// InprocDirectory: the workers of this process, by task. DirectoryChain: several directories as
// one.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"

namespace millrace {

// Thread-safe. Tasks come and go; whoever found a worker keeps it alive and gets the answers of a
// worker that has stopped.
class InprocDirectory final : public WorkerDirectory {
 public:
  // Replaces the worker that the task had.
  void add(const TaskName& task, std::shared_ptr<WorkerService> worker);
  // Unknown tasks are fine.
  void remove(const TaskName& task);

  // `address` is not looked at. Errors: NOT_FOUND for a task that is not in this process.
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override;

 private:
  Mutex mutex_;
  std::map<TaskName, std::shared_ptr<WorkerService>> workers_ MR_GUARDED_BY(mutex_);
};

// Asks one directory after the other; the first that knows the task wins. Immutable.
class DirectoryChain final : public WorkerDirectory {
 public:
  // The directories must outlive the chain.
  explicit DirectoryChain(std::vector<WorkerDirectory*> directories)
      : directories_(std::move(directories)) {}

  // Errors: the first that is not NOT_FOUND, else NOT_FOUND.
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override;

 private:
  const std::vector<WorkerDirectory*> directories_;
};

}  // namespace millrace
