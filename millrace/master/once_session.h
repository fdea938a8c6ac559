// OnceSession: one session of a OnceMaster: the shell around its OnceGraph and OnceBook.
//
// Runs steps through the master behind, with the lease among their feeds and fetches, and has
// heartbeats made while an element is held. Kept by the OnceMaster until the session is closed, and
// by what is under way. Any thread.
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
  void set_handle(std::string handle);

  void run_step(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  Status may_run_in_legs(const StepRequestNames& names);
  void make_callable(MakeCallableRequest request, const Call& call, Done<MakeCallableReply> done);
  void run_callable(RunCallableRequest request, const Call& call, Done<RunCallableReply> done);
  // The handle at the master behind that goes with this one; 0 if there is none.
  int64_t release_callable(int64_t handle);
  // No more heartbeats.
  void end();

 private:
  using Kind = OnceBook::Kind;
  // A step as it is to be made: a lease is fed, or it is passed on as it is (no step).
  struct Begun {
    std::optional<OnceBook::Step> step;
    std::string dequeue;
  };
  // A callable that takes or updates. Those that only update are made a second time for when an
  // element is held, as soon as one is.
  struct Callable {
    StepRequestNames names;
    uint64_t signature = 0;  // of the names
    RunOptions options;
    OnceGraph::StepKind kind;
    MakeCallableReply plain;   // as the client knows it
    MakeCallableReply leased;  // handle 0: not made yet
  };
  class KeptOnce;

  OnceGraph::StepKind kind_of(const StepRequestNames& names);
  Result<Begun> begin(const OnceGraph::StepKind& kind, uint64_t signature);
  // What came of a step that was fed a lease; then the answer, when all is acknowledged.
  template <class Reply>
  void finish(const Begun& begun, Result<Reply> reply, Done<Reply> done);
  void acknowledge(std::string lease, const std::string& dequeue, Done<void> done);
  void call(std::shared_ptr<Callable> callable, std::vector<Tensor> feeds, const Call& call,
            Done<RunCallableReply> done);
  void call_leased(const MakeCallableReply& leased, Begun begun, std::vector<Tensor> feeds,
                   const Call& call, Done<RunCallableReply> done);
  void call_at_master(const MakeCallableReply& made, std::vector<Tensor> feeds, const Call& call,
                      Done<RunCallableReply> done);
  std::string handle();
  std::shared_ptr<Callable> find_callable(int64_t handle);

  void set_heartbeat() MR_REQUIRES(mutex_);
  void beat();
  void heard(uint64_t life, const Result<RunStepReply>& reply);

  MasterService& master_;
  const Host& host_;
  InFlight& heartbeats_;
  const std::chrono::milliseconds lease_;

  Mutex mutex_;
  std::string handle_ MR_GUARDED_BY(mutex_);
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  OnceGraph graph_ MR_GUARDED_BY(mutex_);
  OnceBook book_ MR_GUARDED_BY(mutex_);
  std::string dequeue_ MR_GUARDED_BY(mutex_);      // which took what is held
  uint64_t lost_life_ MR_GUARDED_BY(mutex_) = 0;   // of the lease that is known to be over
  bool is_beating_ MR_GUARDED_BY(mutex_) = false;  // a timer is set, or a heartbeat under way
  absl::flat_hash_map<int64_t, std::shared_ptr<Callable>> callables_ MR_GUARDED_BY(mutex_);
  // Kinds of steps that were asked for; dropped when the graph grows, or when they are too many.
  absl::flat_hash_map<StepRequestNames, OnceGraph::StepKind> kinds_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
