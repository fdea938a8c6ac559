// Part of export_job.h: what Kubernetes' operators take.
#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/foreign/export_job.h"
#include "millrace/launch/foreign/task_words.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/pod_secrets.h"
#include "millrace/launch/kubernetes/pod_words.h"
#include "millrace/launch/yaml_text.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using When = RestartPolicy::When;
using std::chrono::ceil;
using std::chrono::seconds;

constexpr const char* kIndexVariable = "MILLRACE_TASK_INDEX";
// One environment variable is at most 128 KiB.
constexpr size_t kLongestConfig = 120 << 10;

// How a role is called in a TFJob.
constexpr std::pair<std::string_view, std::string_view> kReplicaTypes[] = {
    {"chief", "Chief"},
    {"master", "Master"},
    {"worker", "Worker"},
    {"ps", "PS"},
    {"evaluator", "Evaluator"}};

// One kind of pods, and what is said of each role's.
struct PodKind {
  const JobSpec& job;
  ClusterSpec cluster;
  const char* container;   // its name
  const char* index_path;  // of a pod's metadata
  bool sets_config;        // TF_CONFIG has to be said
};

Json variable_of(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

// In place of one with its name, if there is one.
void put_variable(Json& variables, const Json& variable) {
  const auto same = std::ranges::find_if(
      variables, [&](const Json& known) { return known["name"] == variable["name"]; });
  if (same == variables.end())
    variables.push_back(variable);
  else
    *same = variable;
}

Result<Json> container_of_role(const PodKind& kind, const RoleSpec& role) {
  const std::string index = str_cat("$(", kIndexVariable, ")");
  const Json command = exported_command(kind.job, role, kind.cluster, index, pod_literal);
  const bool names_index = std::ranges::any_of(command, [&](const Json& word) {
    return word.get_ref<const std::string&>().find(index) != std::string::npos;
  });
  // Before what is made of it: Kubernetes puts in what stood above.
  Json variables = Json::array();
  if (names_index || kind.sets_config)
    variables.push_back({{"name", kIndexVariable},
                         {"valueFrom", {{"fieldRef", {{"fieldPath", kind.index_path}}}}}});
  if (kind.sets_config) {
    const std::string config = exported_config(kind.cluster, role, index);
    if (config.size() > kLongestConfig)
      return invalid("the cluster takes ", config.size(), " letters, and TF_CONFIG of a pod ",
                     kLongestConfig, "; --to kubernetes says it once for all");
    variables.push_back(variable_of(kTaskVariable, config));
  }
  for (const auto& [name, value] : environment_of(kind.job, role))
    put_variable(variables, variable_of(name, pod_literal(value)));
  for (const RoleSecret& secret : secrets_of(kind.job, role))
    put_variable(variables, secret_variable(kind.job, secret));
  Json container = {
      {"name", kind.container}, {"image", image_of(kind.job, role)}, {"command", command}};
  if (!variables.empty()) container["env"] = std::move(variables);
  if (!kind.job.directory.empty()) container["workingDir"] = kind.job.directory;
  if (Json resources = pod_resources(role.resources); !resources.empty())
    container["resources"] = std::move(resources);
  for (size_t i = 0; const auto& [where, which] : kind.job.volumes)
    container["volumeMounts"].push_back({{"name", str_cat("volume-", ++i)}, {"mountPath", where}});
  return container;
}

Result<Json> pod_of_role(const PodKind& kind, const RoleSpec& role) {
  Json pod = Json::object();
  pod["terminationGracePeriodSeconds"] = ceil<seconds>(kind.job.grace).count();
  if (!role.nodes.empty()) pod["nodeSelector"] = role.nodes;
  MR_ASSIGN(Json container, container_of_role(kind, role));
  pod["containers"] = Json::array({std::move(container)});
  for (size_t i = 0; const auto& [where, which] : kind.job.volumes)
    pod["volumes"].push_back(
        {{"name", str_cat("volume-", ++i)}, {"persistentVolumeClaim", {{"claimName", which}}}});
  return pod;
}

int restarts_of(const RoleSpec& role) {
  return role.restart.when == When::never ? 0 : role.restart.budget.restarts;
}

bool ends_by_code(const RoleSpec& role) {
  return !role.restart.causes.empty() &&
         std::ranges::none_of(role.restart.causes, [](const RestartPolicy::Cause& cause) {
           return cause.kind == RestartPolicy::Cause::Kind::exit;
         });
}

// --- TFJob ---

std::string_view replica_type(const std::string& role) {
  const std::string lower = dns_name_of(role);
  for (const auto& [name, type] : kReplicaTypes)
    if (name == lower) return type;
  return "";
}

Status check_replica_types(const JobSpec& job) {
  int chiefs = 0;
  for (const RoleSpec& role : job.roles) {
    const std::string_view type = replica_type(role.name);
    if (type.empty())
      return invalid("role '", role.name,
                     "': a TFJob has chief, master, worker, ps and evaluator; --to jobset takes any"
                     " role");
    if (type == "Chief" || type == "Master") ++chiefs;
  }
  if (chiefs < 2) return {};
  return invalid("a TFJob has a chief or a master, and this job has both; --to jobset takes both");
}

Json run_policy_of(const JobSpec& job) {
  Json policy = {{"cleanPodPolicy", "Running"},
                 {"ttlSecondsAfterFinished", ceil<seconds>(job.keep).count()}};
  if (job.time_limit) policy["activeDeadlineSeconds"] = ceil<seconds>(*job.time_limit).count();
  int restarts = 0;
  for (const RoleSpec& role : job.roles) restarts = std::max(restarts, restarts_of(role));
  if (restarts > 0) policy["backoffLimit"] = restarts;
  if (!job.queue.empty()) policy["schedulingPolicy"] = {{"queue", job.queue}};
  return policy;
}

// Who decides there: the chief or master; else worker 0, or all workers.
void put_success_policy(const JobSpec& job, Json& spec, ExportedJob& exported) {
  std::vector<std::string> there;
  for (const char* chief : {"chief", "master"})
    for (const RoleSpec& role : job.roles)
      if (dns_name_of(role.name) == chief) there = {role.name};
  const bool has_worker =
      std::ranges::find(job.roles, "worker", &RoleSpec::name) != job.roles.end();
  if (there.empty() && has_worker) {
    there = {"worker"};
    spec["successPolicy"] = "AllWorkers";
  }
  if (deciding_roles(job) != there)
    exported.notes.push_back(
        str_cat("until: a TFJob has succeeded when ",
                there.empty() ? "all its tasks have" : str_cat("its ", there[0], " has"),
                ", whatever is said"));
}

std::string replica_restart(const RoleSpec& role) {
  switch (role.restart.when) {
    case When::never:
      return "Never";
    case When::on_failure:
      return ends_by_code(role) ? "ExitCode" : "OnFailure";
    case When::always:
      return "Always";
  }
  return "";
}

// --- JobSet ---

Result<Json> replicated_job(const PodKind& kind, const RoleSpec& role) {
  MR_ASSIGN(Json pod, pod_of_role(kind, role));
  pod["restartPolicy"] = role.restart.when == When::never ? "Never" : "OnFailure";
  Json spec = {{"completionMode", "Indexed"},
               {"completions", role.count},
               {"parallelism", role.count},
               {"backoffLimit", restarts_of(role)}};
  if (kind.job.time_limit)
    spec["activeDeadlineSeconds"] = ceil<seconds>(*kind.job.time_limit).count();
  spec["template"] = {{"spec", std::move(pod)}};
  return Json{
      {"name", dns_name_of(role.name)}, {"replicas", 1}, {"template", {{"spec", std::move(spec)}}}};
}

}  // namespace

