// PartialStep: a step whose feeds come and whose fetches go in several requests, its legs.
//
// It starts with the first leg. Feeds and fetches go through the step's rendezvous: a leg leaves
// what it brings and asks for what it wants. The shell around a PartialStepBook, which says when a
// leg is answered and when the step ends. Kept by its session's table
// until the last leg is answered, the step is cleaned up, or the session is closed. Any thread;
// legs may overlap.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/worker/graph_run.h"
#include "millrace/worker/partial_step_book.h"

namespace millrace {

class PartialStep final : public ActiveRun {
 public:
  PartialStep(const RunSite& site, std::shared_ptr<WorkerSession> session,
              std::shared_ptr<RegisteredGraph> graph, int64_t step_id);
  ~PartialStep() override;

  // Makes it ready for legs. Errors: those of compiling, the session's end.
  Status prepare();
  // Starts it; once, after prepare().
  void start();
  int64_t id() const { return step_id_; }
  const WorkerSession& session() const { return *session_; }
  void run_leg(PartRun request, const Call& call, Done<RunGraphReply> done);
  void stop(const Status& why) override;

 private:
  struct Leg {
    std::shared_ptr<const StepKeys> keys;
    RunGraphReply reply;
    Done<RunGraphReply> done;
    Cancellation::Registration from_call;
  };

  std::shared_ptr<PartialStep> self() { return {shared_from_this(), this}; }
  StepWaits describe_waits(Clock::Time now) const override;

  void received(PartialStepBook::Leg number, size_t index, Result<Delivery> delivery);
  // Something happens, and what the book says is done about it.
  template <class Event>
  void happen(Event event);
  void perform(const PartialStepBook::Actions& actions);
  void answer(PartialStepBook::Leg number, Status status);

  const InFlight::Token token_;  // first, so that it is given back last
  const RunSite& site_;
  const std::shared_ptr<WorkerSession> session_;
  const std::shared_ptr<RegisteredGraph> graph_;
  const int64_t step_id_;
  const Clock::Time started_;
  std::vector<std::shared_ptr<const CompiledGraph>> pieces_;  // set by prepare(), like what follows
  StepTable::Visit visit_;
  std::shared_ptr<StepRendezvous> rendezvous_;
  bool is_listed_ = false;

  Cancellation cancellation_;
  ResourceStore step_resources_;
  HeldLeases leases_;
  WaitingNodes waiting_;

  mutable Mutex mutex_;
  PartialStepBook book_ MR_GUARDED_BY(mutex_);
  // That are not answered.
  absl::flat_hash_map<PartialStepBook::Leg, std::shared_ptr<Leg>> legs_ MR_GUARDED_BY(mutex_);
};

// The partial steps of one worker, by step id. Thread-safe.
class PartialSteps {
 public:
  // Runs a leg of the step, starting it with the first.
  void run_leg(const RunSite& site, std::shared_ptr<WorkerSession> session,
               std::shared_ptr<RegisteredGraph> graph, PartRun request, const Call& call,
               Done<RunGraphReply> done);
  // Stops and forgets the step with which its master is done; unknown ones are fine.
  void clean_up(int64_t step_id);
  void drop_session(const WorkerSession& session, const Status& why);
  void drop_all(const Status& why);
  size_t size() const;

 private:
  template <class Wanted>
  void drop_if(Wanted wanted, const Status& why);

  mutable Mutex mutex_;
  absl::flat_hash_map<int64_t, std::shared_ptr<PartialStep>> steps_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
