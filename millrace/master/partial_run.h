// PartialRun: a step that is fed and fetched in several legs.
//
// The step starts at all its workers with the first leg and waits for feeds where it needs them.
// Each leg brings feeds that were announced at setup and takes fetches that they suffice for. This
// is the shell around a PartialRunBook, which says what a leg may do and when the run is over. Any
// thread; legs may overlap.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/master/partial_run_book.h"

namespace millrace {

class MasterSession;
class SessionGraph;
class StepRun;

class PartialRun final : public std::enable_shared_from_this<PartialRun> {
 public:
  // `graph` is the session's.
  PartialRun(std::shared_ptr<MasterSession> session, std::string handle,
             std::shared_ptr<const PreparedStep> step, const SessionGraph& graph);

  // Errors: those of PartialRunBook::on_leg; what the step says.
  void run_leg(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  // The session closes: workers drop the step.
  void abandon();

 private:
  using Leg = PartialRunBook::Leg;

  void leg_ended(const std::shared_ptr<MasterSession>& session, Leg leg, const Status& status);
  std::shared_ptr<const OrderedStep> leg_step(const StepRequestNames& names) const;

  const std::weak_ptr<MasterSession> session_;  // which owns this
  const std::string handle_;
  const std::shared_ptr<const PreparedStep> step_;
  const SessionGraph& graph_;  // there as long as the session
  const int64_t step_id_;

  Mutex mutex_;  // taken before the graph's
  PartialRunBook book_ MR_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<StepRun>> legs_ MR_GUARDED_BY(mutex_);  // of which some may be over
};

}  // namespace millrace
