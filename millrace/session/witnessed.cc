#include "millrace/session/witnessed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/late_members.h"
#include "millrace/cluster/standby_jobs.h"
#include "millrace/session/witness.h"

namespace millrace {
namespace {

// The task whose state it is to take over.
Result<std::optional<TaskName>> stood_by_for(const ServerOptions& options,
                                             const StandbyJobs& jobs) {
  if (!options.stands_by_for.empty()) {
    MR_ASSIGN(TaskName named, parse_task(options.stands_by_for));
    return std::optional(std::move(named));
  }
  const auto found = jobs.find(options.job);
  if (found == jobs.end()) return std::optional<TaskName>();
  return std::optional(TaskName{found->second, 0, options.task});
}

Status check_folder(const ServerOptions& options, bool is_witness, bool stands_by) {
  if (!options.state_folder.empty() || (!is_witness && !stands_by)) return {};
  return invalid(is_witness ? "the witness needs a folder for its record"
                            : "a task that stands by needs a folder for the state",
                 "; say --state DIR, MILLRACE_STATE or state_folder");
}

// Those of a job that stands by serve under another name, or not at all.
std::shared_ptr<LateMembers> members_without(const ClusterSpec& cluster, const StandbyJobs& jobs) {
  std::shared_ptr<LateMembers> members = LateMembers::of(cluster);
  for (const TaskName& task : cluster.tasks())
    if (jobs.contains(task.job)) (void)members->end(task);
  return members;
}

}  // namespace

Result<Witnessed> take_witness(ServerOptions& options, const std::shared_ptr<Runtime>& runtime) {
  const std::string name = options.witness.value_or(runtime->witness());
  options.witness = "";
  if (name.empty()) {
    if (options.stands_by_for.empty()) return Witnessed();
    return invalid("a task that stands by for ", options.stands_by_for,
                   " needs a witness; name it, for example /job:chief/task:0");
  }
  if (options.members != nullptr)
    return invalid("a server that is given members can't have a witness (", name,
                   "), which says where tasks are; give it a cluster");
  MR_ASSIGN(const StandbyJobs jobs,
            parse_standby_jobs(runtime->standbys()).with(kStandbysVariable));
  MR_ASSIGN(const TaskName witness, parse_task(name).with("the witness"));
  MR_ASSIGN(const std::optional<TaskName> state,
            stood_by_for(options, jobs).with("whom it stands by for"));
  options.stands_by_for.clear();
  if (state == witness) {
    return invalid("a task can't stand by for ", name,
                   ", which is the witness; its record has one task only");
  }
  if (options.state_folder.empty()) options.state_folder = runtime->state_folder();

  Witnessed made;
  made.cluster = options.cluster;
  MR_ASSIGN(made.address, options.cluster.address(witness).with("the witness"));
  const TaskName own{options.job, 0, options.task};
  made.launched = own;
  made.is_first = !state;
  const bool is_witness = made.is_first && own == witness;
  MR_TRY(check_folder(options, is_witness, !made.is_first));
  MR_ASSIGN(options.own_address, options.cluster.address(own));
  if (state) {
    MR_TRY(options.cluster.move_task(*state, options.own_address).with("whom it stands by for"));
    options.job = state->job;
    options.task = state->task;
    // Both may be on one machine, with the same words for the folder.
    if (own != *state)
      options.state_folder = str_cat(options.state_folder, "/", own.job, "-", own.task);
  }
  if (is_witness) {
    MR_ASSIGN(options.standby,
              Witness::open(runtime->host(), str_cat(options.state_folder, "/witness")));
  }
  const bool may_be_followed = jobs.empty() || std::ranges::any_of(jobs, [&](const auto& pair) {
                                 return pair.second == options.job;
                               });
  made.is_side = state || (!is_witness && !options.state_folder.empty() && may_be_followed);
  auto members = members_without(std::exchange(options.cluster, {}), jobs);
  options.members = members;
  made.watch = std::make_unique<WitnessWatch>(runtime, made.address, std::move(members),
                                              TaskName{options.job, 0, options.task});
  return made;
}

}  // namespace millrace
