#include "millrace/launch/kubernetes/gang.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/kubernetes/scale_plan.h"
#include "millrace/launch/kubernetes/seen_role.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = std::vector<Json>;

constexpr std::pair<std::string_view, AdmissionStage> kStages[] = {
    {"waiting", AdmissionStage::waiting},
    {"tried", AdmissionStage::tried},
    {"admitted", AdmissionStage::admitted}};
constexpr int kMostGivenWay = 1'000'000;
constexpr int64_t kMostPods = 100'000;
// Of a job that is let in: a pod that is younger takes the place of another.
constexpr int64_t kToMakePods = 60;

using JobKey = std::pair<std::string, std::string>;  // namespace and name

JobKey key_of(const Json& object, ObjectPath name) {
  return {object_text(object, {"metadata", "namespace"}), object_text(object, name)};
}

bool goes(const Json& object) {
  return !object_text(object, {"metadata", "deletionTimestamp"}).empty();
}

// Only a job that runs is.
bool was_scaled(const Json& job) {
  const auto sizes = parse_sizes(annotation_of(job, kSizesAnnotation));
  return sizes && sizes->size() > 1;
}

// One role, without its pods.
void add_job(const Json& job, Gang& gang) {
  const std::string written = annotation_of(job, kAdmissionAnnotation);
  if (!written.empty()) {
    gang.head = object_text(job, {"metadata", "name"});
    gang.written = written;
    gang.admission = parse_admission(written).value_or(Admission{});
  }
  const std::string created = object_text(job, {"metadata", "creationTimestamp"});
  if (gang.created.empty() || created < gang.created) gang.created = created;
  gang.jobs.emplace_back(object_text(job, {"metadata", "name"}),
                         object_part(job, {"spec", "suspend"}) == true);
  PodWish wish = wish_of(object_part(job, {"spec", "template", "spec"}));
  wish.count = std::clamp<int64_t>(object_number(job, {"spec", "completions"}), 0, kMostPods);
  gang.count += wish.count;
  gang.lacking.push_back(wish);
  gang.wishes.push_back(std::move(wish));
  gang.has_begun = gang.has_begun || object_number(job, {"status", "succeeded"}) > 0 ||
                   object_number(job, {"status", "failed"}) > 0 || was_scaled(job);
}

void add_pod(const Json& pod, size_t role, Gang& gang) {
  const std::string phase = object_text(pod, {"status", "phase"});
  const int64_t made = seconds_of(object_text(pod, {"metadata", "creationTimestamp"}));
  gang.has_begun = gang.has_begun || phase == "Succeeded" || phase == "Failed" ||
                   made > gang.admission.since + kToMakePods;
  const std::string machine = object_text(pod, {"spec", "nodeName"});
  PodWish& lacking = gang.lacking[role];
  if (machine.empty() || lacking.count == 0) return;
  --lacking.count;
  ++gang.bound;
  gang.held.emplace_back(machine, lacking.asks);
}

void add_pods(const Objects& objects, const std::map<JobKey, std::pair<size_t, size_t>>& places,
              std::vector<Gang>& gangs) {
  for (const Json& object : objects) {
    // Those that go have been let go of.
    if (object_text(object, {"kind"}) != "Pod" || goes(object)) continue;
    const auto place = places.find(key_of(object, {"metadata", "labels", "job-name"}));
    if (place != places.end()) add_pod(object, place->second.second, gangs[place->second.first]);
  }
}

}  // namespace

std::string to_text(const Admission& admission) {
  const auto* stage = std::ranges::find(kStages, admission.stage,
                                        &std::pair<std::string_view, AdmissionStage>::second);
  return str_cat(stage->first, " ", admission.since, " ", admission.not_before, " ",
                 admission.given_way);
}

std::optional<Admission> parse_admission(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string word;
  Admission admission;
  if (!(words >> word >> admission.since >> admission.not_before >> admission.given_way)) return {};
  const auto* stage =
      std::ranges::find(kStages, word, &std::pair<std::string_view, AdmissionStage>::first);
  const bool is_sane = admission.since >= 0 && admission.not_before >= 0 &&
                       admission.given_way >= 0 && admission.given_way <= kMostGivenWay;
  if (stage == std::end(kStages) || !is_sane || words >> word) return {};
  admission.stage = stage->second;
  return admission;
}

std::vector<Gang> gangs_in(const Objects& objects) {
  std::map<JobKey, Gang> by_name;
  std::map<JobKey, std::pair<JobKey, size_t>> roles;  // by the Job: whose it is, and which
  std::vector<JobKey> over;
  for (const Json& object : objects) {
    if (!is_job(object)) continue;
    const JobKey key = key_of(object, {"metadata", "labels", kInstanceLabel});
    Gang& gang = by_name[key];
    std::tie(gang.name_space, gang.name) = key;
    roles[key_of(object, {"metadata", "name"})] = {key, gang.jobs.size()};
    add_job(object, gang);
    if (has_finished(object) || goes(object)) over.push_back(key);
  }
  for (const JobKey& key : over) by_name.erase(key);
  std::vector<Gang> gangs;
  std::map<JobKey, size_t> numbers;
  for (auto& [key, gang] : by_name) {
    if (gang.head.empty()) continue;
    numbers[key] = gangs.size();
    gangs.push_back(std::move(gang));
  }
  std::map<JobKey, std::pair<size_t, size_t>> places;
  for (const auto& [job, role] : roles)
    if (const auto number = numbers.find(role.first); number != numbers.end())
      places[job] = {number->second, role.second};
  add_pods(objects, places, gangs);
  std::ranges::stable_sort(gangs, {}, [](const Gang& gang) {
    return std::tie(gang.created, gang.name_space, gang.name);
  });
  return gangs;
}

}  // namespace millrace
