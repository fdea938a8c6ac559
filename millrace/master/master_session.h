// MasterSession: one client session as its master keeps it.
//
// Holds the session's graph, the members it was created with, the plans made so far, callables and
// partial runs, and the steps in flight. Made by create_session (session_creation.h) once all
// members have answered; closed once. Any thread; any number of steps at the same time, also while
// the graph is being extended.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/cluster/services.h"
#include "millrace/master/master_options.h"
#include "millrace/master/plan_cache.h"
#include "millrace/master/roll_call.h"
#include "millrace/master/session_graph.h"
#include "millrace/master/step_run.h"

namespace millrace {

class PartialRun;

// Tells members to drop a session, and keeps in mind who could not be told. `done` comes when all
// have answered, at the latest after MasterOptions::cleanup_timeout.
void delete_worker_sessions(MasterContext& context, std::vector<Present> members,
                            const std::string& handle, Done<void> done);
Status closed_error();  // FAILED_PRECONDITION "Session is closed."
// ABORTED "Session <h> is not found.", as TensorFlow's clients expect after a restart.
Status no_session(const std::string& handle);

class MasterSession final : public std::enable_shared_from_this<MasterSession> {
 public:
  struct Parts {
    std::string handle;
    SessionOptions options;
    Membership membership;
    std::vector<Present> members;  // of the membership, those that are there
    std::unique_ptr<SessionGraph> graph;
  };
  MasterSession(MasterContext& context, Parts parts);
  ~MasterSession();

  MasterContext& context() const { return context_; }
  const std::string& handle() const { return handle_; }
  const Membership& membership() const { return membership_; }
  // Those of the membership that took part from the beginning.
  const std::vector<Present>& members() const { return members_; }
  ListDevicesReply devices() const;

  // What the methods of the same name in MasterService do, for this session.
  Result<ExtendSessionReply> extend(const ExtendSessionRequest& request);
  void run_step(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  void make_callable(MakeCallableRequest request, const Call& call, Done<MakeCallableReply> done);
  void run_callable(RunCallableRequest request, const Call& call, Done<RunCallableReply> done);
  Status release_callable(int64_t handle);
  void partial_run_setup(PartialRunSetupRequest request, const Call& call,
                         Done<PartialRunSetupReply> done);

  // Ends every step with `why`, waits until they and their clean-up are over, and tells the members
  // to drop the session. Once. Never fails: a member that is gone has dropped it already.
  void close(const Status& why, Done<void> done);

  // For StepRun. Errors: FAILED_PRECONDITION "Session is closed."
  Status enter(StepRun& step);
  void leave(StepRun& step);
  const SessionOptions& options() const { return options_; }
  // For PartialRun: it is over.
  void forget_partial_run(const std::string& handle);

 private:
  // Kept by the session until it is released, and by a client in this process.
  class Callable;

  // The step for these names; honours the call's deadline and cancellation while it is prepared.
  void prepare(StepRequestNames names, const Call& call, Done<PlanCache::Ordered> done);
  void plan_and_register(const StepRequestNames& names, Done<PlanCache::Prepared> done);
  Call within(const Call& call, const RunOptions& options) const;
  // Errors: RESOURCE_EXHAUSTED if there are too many.
  Result<MakeCallableReply> keep_callable(PlanCache::Ordered step, const RunOptions& options);
  // Errors: RESOURCE_EXHAUSTED if there are too many.
  Result<PartialRunSetupReply> keep_partial_run(std::shared_ptr<const PreparedStep> step);
  void call_callable(const std::shared_ptr<Callable>& callable, std::vector<Tensor> feeds,
                     const Call& call, Done<RunCallableReply> done);
  // Gives the callable its step back, unless it has been released meanwhile.
  void renew_callable(Callable& callable, const PlanCache::Ordered& step);
  // If more callables than `kept_steps` have their step, takes that of the least recently used one.
  PlanCache::Ordered take_oldest_step() MR_REQUIRES(mutex_);
  // Releases all of them; what they let go of is to go without the lock.
  std::vector<PlanCache::Ordered> take_callables() MR_REQUIRES(mutex_);
  Status check_open();
  void delete_worker_sessions();

  MasterContext& context_;
  const InFlight::Token token_;
  const std::string handle_;
  const SessionOptions options_;
  const Membership membership_;
  const std::vector<Present> members_;
  const std::unique_ptr<SessionGraph> graph_;  // has its own lock
  // For what may outlive the session: false once it is closed.
  const std::shared_ptr<std::atomic<bool>> is_open_ = std::make_shared<std::atomic<bool>>(true);
  PlanCache plans_;
  Cancellation closing_;  // of planning that is under way

  Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);  // why; OK while open
  Done<void> close_done_ MR_GUARDED_BY(mutex_);
  RunningStep running_ MR_GUARDED_BY(mutex_);  // head of a ring
  std::map<int64_t, std::shared_ptr<Callable>> callables_ MR_GUARDED_BY(mutex_);
  int64_t last_callable_ MR_GUARDED_BY(mutex_) = 0;
  uint64_t uses_ MR_GUARDED_BY(mutex_) = 0;  // of callables
  size_t callables_with_step_ MR_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<PartialRun>> partial_runs_ MR_GUARDED_BY(mutex_);
  int64_t next_partial_run_ MR_GUARDED_BY(mutex_) = 1;
};

}  // namespace millrace
