// PartialRun: a step that is fed and fetched in several legs.
//
// The step starts at all its workers with the first leg and waits for feeds where it needs them.
// Each leg brings feeds that were announced at setup and takes fetches that they suffice for. It is
// over when everything announced has come and gone, or when a leg fails. Any thread; legs may
// overlap.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millrace/cluster/services.h"
#include "millrace/master/prepared_step.h"

namespace millrace {

class MasterSession;
class SessionGraph;

class PartialRun final : public std::enable_shared_from_this<PartialRun> {
 public:
  // `graph` is the session's.
  PartialRun(std::shared_ptr<MasterSession> session, std::string handle,
             std::shared_ptr<const PreparedStep> step, const SessionGraph& graph);

  // Errors: INVALID_ARGUMENT for feeds and fetches that were not announced, that had their turn
  // already, or that need feeds which have not come yet.
  void run_leg(RunStepRequest request, const Call& call, Done<RunStepReply> done);
  // The session closes: workers drop the step.
  void abandon();

 private:
  struct Leg {
    std::shared_ptr<const OrderedStep> step;
    std::vector<Tensor> feeds;
    bool is_last = false;
  };
  // Checks a leg and books its feeds and fetches.
  Result<Leg> book(RunStepRequest& request);
  Status check_fetch(const std::string& fetch) MR_REQUIRES(mutex_);
  std::shared_ptr<const OrderedStep> leg_step(const StepRequestNames& names) const;
  void end(const std::shared_ptr<MasterSession>& session);

  const std::weak_ptr<MasterSession> session_;  // which owns this
  const std::string handle_;
  const std::shared_ptr<const PreparedStep> step_;
  const SessionGraph& graph_;  // there as long as the session
  const int64_t step_id_;

  Mutex mutex_;
  std::set<std::string, std::less<>> feeds_to_come_ MR_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> fetches_to_go_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
