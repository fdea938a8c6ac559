// WorkerSession: what one master session has on this worker: its view of the devices, its graphs,
// its stateful kernels, the cluster in which its peers are found. Kept alive by the worker's table
// and by the steps that run. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/bounded_runner.h"
#include "millrace/worker/active_runs.h"
#include "millrace/worker/local_devices.h"
#include "millrace/worker/peer_fetcher.h"
#include "millrace/worker/registered_graph.h"

namespace millrace {

class WorkerSession {
 public:
  struct Parts {
    std::string handle;       // empty: the legacy session, of masters that create none
    std::string master_task;  // may be empty
    uint64_t master_incarnation = 0;
    LocalDevices devices;
    std::shared_ptr<const PeerFetcher> fetcher;
    CallSite calls;
  };
  explicit WorkerSession(Parts parts);

  const std::string& handle() const { return parts_.handle; }
  const std::string& master_task() const { return parts_.master_task; }
  uint64_t master_incarnation() const { return parts_.master_incarnation; }
  const LocalDevices& devices() const { return parts_.devices; }
  const SessionKernels& kernels() const { return kernels_; }
  const std::shared_ptr<const PeerFetcher>& fetcher() const { return parts_.fetcher; }
  ActiveRuns& runs() { return runs_; }

  // Errors: those of RegisteredGraph::create; the reason of `close`. `request` names this session.
  Result<std::shared_ptr<RegisteredGraph>> register_graph(RegisterGraphRequest request,
                                                          Runner& pool);
  // Errors: ABORTED "Graph handle is not found: <g>".
  Result<std::shared_ptr<RegisteredGraph>> find_graph(std::string_view handle);
  // Steps that run keep the graph. Errors: as find_graph, and that the worker may have restarted.
  Status deregister_graph(std::string_view handle);

  size_t num_graphs() const;

  // Stops its steps and forgets its graphs.
  void close(const Status& why);

 private:
  // Of `pool` so many threads, the one that asks among them: null for one, `pool` itself for 0 or
  // less, and for more than any machine has.
  using Pools = std::map<int, std::shared_ptr<BoundedRunner>>;
  std::shared_ptr<Runner> bounded(Runner& pool, int threads, Pools& pools) MR_REQUIRES(mutex_);

  const Parts parts_;
  SessionKernels kernels_;  // constant after construction
  FreshNames names_{"_G"};
  ActiveRuns runs_;

  mutable Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  uint64_t last_handle_ MR_GUARDED_BY(mutex_) = 0;
  // By how many threads: for the work of a kernel, and for kernels. Graphs hold theirs: a run may
  // outlast its session.
  Pools intra_op_ MR_GUARDED_BY(mutex_), inter_op_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<RegisteredGraph>> graphs_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
