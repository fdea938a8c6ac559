// MemberWorkers: reaches the members of a cluster, wherever they are at the moment.
//
// If their addresses stay it hands out what the directory has there; else a MovingWorker per task,
// which follows it. Masters and workers have one each. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/cluster/moving_worker.h"

namespace millrace {

class MemberWorkers {
 public:
  // `directory` and what `host` refers to outlive this.
  MemberWorkers(std::shared_ptr<Members> members, WorkerDirectory& directory, const Host& host);
  // Whoever still has a worker from here gets CANCELLED for an answer, if it is a MovingWorker.
  ~MemberWorkers();

  Members& members() const { return *members_; }
  // Cheap. Errors: NOT_FOUND for a task that is not in the cluster; where addresses stay, those of
  // the directory.
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task);
  // What waits for an address, a line for each task, for people.
  std::vector<std::string> describe_waits() const;

 private:
  struct Moving;

  const std::shared_ptr<Members> members_;
  WorkerDirectory& directory_;
  const Host host_;
  const std::shared_ptr<Moving> moving_;
  const TaskWatch watch_;  // null: addresses stay
};

}  // namespace millrace
