#include "millrace/master/step_registration.h"

#include <algorithm>
#include <utility>

#include "millrace/cluster/part_by_handle.h"
#include "millrace/master/registration.h"

namespace millrace {

namespace {

Result<PreparedPart> part_of(const RegistrationSite& site, const PartitionPlan& plan) {
  const auto found =
      std::find_if(site.members.begin(), site.members.end(),
                   [&](const Present& present) { return present.member.task == plan.task; });
  if (found == site.members.end())
    return internal("the plan has a part for ", plan.task.to_string(),
                    ", which is not in the session");
  PreparedPart part;
  part.worker = found->worker;
  part.worker_name = plan.task.to_string();
  part.where = plan.task == site.own_task ? StepTracker::Part::Where::own_task
                                          : StepTracker::Part::Where::elsewhere;
  auto keys = std::make_shared<StepKeys>();
  for (const PlanKey& feed : plan.feeds) {
    part.feeds.push_back(static_cast<uint32_t>(feed.index));
    keys->send.push_back(feed.key);
  }
  for (const PlanKey& fetch : plan.fetches) {
    part.fetches.push_back(static_cast<uint32_t>(fetch.index));
    keys->receive.push_back(fetch.key);
  }
  part.keys = std::move(keys);
  return part;
}

// The parts of one step at their workers. Its step keeps it, and it keeps the step until that has
// been handed over.
class StepRegistration final : public std::enable_shared_from_this<StepRegistration> {
 public:
  StepRegistration(const RegistrationSite& site, std::shared_ptr<PreparedStep> step,
                   Done<std::shared_ptr<const PreparedStep>> done)
      : context_(site.context),
        session_handle_(site.session_handle),
        session_is_open_(site.session_is_open),
        threads_(site.threads),
        graphs_(step->parts.size()),
        step_(std::move(step)),
        done_(std::move(done)),
        registration_(graphs_.size()) {}
  ~StepRegistration() {
    if (session_is_open_->load(std::memory_order_acquire)) forget(registration_.on_let_go());
  }

  void start(std::vector<PartitionPlan> partitions, const Call& call) {
    std::shared_ptr<const PreparedStep> step;  // the last answer takes it away
    {
      MutexLock lock(mutex_);
      step = step_;
    }
    for (size_t i = 0; i < partitions.size(); ++i) {
      const PreparedPart& part = step->parts[i];
      part.worker->register_graph(
          {.session_handle = session_handle_,
           .graph = std::make_shared<const Graph>(std::move(partitions[i].graph)),
           .keys = part.keys,
           .threads = threads_},
          call,
          Done<RegisterGraphReply>(
              [self = shared_from_this(), i](Result<RegisterGraphReply> reply) {
                self->answered(i, std::move(reply));
              }));
    }
  }

 private:
  void answered(size_t index, Result<RegisterGraphReply> reply) {
    Registration::Actions actions;
    {
      MutexLock lock(mutex_);
      PreparedPart& part = step_->parts[index];
      Status status = reply.status();
      if (status.ok()) {
        graphs_[index] = reply->part != nullptr ? std::move(reply->part)
                                                : part_by_handle(part.worker, session_handle_,
                                                                 std::move(reply->graph_handle));
        part.graph = graphs_[index];
      } else if (part.where == StepTracker::Part::Where::elsewhere) {
        status = from_worker(part.worker_name, status);
      }
      actions = registration_.on_reply(index, std::move(status));
    }
    forget(actions);
    if (actions.answer) answer();
  }

  void answer() {
    std::shared_ptr<PreparedStep> step;
    Done<std::shared_ptr<const PreparedStep>> done;
    Status outcome;
    {
      MutexLock lock(mutex_);
      step = std::move(step_);
      done = std::move(done_);
      outcome = registration_.outcome();
    }
    if (!outcome.ok()) return done(std::move(outcome));
    step->registration = shared_from_this();
    done(std::shared_ptr<const PreparedStep>(std::move(step)));
  }

  // Nobody waits: a worker that is gone has nothing left to forget.
  void forget(const Registration::Actions& actions) {
    for (const size_t index : actions.forget) {
      const std::shared_ptr<RegisteredPart>& graph = graphs_[index];
      auto keep = std::make_shared<std::pair<InFlight::Token, std::shared_ptr<RegisteredPart>>>(
          context_.in_flight.enter(), graph);
      graph->deregister(context_.cleanup_call(),
                        Done<void>([keep = std::move(keep)](const Status&) {}));
    }
  }

  MasterContext& context_;
  const std::string session_handle_;
  const std::shared_ptr<const std::atomic<bool>> session_is_open_;
  const ThreadLimits threads_;
  // By part; each set with its answer, and read once that has been noted.
  std::vector<std::shared_ptr<RegisteredPart>> graphs_;

  Mutex mutex_;
  std::shared_ptr<PreparedStep> step_ MR_GUARDED_BY(mutex_);  // until all have answered
  Done<std::shared_ptr<const PreparedStep>> done_ MR_GUARDED_BY(mutex_);
  Registration registration_ MR_GUARDED_BY(mutex_);
};

}  // namespace

void register_step(const RegistrationSite& site, StepRequestNames names, StepPlan plan,
                   const Call& call, Done<std::shared_ptr<const PreparedStep>> done) {
  auto step = std::make_shared<PreparedStep>();
  // The own task's part is started last.
  std::stable_partition(plan.partitions.begin(), plan.partitions.end(),
                        [&](const PartitionPlan& part) { return part.task != site.own_task; });
  for (const PartitionPlan& partition : plan.partitions) {
    auto part = part_of(site, partition);
    if (!part.ok()) {
      done(part.status());
      return;
    }
    step->parts.push_back(std::move(part).value());
  }
  for (const PreparedPart& part : step->parts)
    step->tracked.push_back({part.worker_name, part.where});
  step->feeds = std::move(names.feeds);
  step->fetches = std::move(names.fetches);
  step->targets = std::move(names.targets);
  std::make_shared<StepRegistration>(site, std::move(step), std::move(done))
      ->start(std::move(plan.partitions), call);
}

}  // namespace millrace
