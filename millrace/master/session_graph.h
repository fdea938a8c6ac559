// SessionGraph: the graph of one session, placed on its devices, as it grows.
//
// Every node is placed when it arrives, looking at the whole graph, so that all steps agree where a
// variable is. Extending makes a new graph and leaves the old one to the steps that were planned on
// it. Any thread; extensions take turns, planning goes on meanwhile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/cluster/messages.h"
#include "millrace/graph/graph.h"
#include "millrace/master/membership.h"
#include "millrace/master/prepared_step.h"
#include "millrace/master/roll_call.h"
#include "millrace/plan/device_set.h"
#include "millrace/plan/plan.h"

namespace millrace {

class SessionGraph {
 public:
  // Places `graph`. Errors: those of prepare_graph in plan/plan.h.
  static Result<std::unique_ptr<SessionGraph>> create(Graph graph, const Membership& membership,
                                                      const std::vector<Present>& members,
                                                      const SessionOptions& options);

  // Adds nodes, all or none of them, and returns the new version. Errors: ABORTED "Current version
  // is X but caller expected Y."; those of graph/import.h and of create().
  Result<int64_t> extend(const wire::GraphDef& def, int64_t expected_version);

  // What there is now.
  std::shared_ptr<const Graph> placed() const;
  // Errors: those of plan/plan.h.
  Result<StepPlan> plan(const StepRequestNames& names);

 private:
  SessionGraph(DeviceSet devices, const SessionOptions& options);
  // Logs where nodes from `first` on were placed, if the client asked for it.
  void log_placement(const Graph& graph, size_t first) const;

  const DeviceSet devices_;
  const PlaceOptions place_options_;
  const PlanOptions plan_options_;
  const bool logs_placement_;
  FreshNames names_{"_S"};  // of nodes that plans add; has its own synchronisation

  Mutex extending_;  // held while a new graph is made; taken before mutex_
  GraphTables tables_ MR_GUARDED_BY(extending_);
  mutable Mutex mutex_;
  std::shared_ptr<const Graph> placed_ MR_GUARDED_BY(mutex_);
  int64_t version_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
