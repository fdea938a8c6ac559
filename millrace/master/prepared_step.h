// PreparedStep: one way to run a session's graph (these feeds, these fetches, these targets),
// planned and registered at its workers. Constant but for what is left of runs that have ended, and
// shared by all its steps, which do no planning, no lookup by name and no string building; how a
// client's names lead to it is PlanCache's business, or a Callable holds it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/idle_pool.h"
#include "millrace/cluster/services.h"
#include "millrace/master/step_tracker.h"

namespace millrace {

struct PreparedPart {
  std::shared_ptr<WorkerService> worker;  // which the other one needs
  std::shared_ptr<RegisteredPart> graph;
  std::string worker_name;  // "/job:worker/replica:0/task:0"
  StepTracker::Part::Where where = StepTracker::Part::Where::own_task;
  std::shared_ptr<const StepKeys> keys;
  std::vector<uint32_t> feeds;    // for keys->send: which feed of the step
  std::vector<uint32_t> fetches;  // for keys->receive: which fetch of the step
};

struct PreparedStep {
  PreparedStep() = default;
  PreparedStep(const PreparedStep&) = delete;
  PreparedStep& operator=(const PreparedStep&) = delete;

  // Sorted, each once.
  std::vector<std::string> feeds, fetches, targets;
  // In the order in which they are started: the own task's part last, because it may run to its end
  // inside the call that starts it.
  std::vector<PreparedPart> parts;
  std::vector<StepTracker::Part> tracked;  // parts, as the tracker wants them
  // Steps of it that have ended, for the next ones.
  mutable IdlePool idle_runs;
  // Steps of it that were begun, in a session that wants to know what some of them cost.
  mutable std::atomic<int64_t> num_begun = 0;
  // Keeps the parts registered: with its last owner the workers are told to forget them.
  std::shared_ptr<const void> registration;

  // Whether workers keep something of a step that they must be told to drop. A step of one part
  // on the own task meets nobody.
  bool needs_cleanup() const {
    return parts.size() > 1 || parts.front().where == StepTracker::Part::Where::elsewhere;
  }
};

// What a client asks for, as it wrote it.
struct StepRequestNames {
  std::vector<std::string> feeds, fetches, targets;
  std::vector<TensorConnection> connections = {};
  friend bool operator==(const StepRequestNames&, const StepRequestNames&) = default;
  template <class H>
  friend H AbslHashValue(H state, const StepRequestNames& names) {
    return H::combine(std::move(state), names.feeds, names.fetches, names.targets,
                      names.connections);
  }
};

// A PreparedStep as one client calls it: with feeds and fetches in its own order.
struct OrderedStep {
  std::shared_ptr<const PreparedStep> step;
  StepRequestNames names;
  std::vector<uint32_t> feed_at;   // for each feed of the step: where the client puts it
  std::vector<uint32_t> fetch_of;  // for each fetch of the client: which one of the step it is
  bool fetches_in_order = false;   // fetch_of is 0, 1, 2 …
  bool feeds_in_order = false;     // its only part takes what the client feeds as that comes
};

// The same, sorted and each name once. Errors: INVALID_ARGUMENT if there is nothing to fetch or
// run, for a feed that is given twice, and for one that is fetched, too.
Result<StepRequestNames> canonical(const StepRequestNames& names);
// The same for the same names in the same order; of a request, without its values.
uint64_t hash_of(const StepRequestNames& names);
uint64_t hash_of(const RunStepRequest& request);
bool same_names(const StepRequestNames& names, const RunStepRequest& request);
inline bool same_names(const StepRequestNames& a, const StepRequestNames& b) { return a == b; }
StepRequestNames names_of(const RunStepRequest& request);
// `names` must have the names of `step`, in any order.
OrderedStep in_order_of(std::shared_ptr<const PreparedStep> step, StepRequestNames names);

}  // namespace millrace
