// RemoteWorker: the worker of a task elsewhere, by whatever calls it. Directories make them.
//
// Calls that start something fail at once if the task can't be reached; those that clean up wait
// for it to come back (get_status as asked). A RecvTensor is never given a deadline by us.
// Thread-safe.
#pragma once

#include <memory>

#include "millrace/cluster/services.h"
#include "millrace/transport/protocol/remote.h"

namespace millrace::transport {

class RemoteWorker final : public WorkerService {
 public:
  RemoteWorker(Peer peer, std::shared_ptr<Caller> caller);

  void get_status(WhenDown, Call, Done<GetStatusReply>) override;
  void create_worker_session(CreateWorkerSessionRequest, Call, Done<void>) override;
  void delete_worker_session(DeleteWorkerSessionRequest, Call, Done<void>) override;
  void register_graph(RegisterGraphRequest, Call, Done<RegisterGraphReply>) override;
  void deregister_graph(DeregisterGraphRequest, Call, Done<void>) override;
  void run_graph(RunGraphRequest, Call, Done<RunGraphReply>) override;
  void cleanup_graph(CleanupGraphRequest, Call, Done<void>) override;
  void cleanup_all(CleanupAllRequest, Call, Done<void>) override;
  void recv_tensor(RecvTensorRequest, Call, Done<RecvTensorReply>) override;
  void farewell(EndedTask, Call, Done<void>) override;

 private:
  const Remote remote_;
};

}  // namespace millrace::transport
