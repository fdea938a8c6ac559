#include "millrace/launch/kubernetes/scale_plan.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/kubernetes/seen_role.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

// As JSON patches write the annotation's name: ~1 is a slash.
constexpr const char* kSizesPath = "/metadata/annotations/millrace~1sizes";

Json same_sizes(const Json& job) {
  return {{"op", "test"}, {"path", kSizesPath}, {"value", annotation_of(job, kSizesAnnotation)}};
}

RoleSpec role_in(const SeenRole& seen, const Json& job) {
  RoleSpec role{.name = seen.name, .count = seen.sizes.back().count};
  if (const auto bounds = parse_bounds(annotation_of(job, kBoundsAnnotation))) {
    role.least = bounds->least;
    role.most = bounds->most;
  }
  return role;
}

}  // namespace

Result<JobSpec> scaled_job(const std::string& name, const ClusterObjects& objects) {
  JobSpec job{.name = name};
  for (const SeenRole& seen : seen_roles(objects)) {
    const Json* object = job_of_role(objects, seen.name);
    if (object == nullptr) continue;
    if (!object_text(*object, {"metadata", "labels", kQueueLabel}).empty())
      return failed_precondition("job '", name,
                                 "' has a queue: Kueue holds room for the tasks that it was "
                                 "submitted with, and would stop it whole; stop it and submit it "
                                 "with another count");
    job.roles.push_back(role_in(seen, *object));
  }
  return job;
}

const Json* job_of_role(const ClusterObjects& objects, const std::string& role) {
  const auto found = std::ranges::find_if(objects, [&](const Json& object) {
    return is_job(object) && annotation_of(object, kRoleAnnotation) == role;
  });
  return found == objects.end() ? nullptr : &*found;
}

const Json* cluster_map_in(const ClusterObjects& objects) {
  const auto found = std::ranges::find_if(
      objects, [](const Json& object) { return object_text(object, {"kind"}) == "ConfigMap"; });
  return found == objects.end() ? nullptr : &*found;
}

std::string sizes_patch(const Json& job, int count, int64_t now) {
  std::vector<RoleSize> sizes =
      parse_sizes(annotation_of(job, kSizesAnnotation)).value_or(std::vector<RoleSize>());
  sizes = with_size(std::move(sizes), {.count = count, .since = now});
  return Json::array({same_sizes(job),
                      {{"op", "replace"}, {"path", kSizesPath}, {"value", to_text(sizes)}}})
      .dump();
}

std::string pods_patch(const Json& job, int count) {
  // Together: Kubernetes lets completions change where both are the same.
  return Json::array({same_sizes(job),
                      {{"op", "replace"}, {"path", "/spec/completions"}, {"value", count}},
                      {{"op", "replace"}, {"path", "/spec/parallelism"}, {"value", count}}})
      .dump();
}

std::string roster_patch(const Json& map, const JobSpec& job) {
  return Json{
      {"metadata", {{"resourceVersion", object_text(map, {"metadata", "resourceVersion"})}}},
      {"data", {{kRosterKey, roster_of(job)}}}}
      .dump();
}

bool some_leave(const ClusterObjects& objects) {
  const std::vector<SeenRole> roles = seen_roles(objects);
  return std::ranges::any_of(objects, [&](const Json& object) {
    if (object_text(object, {"status", "phase"}) != "Running") return false;
    const std::string job = object_text(object, {"metadata", "labels", "job-name"});
    const auto role = std::ranges::find(roles, job, &SeenRole::job);
    const std::string index = annotation_of(object, "batch.kubernetes.io/job-completion-index");
    return role != roles.end() && !index.empty() &&
           !role->is_wanted(static_cast<size_t>(number_of(index)));
  });
}

bool has_finished(const Json& job) {
  return condition_of(job, "Complete") != nullptr || condition_of(job, "Failed") != nullptr;
}

bool is_settled(const Json& job) {
  const auto sizes = parse_sizes(annotation_of(job, kSizesAnnotation));
  if (!sizes || has_finished(job)) return true;
  const int64_t count = sizes->back().count;
  if (object_number(job, {"spec", "completions"}) != count) return false;
  // "0-2,5": the last number is the highest.
  for (const char* key : {"completedIndexes", "failedIndexes"}) {
    const std::string indexes = object_text(job, {"status", key});
    const size_t last = indexes.find_last_of(",-");
    if (!indexes.empty() &&
        number_of(last == std::string::npos ? indexes : indexes.substr(last + 1)) >= count)
      return false;
  }
  return true;
}

}  // namespace millrace
