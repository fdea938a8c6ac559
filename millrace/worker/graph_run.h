// GraphRun: one run of a registered graph, from the request to the answer.
//
// Gives feeds to their slots, starts the pieces, and answers when all of them have ended: with the
// fetches, or with the first cause of failure. A piece that fails stops the others. A graph that
// meets no other device gets no rendezvous, and one that meets no other task no entry in the step
// table. Keeps itself, the graph and the session alive until the answer; then the graph keeps it
// for the next run. Any thread.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/first_cause.h"
#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/cluster/services.h"
#include "millrace/engine/executor.h"
#include "millrace/op/transfer_slots.h"
#include "millrace/ops/state/held_lease.h"
#include "millrace/worker/active_runs.h"
#include "millrace/worker/registered_graph.h"
#include "millrace/worker/step_table.h"
#include "millrace/worker/trace_collector.h"
#include "millrace/worker/worker_session.h"

namespace millrace {

class KeptState;  // ops/state/kept_state.h

// What runs take from their worker.
struct RunSite {
  const Host& host;
  StepTable& steps;
  InFlight& in_flight;
  KeptState* kept = nullptr;  // null: state is not kept
};

class GraphRun final : public ActiveRun, public Pooled {
 public:
  // `run` is not a leg of a partial run. May answer inside this call.
  static void start(const RunSite& site, std::shared_ptr<WorkerSession> session,
                    std::shared_ptr<RegisteredGraph> graph, PartRun run, const Call& call,
                    Done<RunGraphReply> done);

  // Use start().
  explicit GraphRun(const RunSite& site) : site_(site), slots_(site.host.clock) {}

 private:
  // What its shared pointer does at the end.
  struct Recycle {
    void operator()(GraphRun* run) const;
  };

  void stop(const Status& why) override;
  StepWaits describe_waits(Clock::Time now) const override;

  void begin(std::shared_ptr<WorkerSession> session, std::shared_ptr<RegisteredGraph> graph,
             PartRun run, Done<RunGraphReply> done);
  // Drops what belongs to the run that has ended.
  void rest();
  void run(const Call& call);
  Status bind_values();
  Status hold_lease();
  void run_piece(size_t index, Runner& runner);
  void piece_ended(Status status);
  void finish(Status status);
  Status gather(RunGraphReply* reply);

  const RunSite& site_;

  // Of one run; set by begin().
  InFlight::Token token_;
  std::shared_ptr<WorkerSession> session_;
  std::shared_ptr<RegisteredGraph> graph_;
  PartRun request_;
  Done<RunGraphReply> done_;
  bool is_listed_ = false;
  Clock::Time started_;

  // Set before the first piece starts.
  std::shared_ptr<const RegisteredGraph::KeyMap> map_;
  std::shared_ptr<StepRendezvous> rendezvous_;  // null: nothing can be sent
  StepTable::Visit visit_;   // with a rendezvous of its own only if it meets peers
  std::span<Tensor> feeds_;  // of the request, or fed_
  std::vector<Tensor> fed_;
  std::vector<Delivery> fetches_;
  std::vector<std::unique_ptr<TraceCollector>> traces_;  // by piece; empty: no timing

  Cancellation cancellation_;
  Cancellation::Registration from_call_;
  TransferSlots slots_;                     // as many as the graph has, from the first run on
  Cancellation::Registration slots_abort_;  // for all runs: a cancellation happens once
  ResourceStore step_resources_;
  HeldLeases leases_;
  WaitingNodes waiting_;

  Mutex mutex_;
  size_t running_ MR_GUARDED_BY(mutex_) = 0;  // pieces
  FirstCause status_ MR_GUARDED_BY(mutex_);
  FirstCause stopped_ MR_GUARDED_BY(mutex_);  // why the worker ended it; OK if it did not
};

}  // namespace millrace
