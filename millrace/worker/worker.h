// Worker: the worker service of one task.
//
// It owns the task's devices and what lives on them, runs the graphs that masters register, and
// hands tensors to the workers of other tasks. One per server; a session on target "" has one of
// its own. It has no threads: it works on those of its callers, on the pool it was given, and on
// the timer thread where somebody has ceased to wait.
//
// Any thread may call. Every call is answered, at the latest when the worker stops. What
// Call::deadline says is the caller's to keep: it cancels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/cluster/member_workers.h"
#include "millrace/cluster/services.h"
#include "millrace/worker/collective_desk.h"
#include "millrace/worker/graph_run.h"
#include "millrace/worker/local_devices.h"
#include "millrace/worker/partial_step.h"
#include "millrace/worker/recent_ids.h"
#include "millrace/worker/session_table.h"
#include "millrace/worker/step_table.h"
#include "millrace/worker/worker_options.h"

namespace millrace {

class Worker final : public WorkerService {
 public:
  explicit Worker(WorkerOptions options);
  // Stops, and waits until nothing refers to the worker any more. Must not be called from a thread
  // that the steps need (Host::pool with one thread, the runner of a call).
  ~Worker() override;

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

  // Ends every step and every call with `why`; later calls fail with it. Does not wait. Further
  // calls do nothing.
  void stop(const Status& why);

  // Which life of the task this is.
  uint64_t incarnation() const { return devices_.attributes(0).front().incarnation; }
  // The devices under the task's own name, with the resources that sessions share.
  const LocalDevices& devices() const { return devices_; }
  // What runs, and what it waits for: cheap enough to ask while it runs. The oldest first.
  std::vector<StepWaits> describe_waits() const;
  // The peers whose addresses it waits for, a line each.
  std::vector<std::string> describe_unknown_peers() const { return members_->describe_waits(); }
  // What it has at this moment; nothing of it is left once masters have closed all sessions.
  struct Counts {
    size_t sessions = 0;  // without the one of masters that create none
    size_t graphs = 0;
    size_t steps = 0;  // that peers may take part in
    size_t partial_steps = 0;
    size_t under_way = 0;  // runs and peers' calls
  };
  Counts counts() const;

 private:
  struct PeerCall;

  std::shared_ptr<WorkerSession> make_session(CreateWorkerSessionRequest request) const;
  void close_session(WorkerSession& session, const Status& why);
  // True if a key is well formed and begins as ours do: the short way to what check_source finds
  // out.
  bool is_own_key(std::string_view rendezvous_key) const;
  void serve_collective(RecvTensorRequest request, Call call, Done<RecvTensorReply> done);
  // That a peer's key is well formed and means a device of this task in its present life.
  Status check_source(std::string_view rendezvous_key) const;

  const WorkerOptions options_;
  const std::shared_ptr<MemberWorkers> members_;
  LocalDevices devices_;
  const std::vector<std::string> own_sources_;
  RecentIds request_ids_;
  StepTable steps_;
  PartialSteps partial_steps_;
  InFlight in_flight_;
  const std::shared_ptr<CallGate> gate_;  // to in_flight_
  SessionTable sessions_;
  const RunSite site_;  // of the above
  const std::shared_ptr<CollectiveDesk> collectives_;
};

}  // namespace millrace
