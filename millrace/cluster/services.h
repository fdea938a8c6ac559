// The two services of a task, as interfaces: what a client asks of a master, and what masters and
// peers ask of a worker.
//
// The task's own master and worker implement them; transport/grpc implements them again for tasks
// in other processes. Callers can't tell which they have: this is the one path from client to
// kernel.
//
// Every call is answered once through its Done, maybe inside the call. Any thread may call; a call
// that has to wait holds no thread, except where Call::waiting lets it use the caller's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/cancellation.h"
#include "millrace/base/clock.h"
#include "millrace/base/done.h"
#include "millrace/base/runner.h"
#include "millrace/cluster/inspection.h"
#include "millrace/cluster/messages.h"

namespace millrace {

// Who makes a call, as far as the transport has proved it: a certificate, the kernel's word for the
// other end of a local connection. What a caller only says of itself is not in here.
struct Principal {
  std::string name;  // as its authority calls it: the subject of a certificate, a user's name
};

// What accompanies a request without being part of it.
struct Call {
  // Ends the call early, with its reason. May be null: the call can't be cancelled. Must stay alive
  // until the call is answered.
  Cancellation* cancellation = nullptr;
  // Where work of this call continues after a wait. Null: the callee's pool. A caller that blocks
  // until the answer passes its CallerThread, so that the step runs on its own thread.
  Runner* runner = nullptr;
  // True if the caller blocks anyway: a remote call may then be made on its thread, which is
  // `runner`; one that is an AttentiveThread has to look up meanwhile.
  bool waiting = false;
  std::optional<Clock::Time> deadline = std::nullopt;
  // Who calls. Null: nobody told, as today on every way (docs/design/security.md); a service must
  // not take that for a proof of anything. Lives until the call is answered.
  const Principal* caller = nullptr;
};

// A callable of a session, as a client in the same process holds it. It may outlive the session,
// and the master: runs then fail.
class KeptCallable {
 public:
  virtual ~KeptCallable() = default;
  virtual void run(std::vector<Tensor> feeds, Call, Done<RunCallableReply>) = 0;
};

// A master that can't be reached is waited for by create_session and reset, because tasks start in
// any order. The other calls are about a session, which ends with its master: they fail with
// UNAVAILABLE.
class MasterService {
 public:
  virtual ~MasterService() = default;
  virtual void create_session(CreateSessionRequest, Call, Done<CreateSessionReply>) = 0;
  virtual void extend_session(ExtendSessionRequest, Call, Done<ExtendSessionReply>) = 0;
  virtual void run_step(RunStepRequest, Call, Done<RunStepReply>) = 0;
  virtual void partial_run_setup(PartialRunSetupRequest, Call, Done<PartialRunSetupReply>) = 0;
  virtual void close_session(CloseSessionRequest, Call, Done<void>) = 0;
  virtual void list_devices(ListDevicesRequest, Call, Done<ListDevicesReply>) = 0;
  virtual void reset(ResetRequest, Call, Done<void>) = 0;
  virtual void make_callable(MakeCallableRequest, Call, Done<MakeCallableReply>) = 0;
  virtual void run_callable(RunCallableRequest, Call, Done<RunCallableReply>) = 0;
  virtual void release_callable(ReleaseCallableRequest, Call, Done<void>) = 0;
  // What the task waits for, for people. Only Millrace's tasks know this one.
  virtual void describe(Call, Done<TaskDescription> done) {
    done(unimplemented("this task does not tell what it waits for"));
  }
};

// Whether a call to a task that can't be reached fails at once or waits for the task to appear.
enum class WhenDown : uint8_t { fail, wait };

// A graph that is registered at a worker, as the master holds it that runs its steps: in one
// process the graph itself, over a wire what knows its handle. May be used as long as its worker
// lives.
class RegisteredPart {
 public:
  virtual ~RegisteredPart() = default;
  virtual void run(PartRun, Call, Done<RunGraphReply>) = 0;
  // The worker is to forget it; runs under way go on. The last that is asked of it.
  virtual void deregister(Call, Done<void>) = 0;
};

class WorkerService {
 public:
  virtual ~WorkerService() = default;
  virtual void get_status(WhenDown, Call, Done<GetStatusReply>) = 0;
  virtual void create_worker_session(CreateWorkerSessionRequest, Call, Done<void>) = 0;
  virtual void delete_worker_session(DeleteWorkerSessionRequest, Call, Done<void>) = 0;
  virtual void register_graph(RegisterGraphRequest, Call, Done<RegisterGraphReply>) = 0;
  // By handle, for servers and proxies; masters hold what register_graph gave them.
  virtual void deregister_graph(DeregisterGraphRequest, Call, Done<void>) = 0;
  virtual void run_graph(RunGraphRequest, Call, Done<RunGraphReply>) = 0;
  virtual void cleanup_graph(CleanupGraphRequest, Call, Done<void>) = 0;
  virtual void cleanup_all(CleanupAllRequest, Call, Done<void>) = 0;
  virtual void recv_tensor(RecvTensorRequest, Call, Done<RecvTensorReply>) = 0;
  // That a task has ended well (departures.h). Only Millrace's tasks know this one.
  virtual void farewell(EndedTask, Call, Done<void> done) {
    done(unimplemented("this worker does not keep who has ended"));
  }
};

// Finds the worker of a task. A transport implements it; so does a task that knows its own worker
// and asks a transport for the others.
class WorkerDirectory {
 public:
  virtual ~WorkerDirectory() = default;
  // The worker at `address` ("host:port") that answers to `task`. Cheap; connects lazily.
  // Errors: INVALID_ARGUMENT for an address that can't be one; NOT_FOUND if this directory has no
  // way to reach it.
  virtual Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                        std::string_view address) = 0;
  // A task is at `address` no longer: whatever is kept for the next who asks for it may go. Workers
  // that have been given out stay as they are.
  virtual void let_go(std::string_view /*address*/) {}
};

}  // namespace millrace
