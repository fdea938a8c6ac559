// Peers: the services of tasks elsewhere, as a simulated process sees them: WorkerDirectory and
// MasterService over channels. Which calls fail at once and which wait is as in transport/grpc.
//
// Owned by the process that calls.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tests/simulation/channel.h"

#include "millrace/cluster/services.h"

namespace millrace::simulation {

class RemoteWorker final : public WorkerService {
 public:
  RemoteWorker(transport::Peer peer, std::shared_ptr<Channel> channel)
      : peer_(std::make_shared<const transport::Peer>(std::move(peer))),
        channel_(std::move(channel)) {}

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
  const std::shared_ptr<const transport::Peer> peer_;
  const std::shared_ptr<Channel> channel_;
};

class RemoteMaster final : public MasterService {
 public:
  RemoteMaster(Process& process, const std::string& address)
      : peer_(std::make_shared<const transport::Peer>(transport::Peer{"the master", address})),
        channel_(std::make_shared<Channel>(process, address)) {}

  void create_session(CreateSessionRequest, Call, Done<CreateSessionReply>) override;
  void extend_session(ExtendSessionRequest, Call, Done<ExtendSessionReply>) override;
  void run_step(RunStepRequest, Call, Done<RunStepReply>) override;
  void partial_run_setup(PartialRunSetupRequest, Call, Done<PartialRunSetupReply>) override;
  void close_session(CloseSessionRequest, Call, Done<void>) override;
  void list_devices(ListDevicesRequest, Call, Done<ListDevicesReply>) override;
  void reset(ResetRequest, Call, Done<void>) override;
  void make_callable(MakeCallableRequest, Call, Done<MakeCallableReply>) override;
  void run_callable(RunCallableRequest, Call, Done<RunCallableReply>) override;
  void release_callable(ReleaseCallableRequest, Call, Done<void>) override;

  Channel& channel() { return *channel_; }

 private:
  const std::shared_ptr<const transport::Peer> peer_;
  const std::shared_ptr<Channel> channel_;
};

// Tasks share the channel of their address.
class Peers final : public WorkerDirectory {
 public:
  explicit Peers(Process& process) : process_(process) {}
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override;
  void abandon();
  size_t num_calls() const;

 private:
  Process& process_;
  std::map<std::string, std::shared_ptr<Channel>, std::less<>> channels_;
};

}  // namespace millrace::simulation