Result<ExportedJob> export_tfjob(const JobSpec& job) {
  MR_TRY(check_export(job, "TFJob"));
  MR_TRY(check_images(job, "TFJob"));
  MR_TRY(check_exported_secrets(job, "TFJob", SecretWords::of_cluster));
  MR_TRY(check_replica_types(job));
  PodKind kind{.job = job,
               .container = "tensorflow",
               .index_path = "metadata.labels['training.kubeflow.org/replica-index']",
               .sets_config = false};
  // The operator makes a Service of that name for each task.
  MR_ASSIGN(kind.cluster, exported_cluster(job, [&](const RoleSpec& role, int index) {
              return str_cat(job.name, "-", dns_name_of(role.name), "-", index, ":",
                             kConventionalPort);
            }));
  ExportedJob exported;
  Json spec = {{"runPolicy", run_policy_of(job)}};
  put_success_policy(job, spec, exported);
  for (const RoleSpec& role : job.roles) {
    MR_ASSIGN(Json pod, pod_of_role(kind, role));
    spec["tfReplicaSpecs"][std::string(replica_type(role.name))] = {
        {"replicas", role.count},
        {"restartPolicy", replica_restart(role)},
        {"template", {{"spec", std::move(pod)}}}};
  }
  note_restarts(job, exported);
  note_wishes(job, exported);
  exported.text = to_yaml({{"apiVersion", "kubeflow.org/v1"},
                           {"kind", "TFJob"},
                           {"metadata", {{"name", job.name}}},
                           {"spec", std::move(spec)}});
  return exported;
}

Result<ExportedJob> export_job_set(const JobSpec& job) {
  MR_TRY(check_export(job, "JobSet"));
  MR_TRY(check_images(job, "JobSet"));
  MR_TRY(check_exported_secrets(job, "JobSet", SecretWords::of_cluster));
  PodKind kind{.job = job,
               .container = "task",
               .index_path = "metadata.annotations['batch.kubernetes.io/job-completion-index']",
               .sets_config = true};
  MR_ASSIGN(kind.cluster, exported_cluster(job, [&](const RoleSpec& role, int index) {
              return str_cat(job.name, "-", dns_name_of(role.name), "-0-", index, ".", job.name,
                             ":", kConventionalPort);
            }));
  ExportedJob exported;
  Json until = Json::array();
  for (const std::string& role : deciding_roles(job)) until.push_back(dns_name_of(role));
  Json metadata = {{"name", job.name}};
  if (!job.queue.empty()) metadata["labels"] = {{"kueue.x-k8s.io/queue-name", job.queue}};
  Json spec = {{"network", {{"enableDNSHostnames", true}, {"subdomain", job.name}}},
               {"successPolicy", {{"operator", "All"}, {"targetReplicatedJobs", std::move(until)}}},
               {"failurePolicy", {{"maxRestarts", 0}}},
               {"ttlSecondsAfterFinished", ceil<seconds>(job.keep).count()}};
  for (const RoleSpec& role : job.roles) {
    MR_ASSIGN(Json replicated, replicated_job(kind, role));
    const std::string name = replicated["name"];
    for (const Json& other : spec.value("replicatedJobs", Json::array()))
      if (other["name"] == name)
        return invalid("two roles are called '", name,
                       "' in a JobSet; names differ by more than "
                       "case and underscores there");
    spec["replicatedJobs"].push_back(std::move(replicated));
    if (role.restart.when == When::always)
      exported.notes.push_back(str_cat(
          "roles.", role.name, ".restart: a task that has ended well is not started again"));
  }
  note_restarts(job, exported);
  note_wishes(job, exported);
  exported.text = to_yaml({{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                           {"kind", "JobSet"},
                           {"metadata", std::move(metadata)},
                           {"spec", std::move(spec)}});
  return exported;
}

}  // namespace millrace
