// PeerFetcher: gets tensors from the other tasks of a session's cluster. Looks for each task once,
// and holds it as long as the session lives. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/cluster/member_workers.h"
#include "millrace/cluster/services.h"

namespace millrace {

class PeerFetcher {
 public:
  // `random` must outlive the fetcher.
  PeerFetcher(const TaskName& own_task, std::shared_ptr<MemberWorkers> members, Random& random);

  // True if the source device of a rendezvous key is on this task.
  bool is_local(std::string_view key) const;
  // The worker of the task that a key's source is on. Errors: INVALID_ARGUMENT for what is no key
  // or names no task; INTERNAL "No worker known as <task>"; those of the directory.
  Result<std::shared_ptr<WorkerService>> peer_of(std::string_view key) const;
  // Asks that worker for the tensor. `cancellation` must stay alive until the answer.
  void fetch(WorkerService& peer, int64_t step_id, std::string_view key, Cancellation* cancellation,
             Done<RecvTensorReply> done) const;

 private:
  const std::string own_prefix_;  // "/job:worker/replica:0/task:0/"
  const std::shared_ptr<MemberWorkers> members_;
  Random& random_;

  mutable Mutex mutex_;
  mutable std::map<TaskName, std::shared_ptr<WorkerService>> peers_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
