#include "millrace/cluster/member_workers.h"

#include <utility>

namespace millrace {

// Outlives its owner while a watch is being told.
struct MemberWorkers::Moving {
  Mutex mutex;
  std::map<TaskName, std::shared_ptr<MovingWorker>> workers MR_GUARDED_BY(mutex);

  // Not on the thread of whoever tells, who may have locks of its own. With the lock, so that
  // `pool` is there.
  void changed(const TaskName& task, Runner& pool) {
    MutexLock lock(mutex);
    const auto found = workers.find(task);
    if (found != workers.end()) pool.post([worker = found->second] { worker->look_again(); });
  }
};

MemberWorkers::MemberWorkers(std::shared_ptr<Members> members, WorkerDirectory& directory,
                             const Host& host)
    : members_(std::move(members)),
      directory_(directory),
      host_(host),
      moving_(std::make_shared<Moving>()),
      watch_(members_->watch(
          [weak = std::weak_ptr(moving_), &pool = host_.pool](const TaskName& task) {
            if (const auto moving = weak.lock()) moving->changed(task, pool);
          })) {}

MemberWorkers::~MemberWorkers() {
  std::map<TaskName, std::shared_ptr<MovingWorker>> workers;
  {
    MutexLock lock(moving_->mutex);
    workers.swap(moving_->workers);
  }
  for (const auto& [task, worker] : workers)
    worker->close(cancelled("nobody looks for ", task.to_string(), " any more"));
}

Result<std::shared_ptr<WorkerService>> MemberWorkers::worker(const TaskName& task) {
  const Result<std::string> address = members_->address(task);
  if (address.status().code() == Code::not_found) return address.status();
  if (watch_ == nullptr) {
    MR_TRY(address.status());
    return directory_.worker(task, *address);
  }
  MutexLock lock(moving_->mutex);
  std::shared_ptr<MovingWorker>& worker = moving_->workers[task];
  if (worker == nullptr) worker = std::make_shared<MovingWorker>(task, members_, directory_, host_);
  return std::shared_ptr<WorkerService>(worker);
}

std::vector<std::string> MemberWorkers::describe_waits() const {
  std::vector<std::shared_ptr<MovingWorker>> workers;
  {
    MutexLock lock(moving_->mutex);
    for (const auto& [task, worker] : moving_->workers) workers.push_back(worker);
  }
  std::vector<std::string> lines;
  for (const auto& worker : workers)
    if (std::string line = worker->describe_waits(); !line.empty())
      lines.push_back(std::move(line));
  return lines;
}

}  // namespace millrace
