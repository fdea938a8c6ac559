// Part of kubernetes_place.h: other numbers of tasks for a job that runs (docs/design/scaling.md).
#include "millrace/launch/scaling.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/kubernetes_place.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/scale_plan.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = ClusterApi::Objects;
using std::chrono::seconds;

constexpr int kMostConflicts = 5;
// Beside their grace: how long those that go may take to hear of it, and the cluster to see it.
constexpr Clock::Duration kToHear = seconds(15);
constexpr Clock::Duration kToSettle = seconds(15);

std::string words_of(const JobSight& sight) {
  return str_cat("only a job that runs can be scaled; ", sentence(sight));
}

}  // namespace

// The ConfigMap first: what is written to it is made of Jobs that are no older.
Result<Objects> KubernetesPlace::scalable(const std::string& name) {
  return objects_of(name, {kConfigMaps, kJobs});
}

Result<std::vector<ScaledRole>> KubernetesPlace::scale(const std::string& name,
                                                       const std::vector<RoleCount>& counts,
                                                       const std::string&) {
  MR_ASSIGN(const JobSight sight, look(name));
  MR_ASSIGN(const Objects objects, scalable(name));
  MR_ASSIGN(const JobSpec job, scaled_job(name, objects));
  MR_TRY(check_scaling(job, counts));
  if (sight.stage == JobStage::ending || sight.stage == JobStage::ended)
    return failed_precondition(words_of(sight));
  std::vector<ScaledRole> roles;
  for (const auto& [role, count] : counts)
    roles.push_back({.name = role,
                     .before = std::ranges::find(job.roles, role, &RoleSpec::name)->count,
                     .after = count});
  // What somebody has begun, and was cut off from.
  MR_TRY(settle(name));
  MR_TRY(change_sizes(name, roles).with(str_cat("scaling '", name, "'")));
  MR_TRY(keep_roster(name).with(str_cat("scaling '", name, "'")));
  tell_pods(name);
  MR_TRY(await_leaving(name, roles, sight.grace));
  MR_TRY(settle(name).with(str_cat("scaling '", name, "'")));
  return roles;
}

Status KubernetesPlace::change_sizes(const std::string& name,
                                     const std::vector<ScaledRole>& roles) {
  MR_ASSIGN(const Objects objects, scalable(name));
  for (const ScaledRole& role : roles) {
    const Json* job = job_of_role(objects, role.name);
    if (job == nullptr) return not_found("role ", role.name, " has just gone");
    if (role.before == role.after) continue;
    MR_TRY(api_.patch(*job, ClusterApi::Patch::json, sizes_patch(*job, role.after, now()),
                      Tries::one));
  }
  return {};
}

Status KubernetesPlace::keep_roster(const std::string& name) {
  Status last;
  for (int i = 0; i < kMostConflicts; ++i) {
    MR_ASSIGN(const Objects objects, scalable(name));
    MR_ASSIGN(const JobSpec job, scaled_job(name, objects));
    const Json* map = cluster_map_in(objects);
    if (map == nullptr) return not_found("the ConfigMap ", cluster_map_of(name), " has gone");
    last = api_.patch(*map, ClusterApi::Patch::merge, roster_patch(*map, job), Tries::several);
    if (last.code() != Code::aborted) return last;
  }
  return last;
}

// Their machines look at the roster anew when a pod changes; a minute later otherwise.
void KubernetesPlace::tell_pods(const std::string& name) {
  const Result<Objects> pods =
      api_.list({kPods}, {.labels = selector_of(name), .fields = "status.phase=Running"});
  if (!pods.ok()) return;
  const std::string time = std::to_string(clock_.wall_micros());
  const Json patch = {{"metadata", {{"annotations", {{"millrace/roster-of", time}}}}}};
  for (const Json& pod : *pods)
    (void)api_.patch(pod, ClusterApi::Patch::merge, patch.dump(), Tries::one);
}

Status KubernetesPlace::await_leaving(const std::string& name, const std::vector<ScaledRole>& roles,
                                      Clock::Duration grace) {
  if (std::ranges::none_of(roles, [](const ScaledRole& role) { return role.after < role.before; }))
    return {};
  for (const Clock::Time begin = clock_.now();; pause(kBetweenLooks)) {
    MR_ASSIGN(const Objects objects, objects_of(name, {kJobs, kPods}));
    // Those that don't hear are ended with their pods.
    if (!some_leave(objects) || clock_.now() >= begin + grace + kToHear) return {};
  }
}

Status KubernetesPlace::settle(const std::string& name) {
  for (const Clock::Time begin = clock_.now();; pause(kBetweenLooks)) {
    MR_ASSIGN(const Objects objects, scalable(name));
    MR_ASSIGN(const JobSpec job, scaled_job(name, objects));
    bool is_done = true;
    for (const RoleSpec& role : job.roles) {
      const Json& object = *job_of_role(objects, role.name);
      if (!scales(role) || is_settled(object)) continue;
      is_done = false;
      if (object_number(object, {"spec", "completions"}) == role.count) continue;
      const Status status = api_.patch(object, ClusterApi::Patch::json,
                                       pods_patch(object, role.count), Tries::several);
      // Aborted: somebody scales it anew, and goes on from there.
      if (!status.ok() && status.code() != Code::aborted) return status;
    }
    if (is_done) return {};
    if (clock_.now() >= begin + kToSettle)
      return error(Code::deadline_exceeded, "Kubernetes has not changed the Jobs of '", name,
                   "' in ", kToSettle / seconds(1), " s; `millrace status ", name,
                   "` shows whether it does so later");
  }
}

}  // namespace millrace
