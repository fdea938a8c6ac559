#include "millrace/launch/kubernetes/seen_role.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/pod_depot.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = std::vector<Json>;

constexpr int64_t kMostIndexes = 100'000;

// "0-2,5"
std::vector<bool> indexes_of(const std::string& text, int64_t count) {
  std::vector<bool> indexes(static_cast<size_t>(count));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t dash = part.find('-');
    const int64_t first = number_of(part);
    const int64_t last = dash == std::string::npos ? first : number_of(part.substr(dash + 1));
    for (int64_t i = std::max<int64_t>(first, 0);
         i <= last && i < static_cast<int64_t>(indexes.size()); ++i)
      indexes[static_cast<size_t>(i)] = true;
    at = end + 1;
  }
  return indexes;
}

// How many tasks it may have, and has had; as many as the Job has pods, if nothing says more.
void read_sizes(const Json& job, SeenRole& role) {
  const int64_t now =
      std::clamp<int64_t>(object_number(job, {"spec", "completions"}), 0, kMostIndexes);
  role.count = now;
  role.sizes = {{.count = static_cast<int>(now)}};
  const std::optional<RoleBounds> bounds = parse_bounds(annotation_of(job, kBoundsAnnotation));
  std::optional<std::vector<RoleSize>> sizes = parse_sizes(annotation_of(job, kSizesAnnotation));
  if (!bounds || !sizes) return;
  role.count = bounds->most;
  role.sizes = std::move(*sizes);
}

SeenRole seen_role(const Json& job) {
  SeenRole role{.job = object_text(job, {"metadata", "name"}),
                .name = annotation_of(job, kRoleAnnotation)};
  if (role.name.empty()) role.name = role.job;
  role.order = number_of(annotation_of(job, kOrderAnnotation));
  role.decides = annotation_of(job, kDecidesAnnotation) != "false";
  role.is_suspended = object_part(job, {"spec", "suspend"}) == true;
  role.restarts = object_number(job, {"spec", "backoffLimitPerIndex"});
  role.may_lose = static_cast<int>(
      std::clamp<int64_t>(number_of(annotation_of(job, kMayLoseAnnotation)), 0, kMostIndexes));
  role.end = condition_of(job, "Complete");
  if (role.end == nullptr) role.end = condition_of(job, "Failed");
  read_sizes(job, role);
  role.pods.resize(static_cast<size_t>(role.count));
  role.completed_indexes = indexes_of(object_text(job, {"status", "completedIndexes"}), role.count);
  role.failed_indexes = indexes_of(object_text(job, {"status", "failedIndexes"}), role.count);
  return role;
}

void add_pod(const Json& object, std::vector<SeenRole>& roles) {
  const std::string job = object_text(object, {"metadata", "labels", "job-name"});
  const auto role = std::ranges::find(roles, job, &SeenRole::job);
  const std::string index = annotation_of(object, "batch.kubernetes.io/job-completion-index");
  if (role == roles.end() || index.empty()) return;
  const int64_t place = number_of(index);
  if (place < 0 || place >= role->count) return;
  role->pods[static_cast<size_t>(place)].push_back(seen_pod(object));
}

}  // namespace

bool is_job(const Json& object) {
  return object_text(object, {"kind"}) == "Job" && !is_of_depot(object);
}

bool SeenRole::has_ended_for_good(size_t index, const Pod& pod) const {
  if (pod.stage != PodStage::ended) return false;
  const bool is_completed = pod.facts.code == 0 && pod.facts.taken_away.empty() && !pod.comes_again;
  return is_completed || pod.ends_for_good || pod.failures >= restarts || end != nullptr ||
         failed_indexes[index] || !is_wanted(index);
}

std::vector<SeenRole> seen_roles(const Objects& objects) {
  std::vector<SeenRole> roles;
  for (const Json& object : objects)
    if (is_job(object)) roles.push_back(seen_role(object));
  std::ranges::stable_sort(roles, {}, &SeenRole::order);
  for (const Json& object : objects)
    if (object_text(object, {"kind"}) == "Pod") add_pod(object, roles);
  for (SeenRole& role : roles)
    for (std::vector<Pod>& pods : role.pods)
      std::ranges::stable_sort(pods, {}, [](const Pod& pod) { return pod.created; });
  return roles;
}

}  // namespace millrace
