#include "millrace/launch/kubernetes/pod_wishes.h"

#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/manifests.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVolcano = "volcano";
// By which Volcano knows to which group a pod belongs.
constexpr const char* kGroupAnnotation = "scheduling.k8s.io/group-name";
constexpr const char* kSharedMemory = "/dev/shm";
constexpr int kNearWeight = 100;  // the most that a wish may weigh

Json toleration_json(const Toleration& toleration) {
  Json json = Json::object();
  if (!toleration.key.empty()) json["key"] = toleration.key;
  json["operator"] = toleration.value ? "Equal" : "Exists";
  if (toleration.value) json["value"] = *toleration.value;
  if (!toleration.effect.empty()) json["effect"] = toleration.effect;
  if (toleration.seconds) json["tolerationSeconds"] = *toleration.seconds;
  return json;
}

Json pods_of_job(const JobSpec& job) { return {{"matchLabels", {{kInstanceLabel, job.name}}}}; }

Json pods_of_role(const JobSpec& job, const RoleSpec& role) {
  Json pods = pods_of_job(job);
  pods["matchLabels"][kComponentLabel] = dns_name_of(role.name);
  return pods;
}

void add_places(const JobSpec& job, const RoleSpec& role, const KubernetesWishes& wishes,
                Json& spec) {
  if (!wishes.spread.empty())
    spec["topologySpreadConstraints"] =
        Json::array({{{"maxSkew", 1},
                      {"topologyKey", topology_label(wishes.spread)},
                      {"whenUnsatisfiable", "ScheduleAnyway"},
                      {"labelSelector", pods_of_role(job, role)}}});
  if (!wishes.apart.empty())
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({{{"topologyKey", topology_label(wishes.apart)},
                      {"labelSelector", pods_of_role(job, role)}}});
  if (!wishes.near.empty())
    spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({{{"weight", kNearWeight},
                      {"podAffinityTerm",
                       {{"topologyKey", topology_label(wishes.near)},
                        {"labelSelector", pods_of_job(job)}}}}});
}

void add_shared_memory(int64_t bytes, Json& spec) {
  spec["volumes"].push_back(
      {{"name", "shm"},
       {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", std::to_string(bytes)}}}});
  spec["containers"][0]["volumeMounts"].push_back({{"name", "shm"}, {"mountPath", kSharedMemory}});
}

}  // namespace

void add_wishes(const JobSpec& job, const RoleSpec& role, Json& pod_template) {
  const KubernetesWishes wishes = merged(job.kubernetes, role.kubernetes);
  Json& spec = pod_template["spec"];
  for (const auto& [name, value] : wishes.annotations)
    pod_template["metadata"]["annotations"][name] = value;
  if (is_of_volcano(job)) pod_template["metadata"]["annotations"][kGroupAnnotation] = job.name;
  for (const Toleration& toleration : wishes.tolerations)
    spec["tolerations"].push_back(toleration_json(toleration));
  if (!wishes.priority.empty()) spec["priorityClassName"] = wishes.priority;
  if (!wishes.scheduler.empty()) spec["schedulerName"] = wishes.scheduler;
  for (const std::string& secret : wishes.pull_secrets)
    spec["imagePullSecrets"].push_back({{"name", secret}});
  if (!wishes.service_account.empty()) {
    spec["serviceAccountName"] = wishes.service_account;
    // Whoever asks for one wants its login.
    spec.erase("automountServiceAccountToken");
  }
  add_places(job, role, wishes, spec);
  if (wishes.shm > 0) add_shared_memory(wishes.shm, spec);
}

bool is_of_volcano(const JobSpec& job) { return job.kubernetes.scheduler == kVolcano; }

Json pod_group_of(const JobSpec& job, const Json& labels) {
  int tasks = 0;
  for (const RoleSpec& role : job.roles) tasks += role.count;
  Json spec = {{"minMember", tasks}};
  if (!job.queue.empty()) spec["queue"] = job.queue;
  if (!job.kubernetes.priority.empty()) spec["priorityClassName"] = job.kubernetes.priority;
  return {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
          {"kind", "PodGroup"},
          {"metadata", {{"name", job.name}, {"labels", labels}}},
          {"spec", std::move(spec)}};
}

Status check_pod_wishes(const JobSpec& job) {
  MR_TRY(check_wishes(job.kubernetes));
  for (const RoleSpec& role : job.roles) {
    MR_TRY(check_wishes(role.kubernetes).with(str_cat("role ", role.name)));
    if (!role.kubernetes.scheduler.empty())
      return invalid("kubernetes.scheduler: one finds machines for the whole job; write it there, ",
                     "and not in role ", role.name);
    if (merged(job.kubernetes, role.kubernetes).shm > 0 && job.volumes.contains(kSharedMemory))
      return invalid("kubernetes.shm: ", kSharedMemory, " is one of the volumes already");
  }
  return {};
}

}  // namespace millrace
