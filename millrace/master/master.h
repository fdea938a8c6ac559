// Master: the master service of one task.
//
// Clients create sessions on it, extend their graphs and run steps; it decides which task does what
// and gathers the answers. One per server, next to the task's worker; a session on target "" has
// one of its own. It has no threads: it works on those of its callers, of answers, and of the pool.
//
// Any thread may call. Every call is answered, at the latest when the master stops.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/cluster/services.h"
#include "millrace/master/master_options.h"

namespace millrace {

class MasterSession;

class Master final : public MasterService {
 public:
  explicit Master(MasterOptions options);
  // Stops, and waits until nothing refers to the master any more.
  ~Master() override;

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
  void describe(Call, Done<TaskDescription>) override;

  // What it waits for before sessions can begin, and the like; a line each, for people.
  std::vector<std::string> describe_waits() const { return context_.waits.describe(); }

  // Tells the other tasks that this one, in this life, has ended well: those that its sessions had
  // to do with, or all if it had none. Answers when they have, at the latest with the call. Never
  // fails: a task that is gone, or that is not one of ours, has nobody to tell.
  void say_farewell(uint64_t incarnation, const Call& call, Done<void> done);

  // Closes every session and ends every call with `why`; later calls fail with it. Does not wait.
  // Further calls do nothing.
  void stop(const Status& why);
  // Blocks until everything that was under way has been answered (true), or for `patience` (false).
  // Requires stop().
  bool drain(Clock::Duration patience);

  // What it has at this moment; nothing of it is left once all is closed and answered.
  struct Counts {
    size_t sessions = 0;
    size_t under_way = 0;  // sessions, calls and steps, until the last word about them
  };
  Counts counts();

 private:
  using SessionPtr = std::shared_ptr<MasterSession>;

  // OK while it runs.
  Status why_stopped();
  // Errors: ABORTED "Session <h> is not found.", as TensorFlow's clients expect after a restart.
  Result<SessionPtr> find(const std::string& handle);
  Result<SessionPtr> take(const std::string& handle);
  std::vector<SessionPtr> take_all();
  Status insert(const SessionPtr& session);
  std::vector<std::shared_ptr<WorkerService>> acquaintances();

  MasterContext context_;
  Mutex mutex_;
  Status stopped_ MR_GUARDED_BY(mutex_);  // OK while running
  // By handle read as a number: steps look it up.
  absl::flat_hash_map<uint64_t, SessionPtr> sessions_ MR_GUARDED_BY(mutex_);
  // The others of the cluster that sessions had to do with.
  std::map<TaskName, std::shared_ptr<WorkerService>> met_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
