// OnceSession: one session of a OnceMaster: the shell around its OnceGraph and OnceBook.
//
// Runs steps through the master behind, with the lease among their feeds and fetches, and has
// heartbeats made while an element is held. Where tasks keep their state it outlasts them: what may
// be made twice (under a lease, or because it changes nothing) is made again when they are there
// again (lasting_session.h). Kept by the OnceMaster until the session is closed, and by what is
// under way. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/master/lasting_step.h"
#include "millrace/master/once_book.h"
#include "millrace/master/once_graph.h"

namespace millrace {

class OnceSession final : public std::enable_shared_from_this<OnceSession> {
 public:
  // What is given outlives the session, but for `heartbeats`, which waits for what it counts.
  OnceSession(MasterService& master, const OpRegistry& ops, const Host& host, InFlight& heartbeats,
              std::chrono::milliseconds lease)
      : master_(master), host_(host), heartbeats_(heartbeats), lease_(lease), graph_(ops, lease_) {}

  // Notes the client's graph, or what it is extended by, and adds what the session needs.
  enum class Part : uint8_t { first, further };
  void add_to(wire::GraphDef& graph, Part part);
  // What its client calls it; `lasting` is null if the session can't outlast tasks.
  void begin(std::string handle, std::shared_ptr<LastingSession> lasting);
  const std::shared_ptr<LastingSession>& lasting() const { return lasting_; }

  void run_step(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  void partial_run_setup(PartialRunSetupRequest request, const Call& call,
                         Done<PartialRunSetupReply> done);
  void run_leg(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  void make_callable(MakeCallableRequest request, const Call& call, Done<MakeCallableReply> done);
  void run_callable(RunCallableRequest request, const Call& call, Done<RunCallableReply> done);
  void release_callable(ReleaseCallableRequest request, const Call& call, Done<void> done);
  // No more heartbeats.
  void end();

 private:
  using Kind = OnceBook::Kind;
  using Dequeue = std::shared_ptr<const std::string>;  // OnceGraph::StepKind::dequeue
  // A step as it is to be made: a lease is fed, or it is passed on as it is (no step).
  struct Begun {
    std::optional<OnceBook::Mark> step;
    Dequeue dequeue;  // of one that takes
  };
  using Life = LastingSession::Life;
  // At the master behind; of one life of the session, 0 where it has but one.
  struct Made {
    MakeCallableReply callable;  // handle 0: not made yet
    uint64_t life = 0;
  };
  // A callable that takes or updates; in a session that lasts, any. Those that only update are made
  // a second time for when an element is held, as soon as one is.
  struct Callable {
    StepRequestNames names;
    uint64_t signature = 0;  // of the names
    RunOptions options;
    OnceGraph::StepKind kind;
    int64_t handle = 0;  // as the client knows it
    Made plain, leased;
    Made& made(bool is_leased) { return is_leased ? leased : plain; }
  };
  class KeptOnce;

  OnceGraph::StepKind kind_of(const StepRequestNames& names);
  // `lease` becomes what the step is fed.
  Result<Begun> begin(const OnceGraph::StepKind& kind, uint64_t signature, Tensor* lease);
  Result<Begun> begin_locked(const OnceGraph::StepKind& kind, uint64_t signature, Tensor* lease)
      MR_REQUIRES(mutex_);
  // What came of a step that was fed a lease; then the answer, when all is acknowledged.
  template <class Reply>
  void finish(const Begun& begun, Result<Reply>&& reply, Done<Reply>&& done);
  void acknowledge(std::string lease, const Dequeue& dequeue, Done<void> done);
  void call(std::shared_ptr<Callable> callable, std::vector<Tensor> feeds, const Call& call,
            Done<RunCallableReply> done);
  void make_at_master(const std::shared_ptr<Callable>& callable, bool is_leased, const Life& life,
                      const Call& call, Done<Life> done);
  void release_at_master(const std::string& handle, int64_t callable);
  // Calls it at the master behind, in a life; makes it there first if need be.
  void call_made(const std::shared_ptr<Callable>& callable, bool is_leased, const Life& life,
                 std::vector<Tensor> feeds, const Call& call, Done<RunCallableReply> done);
  void call_at_master(const MakeCallableReply& made, const std::string& handle,
                      std::vector<Tensor> feeds, const Call& call, Done<RunCallableReply> done);
  Status may_run_in_legs(const StepRequestNames& names);
  Again again(const OnceGraph::StepKind& kind, const Begun& begun) const;
  Call within(const Call& call, const RunOptions& options) const;
  // In the life that there is, once; where the session has but one, at once.
  void run_own(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  std::shared_ptr<Callable> find_callable(int64_t handle);

  void set_heartbeat() MR_REQUIRES(mutex_);
  void beat();
  void heard(uint64_t life, const Result<RunStepReply>& reply);

  MasterService& master_;
  const Host& host_;
  InFlight& heartbeats_;
  const std::chrono::milliseconds lease_;
  std::string handle_;                       // set by begin()
  std::shared_ptr<LastingSession> lasting_;  // likewise

  Mutex mutex_;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  OnceGraph graph_ MR_GUARDED_BY(mutex_);
  OnceBook book_ MR_GUARDED_BY(mutex_);
  // What a step was fed last: another one is written into it once nobody has it any more.
  Tensor fed_ MR_GUARDED_BY(mutex_);
  Dequeue dequeue_ MR_GUARDED_BY(mutex_);          // which took what is held
  uint64_t lost_life_ MR_GUARDED_BY(mutex_) = 0;   // of the lease that is known to be over
  bool is_beating_ MR_GUARDED_BY(mutex_) = false;  // a timer is set, or a heartbeat under way
  absl::flat_hash_map<int64_t, std::shared_ptr<Callable>> callables_ MR_GUARDED_BY(mutex_);
  int64_t last_callable_ MR_GUARDED_BY(mutex_) = 0;  // of a session that lasts
  // Kinds of steps that were asked for; dropped when the graph grows, or when they are too many.
  absl::flat_hash_map<StepRequestNames, OnceGraph::StepKind> kinds_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
