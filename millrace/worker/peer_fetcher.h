// PeerFetcher: gets tensors from the other tasks of a session's cluster. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/random.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/services.h"

namespace millrace {

class PeerFetcher {
 public:
  // References must outlive the fetcher.
  PeerFetcher(const TaskName& own_task, ClusterSpec cluster, WorkerDirectory& directory,
              Random& random);

  // True if the source device of a rendezvous key is on this task.
  bool is_local(std::string_view key) const;
  // Asks the source's task for the tensor. `cancellation` must stay alive until the answer.
  // Errors: INTERNAL "No worker known as <task>"; what the peer says.
  void fetch(int64_t step_id, std::string_view key, Cancellation* cancellation,
             Done<RecvTensorReply> done) const;

 private:
  Result<std::shared_ptr<WorkerService>> find(const TaskName& task) const;

  const std::string own_prefix_;  // "/job:worker/replica:0/task:0/"
  const ClusterSpec cluster_;
  WorkerDirectory& directory_;
  Random& random_;
};

}  // namespace millrace
