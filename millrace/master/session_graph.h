// SessionGraph: the graph of one session, placed on its devices, as it grows.
//
// Every node is placed when it arrives and stays there, so that all steps agree where a variable
// is. The graph grows in place: extending it costs by what is added, and planning a step by what
// the step needs. Any thread. Steps are cut out of the graph side by side, and while nodes are
// added to it they wait; the rest of planning knows the step alone and goes on meanwhile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/shared_mutex.h"
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
  // Places `graph`. `log` must outlive it. Errors: those of prepare_graph in plan/plan.h.
  static Result<std::unique_ptr<SessionGraph>> create(Graph graph, const Membership& membership,
                                                      const std::vector<Present>& members,
                                                      const SessionOptions& options,
                                                      const Log& log);

  // Adds nodes, all or none of them, and returns the new version. Errors: ABORTED "Current version
  // is X but caller expected Y."; those of graph/import.h and of create().
  Result<int64_t> extend(const wire::GraphDef& def, int64_t expected_version);

  // Errors: those of plan/plan.h.
  Result<StepPlan> plan(const StepRequestNames& names);
  // Which of `feeds` a fetch depends on: those met on the way from it to its inputs, beyond which a
  // run does not look. Errors: those of find_endpoint.
  Result<std::vector<std::string>> feeds_needed(const std::string& fetch,
                                                const std::vector<std::string>& feeds) const;

 private:
  SessionGraph(Graph graph, DeviceSet devices, const SessionOptions& options, const Log& log);
  // Makes the nodes from `first` on ready for planning; they must be taken back on errors.
  Status prepare(size_t first) MR_REQUIRES(mutex_);

  const DeviceSet devices_;
  const PlaceOptions place_options_;
  const PlanOptions plan_options_;
  const bool logs_placement_;
  const Log& log_;
  FreshNames names_{"_S"};  // of nodes that plans add; has its own synchronisation

  mutable SharedMutex mutex_;
  Graph graph_ MR_GUARDED_BY(mutex_);
  GraphTables tables_ MR_GUARDED_BY(mutex_);
  int64_t version_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
