// WorkerChannel: the worker of a task elsewhere. Private to this room; GrpcDirectory makes them.
//
// Calls that start something fail at once if the task can't be reached; those that clean up wait
// for it to come back (get_status as asked). A RecvTensor is never given a deadline by us.
#pragma once

#include <memory>

#include "millrace/cluster/services.h"
#include "millrace/transport/grpc/channel.h"

namespace millrace::transport {

class WorkerChannel final : public WorkerService {
 public:
  WorkerChannel(Peer peer, std::shared_ptr<Channel> channel);

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
  OutgoingRequest to(std::string_view method, WhenDown when_down, wire::Pieces message) const;
  template <class Request, class Reply>
  void ask(std::string_view method, WhenDown when_down, const Request& request, const Call& call,
           Done<Reply> done);

  const std::shared_ptr<const Peer> peer_;
  const std::shared_ptr<Channel> channel_;
};

}  // namespace millrace::transport
