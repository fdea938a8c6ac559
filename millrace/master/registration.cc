#include "millrace/master/registration.h"

#include <algorithm>
#include <utility>

#include "millrace/master/gather.h"

namespace millrace {

namespace {

// The most that taking back a registration may take; nobody waits for it.
constexpr std::chrono::seconds kForgetPatience{10};

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

// Takes the handles from the workers' answers. The first error wins; parts that were registered are
// then given back, without waiting.
Status take_handles(const std::string& session_handle, PreparedStep& step,
                    std::vector<Result<RegisterGraphReply>> answers) {
  Status failure;
  for (size_t i = 0; i < answers.size(); ++i) {
    PreparedPart& part = step.parts[i];
    if (answers[i].ok()) {
      part.graph_handle = std::move(answers[i]->graph_handle);
      continue;
    }
    const bool is_first_cause = failure.is_consequence() && !answers[i].status().is_consequence();
    if (!failure.ok() && !is_first_cause) continue;
    failure = answers[i].status();
    if (part.where == StepTracker::Part::Where::elsewhere)
      failure = from_worker(part.worker_name, failure);
  }
  if (failure.ok()) return {};
  const Call call{.deadline = Clock::real().now() + kForgetPatience};
  for (const PreparedPart& part : step.parts) {
    if (part.graph_handle.empty()) continue;
    part.worker->deregister_graph({session_handle, true, part.graph_handle}, call,
                                  Done<void>([worker = part.worker](Status) {}));
  }
  return failure;
}

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

  const std::vector<PreparedPart> parts = step->parts;
  auto answers = gather<RegisterGraphReply>(
      parts.size(), [handle = site.session_handle, step, done = std::move(done)](
                        std::vector<Result<RegisterGraphReply>> replies) mutable {
        if (Status failure = take_handles(handle, *step, std::move(replies)); !failure.ok()) {
          done(std::move(failure));
          return;
        }
        done(std::shared_ptr<const PreparedStep>(std::move(step)));
      });
  for (size_t i = 0; i < parts.size(); ++i) {
    RegisterGraphRequest request;
    request.session_handle = site.session_handle;
    request.graph = std::make_shared<const Graph>(std::move(plan.partitions[i].graph));
    parts[i].worker->register_graph(std::move(request), call, std::move(answers[i]));
  }
}

}  // namespace millrace
