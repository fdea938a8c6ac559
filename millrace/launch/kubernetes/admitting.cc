// Part of kubernetes_place.h: which jobs may have machines (docs/design/kubernetes.md).
#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/admission.h"
#include "millrace/launch/kubernetes/kubernetes_place.h"
#include "millrace/launch/kubernetes/manifests.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = ClusterApi::Objects;
using std::chrono::seconds;

// To ask for all machines and pods is much; where that takes long it is done less often.
constexpr Clock::Duration kBetweenAdmissions = seconds(2);
constexpr int kPartOfTime = 10;

// Somebody else changes the job at this moment, or has removed it: it is decided about anew.
bool is_overtaken(const Status& status) {
  return status.code() == Code::aborted || status.code() == Code::not_found;
}

// Of the head, if it still is as it was seen.
Json admission_patch(const Gang& gang, const Admission& next) {
  const std::string path = "/metadata/annotations/millrace~1admission";
  return Json::array({{{"op", "test"}, {"path", path}, {"value", gang.written}},
                      {{"op", "replace"}, {"path", path}, {"value", to_text(next)}}});
}

bool needs_somebody(const Gang& gang) {
  return gang.admission.stage == AdmissionStage::waiting || gang.is_assembling() ||
         std::ranges::any_of(gang.jobs, [](const auto& job) { return job.second; });
}

}  // namespace

std::optional<std::string> KubernetesPlace::wants_looks(const std::string&) const {
  return wants_looks_;
}

// Whoever looks at jobs lets them in, as far as they may.
void KubernetesPlace::heed_gangs(const Objects& objects) {
  const std::vector<Gang> gangs = gangs_in(objects);
  const auto gang = std::ranges::find_if(gangs, needs_somebody);
  if (gang == gangs.end()) {
    waits_.clear();
    return;
  }
  if (clock_.now() < next_admission_) return;
  const Status let_in = let_jobs_in(gang->name_space);
  if (!let_in.ok()) waits_[gang->name] = str_cat("it can't be let in: ", let_in.message());
}

Status KubernetesPlace::let_jobs_in(const std::string& name_space) {
  const Clock::Time begin = clock_.now();
  ClusterRoom room{.name_space = name_space};
  Result<Objects> objects = api_.list({kNodes, kPods, kJobs}, {}, ClusterApi::Scope::whole_cluster);
  if (objects.ok()) {
    room.machines = machines_of(*objects);
  } else if (may_pass(objects.status()) || objects.status().code() == Code::unauthenticated) {
    return objects.status();
  } else {
    // Many logins may see one namespace only.
    objects = api_.list({kPods, kJobs}, {.labels = str_cat(kManagedByLabel, "=millrace")});
    MR_TRY(objects.status());
  }
  room.gangs = gangs_in(*objects);
  const double draw = static_cast<double>(random_.next() % 1000) / 1000;
  const AdmissionPlan plan = plan_admission(room, now(), draw);
  waits_ = plan.waits;
  for (const AdmissionStep& step : plan.steps)
    MR_TRY(change_admission(room.gangs[step.gang], step.next));
  const Clock::Time end = clock_.now();
  next_admission_ = end + std::max(kBetweenAdmissions, kPartOfTime * (end - begin));
  return {};
}

void KubernetesPlace::tell_waiting(JobSight& sight) const {
  for (TaskSight& task : sight.tasks)
    if (task.stage == TaskStage::pending && task.handle.empty()) task.text = waits_.at(sight.name);
}

Status KubernetesPlace::change_admission(const Gang& gang, const Admission& next) {
  const bool waits = next.stage == AdmissionStage::waiting;
  const std::string doing = str_cat("letting job '", gang.name, "' in");
  const bool is_new = to_text(next) != gang.written;
  if (is_new) {
    Json patch = admission_patch(gang, next);
    // One that begins has its head with that. One that gives way has its Jobs suspended right after
    // it: what tasks of one role do when those of another are gone is no failure yet.
    if (!waits) patch.push_back({{"op", "add"}, {"path", "/spec/suspend"}, {"value", false}});
    const Status written =
        api_.patch(kJobs, gang.head, ClusterApi::Patch::json, patch.dump(), Tries::one);
    if (is_overtaken(written)) return {};
    MR_TRY(written.with(doing));
  }
  const std::string patch = Json{{"spec", {{"suspend", waits}}}}.dump();
  for (const auto& [job, is_suspended] : gang.jobs) {
    if (is_suspended == waits || (is_new && !waits && job == gang.head)) continue;
    const Status changed = api_.patch(kJobs, job, ClusterApi::Patch::merge, patch, Tries::several);
    if (!is_overtaken(changed)) MR_TRY(changed.with(doing));
  }
  return {};
}

}  // namespace millrace
