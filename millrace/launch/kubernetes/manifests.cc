#include "millrace/launch/kubernetes/manifests.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/cluster/roster.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/job_file.h"
#include "millrace/launch/kubernetes/gang.h"
#include "millrace/launch/kubernetes/pod_depot.h"
#include "millrace/launch/kubernetes/pod_files.h"
#include "millrace/launch/kubernetes/pod_restarts.h"
#include "millrace/launch/kubernetes/pod_secrets.h"
#include "millrace/launch/kubernetes/pod_wishes.h"
#include "millrace/launch/kubernetes/pod_words.h"
#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/yaml_text.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::ceil;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kClusterDirectory = "/etc/millrace";
constexpr const char* kClusterFile = "cluster.json";
// Kubernetes shows the last lines of this file as the reason of a pod's end.
constexpr const char* kTerminationLog = "/dev/termination-log";

constexpr std::chrono::minutes kToBringOutputs{10};

constexpr const char* kTokenKey = "token";
// What Kubernetes writes on the pods of an index that has failed before.
constexpr const char* kFailuresField =
    "metadata.annotations['batch.kubernetes.io/job-index-failure-count']";

Json labels_of_job(const JobSpec& job) {
  Json labels = {{"app.kubernetes.io/name", "millrace"},
                 {kInstanceLabel, job.name},
                 {kManagedByLabel, "millrace"}};
  for (const auto& [name, value] : job.kubernetes.labels) labels[name] = value;
  return labels;
}

Json labels_of_role(const JobSpec& job, const RoleSpec& role) {
  Json labels = labels_of_job(job);
  for (const auto& [name, value] : role.kubernetes.labels) labels[name] = value;
  labels[kComponentLabel] = dns_name_of(role.name);
  // Kueue, where it is installed, holds each role back until its queue has room for all its tasks.
  if (!job.queue.empty() && !is_of_volcano(job)) labels[kQueueLabel] = job.queue;
  return labels;
}

Json service_of(const JobSpec& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", job.name}, {"labels", labels_of_job(job)}}},
          {"spec",
           {{"clusterIP", "None"},
            {"selector", {{"app.kubernetes.io/instance", job.name}}},
            // Tasks look each other up before they are ready: being ready is being connected.
            {"publishNotReadyAddresses", true},
            {"ports", Json::array({{{"name", "grpc"}, {"port", kConventionalPort}}})}}}};
}

std::string address_of(const JobSpec& job, const RoleSpec& role, int index) {
  return str_cat(job.name, "-", dns_name_of(role.name), "-", index, ".", job.name, ":",
                 kConventionalPort);
}

// All that there may be.
Result<ClusterSpec> cluster_of(const JobSpec& job) {
  ClusterSpec cluster;
  for (const RoleSpec& role : job.roles) {
    std::vector<std::string> addresses;
    for (int index = 0; index < most_of(role); ++index)
      addresses.push_back(address_of(job, role, index));
    MR_TRY(cluster.add_job(role.name, addresses));
  }
  return cluster;
}

Result<Json> config_map_of(const JobSpec& job) {
  TfConfig config;
  MR_ASSIGN(config.cluster, cluster_of(job));
  Json data = {{kClusterFile, to_json(config, JsonLayout::one_line)}};
  if (may_be_scaled(job)) data[kRosterKey] = roster_of(job);
  data[kJobFileKey] = to_job_file(job);
  return Json{{"apiVersion", "v1"},
              {"kind", "ConfigMap"},
              {"metadata", {{"name", cluster_map_of(job.name)}, {"labels", labels_of_job(job)}}},
              {"data", std::move(data)}};
}

std::string secret_name(const JobSpec& job) { return job.name + "-token"; }

Json secret_called(const JobSpec& job, const std::string& name, const Json& content) {
  Json secret = {{"apiVersion", "v1"},
                 {"kind", "Secret"},
                 {"metadata", {{"name", name}, {"labels", labels_of_job(job)}}}};
  secret.update(content);
  return secret;
}

int may_lose_of(const RoleSpec& role) { return role.may_lose.of(role.count); }

// "map=2,ps=1"
std::string may_lose_words(const JobSpec& job) {
  std::string text;
  for (const RoleSpec& role : job.roles)
    if (may_lose_of(role) > 0)
      str_append(&text, text.empty() ? "" : ",", role.name, "=", may_lose_of(role));
  return text;
}

Json command_line(const JobSpec& job, const RoleSpec& role, const PodRestarts& restarts) {
  Json words = {"millrace", "join",    "--cluster", str_cat(kClusterDirectory, "/", kClusterFile),
                "--job",    role.name, "--index",   "$(JOB_COMPLETION_INDEX)"};
  std::string until;
  for (const std::string& name : deciding_roles(job))
    str_append(&until, until.empty() ? "" : ",", name);
  words.insert(words.end(), {"--until", until, "--grace", str_cat(job.grace.count(), "ms")});
  if (may_be_scaled(job))
    words.insert(words.end(), {"--roster", str_cat(kClusterDirectory, "/", kRosterKey)});
  if (may_restart(job))
    for (std::string& word : restart_words(restarts)) words.push_back(std::move(word));
  if (const std::string lost = may_lose_words(job); !lost.empty())
    words.insert(words.end(), {"--may-lose", lost});
  words.push_back("--");
  for (const std::string& word : command_of(job, role)) words.push_back(pod_literal(word));
  return words;
}

Json token_variable(const JobSpec& job) {
  return {{"name", kTokenVariable},
          {"valueFrom", {{"secretKeyRef", {{"name", secret_name(job)}, {"key", kTokenKey}}}}}};
}

Json variables_of(const JobSpec& job, const RoleSpec& role, const PodRestarts& restarts) {
  Json variables = Json::array();
  // A name stands once: kubectl apply merges variables by their names.
  auto add = [&](const std::string& name, const std::string& value) {
    auto same = std::ranges::find_if(variables, [&](const Json& it) { return it["name"] == name; });
    if (same == variables.end()) {
      variables.push_back({{"name", name}, {"value", value}});
    } else {
      (*same)["value"] = value;
    }
  };
  add("PYTHONUNBUFFERED", "1");
  add(kReportFileVariable, kTerminationLog);
  for (const auto& [name, value] : environment_of(job, role)) add(name, pod_literal(value));
  for (const RoleSecret& secret : secrets_of(job, role))
    variables.push_back(secret_variable(job, secret));
  if (restarts.restarts > 0)
    variables.push_back({{"name", kFailuresVariable},
                         {"valueFrom", {{"fieldRef", {{"fieldPath", kFailuresField}}}}}});
  variables.push_back(token_variable(job));
  return variables;
}

std::string volume_name(size_t number) { return str_cat("volume-", number); }

Json mounts_of(const JobSpec& job) {
  Json mounts =
      Json::array({{{"name", "cluster"}, {"mountPath", kClusterDirectory}, {"readOnly", true}}});
  for (const auto& [where, which] : job.volumes)
    mounts.push_back({{"name", volume_name(mounts.size())}, {"mountPath", where}});
  return mounts;
}

Json volumes_of(const JobSpec& job) {
  Json volumes =
      Json::array({{{"name", "cluster"}, {"configMap", {{"name", cluster_map_of(job.name)}}}}});
  for (const auto& [where, which] : job.volumes)
    volumes.push_back(
        {{"name", volume_name(volumes.size())}, {"persistentVolumeClaim", {{"claimName", which}}}});
  return volumes;
}

Json container_of(const JobSpec& job, const RoleSpec& role, const PodRestarts& restarts) {
  Json container = {
      {"name", "task"},
      {"image", role.image.empty() ? job.image : role.image},
      {"command", command_line(job, role, restarts)},
      {"env", variables_of(job, role, restarts)},
      {"ports", Json::array({{{"name", "grpc"}, {"containerPort", kConventionalPort}}})}};
  for (const auto& [name, port] : role.ports)
    container["ports"].push_back({{"name", name}, {"containerPort", port}});
  if (!job.directory.empty()) container["workingDir"] = job.directory;
  if (Json resources = pod_resources(role.resources); !resources.empty())
    container["resources"] = std::move(resources);
  container["volumeMounts"] = mounts_of(job);
  container["terminationMessagePath"] = kTerminationLog;
  // For programs that keep no record: Kubernetes then takes the last lines of the output.
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  container["securityContext"] = restricted_container();
  return container;
}

Json pod_of(const JobSpec& job, const RoleSpec& role, const PodRestarts& restarts) {
  Json pod = {{"restartPolicy", "Never"},
              // With the Service's name, this makes the pod's name in DNS.
              {"subdomain", job.name},
              {"terminationGracePeriodSeconds", ceil<seconds>(time_to_end(job)).count()},
              // Tasks talk to each other, not to the cluster's API.
              {"automountServiceAccountToken", false},
              {"securityContext", restricted_pod()}};
  if (!role.nodes.empty()) pod["nodeSelector"] = role.nodes;
  pod["containers"] = Json::array({container_of(job, role, restarts)});
  pod["volumes"] = volumes_of(job);
  return pod;
}

// Its outputs go with it: there is to be time to bring them.
milliseconds kept(const JobSpec& job) {
  const bool comes_back = time_to_end(job) > job.grace;
  return comes_back ? std::max<milliseconds>(job.keep, kToBringOutputs) : job.keep;
}

Json job_of(const JobSpec& job, const RoleSpec& role, const PodRestarts& restarts) {
  Json spec = {{"completionMode", "Indexed"},
               {"completions", role.count},
               {"parallelism", role.count},
               // A task that fails has failed, unless its role says otherwise: no second one starts
               // with empty variables. The others end by themselves, so that what they wrote is
               // still there; and each attempt is a pod of its own, for the same reason.
               {"backoffLimitPerIndex", restarts.restarts},
               // Never two pods with one index, not even while the first one is ending.
               {"podReplacementPolicy", "Failed"},
               {"ttlSecondsAfterFinished", ceil<seconds>(kept(job)).count()}};
  if (restarts.restarts > 0) spec["podFailurePolicy"] = pod_failure_policy(restarts);
  if (job.time_limit) spec["activeDeadlineSeconds"] = ceil<seconds>(*job.time_limit).count();
  const Json labels = labels_of_role(job, role);
  spec["template"] = {{"metadata", {{"labels", labels}}}, {"spec", pod_of(job, role, restarts)}};
  add_wishes(job, role, spec["template"]);
  const std::vector<std::string> deciding = deciding_roles(job);
  const bool decides = std::ranges::find(deciding, role.name) != deciding.end();
  Json annotations = {{kRoleAnnotation, role.name},
                      {kOrderAnnotation, std::to_string(&role - job.roles.data())},
                      {kDecidesAnnotation, decides ? "true" : "false"},
                      {kGraceAnnotation, std::to_string(time_to_end(job).count())}};
  if (may_lose_of(role) > 0) annotations[kMayLoseAnnotation] = std::to_string(may_lose_of(role));
  if (scales(role)) {
    annotations[kBoundsAnnotation] = bounds_text(role);
    annotations[kSizesAnnotation] = to_text(std::vector<RoleSize>{{.count = role.count}});
  }
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", str_cat(job.name, "-", dns_name_of(role.name))},
            {"labels", labels},
            {"annotations", annotations}}},
          {"spec", std::move(spec)}};
}

// Pods too: they are to be found when their Job has gone already.
void label_run(Json& manifest, const std::string& run) {
  manifest["metadata"]["labels"][kRunLabel] = run;
  if (manifest["kind"] == "Job")
    manifest["spec"]["template"]["metadata"]["labels"][kRunLabel] = run;
}

// It begins when somebody lets it in (admission.h).
void hold_back(std::vector<Json>& manifests, const std::string& admission) {
  const std::string head = head_of(manifests)["metadata"]["name"];
  for (Json& manifest : manifests) {
    if (manifest["kind"] != "Job" || is_of_depot(manifest)) continue;
    manifest["spec"]["suspend"] = true;
    if (manifest["metadata"]["name"] == head)
      manifest["metadata"]["annotations"][kAdmissionAnnotation] = admission;
  }
}

Status check_for_kubernetes(const JobSpec& job) {
  MR_TRY(check(job));
  MR_TRY(check_pod_wishes(job));
  for (const RoleSpec& role : job.roles) MR_TRY(pod_restarts(role).status());
  if (!is_submitted_name(job.name)) return invalid("the job needs a name: ", kSubmittedNameRule);
  std::set<std::string> names;
  for (const RoleSpec& role : job.roles) {
    const std::string name = dns_name_of(role.name);
    if (!names.insert(name).second)
      return invalid("two roles are called '", name,
                     "' in Kubernetes; names differ by more than "
                     "case and underscores there");
    // "NAME-ROLE-INDEX" is a host's name.
    const size_t length = job.name.size() + name.size() + std::to_string(most_of(role)).size() + 2;
    if (length > 63)
      return invalid("the names of job '", job.name, "' and role '", role.name,
                     "' make a host's "
                     "name of ",
                     length, " letters; 63 are allowed");
    if (role.image.empty() && job.image.empty())
      return invalid("role '", role.name,
                     "' has no image: Kubernetes runs containers; write "
                     "image: NAME in the job, of an image with the program and millrace");
  }
  if (job.first_port)
    return invalid("first_port: on Kubernetes every task has an address of its own, and port ",
                   kConventionalPort);
  MR_TRY(check_pod_files(job));
  for (const auto& [where, which] : job.volumes) {
    if (where.starts_with("/") && which.find('/') == std::string::npos && !which.empty()) continue;
    return invalid("volumes: '", where, ": ", which,
                   "': write the absolute path where it appears, "
                   "and the name of a PersistentVolumeClaim");
  }
  return {};
}

}  // namespace

Result<std::vector<Json>> kubernetes_manifests(const JobSpec& job, const KubernetesDraw& draw) {
  MR_TRY(check_for_kubernetes(job));
  std::vector<Json> manifests = {service_of(job)};
  MR_ASSIGN(Json cluster, config_map_of(job));
  manifests.push_back(std::move(cluster));
  manifests.push_back(
      secret_called(job, secret_name(job), {{"stringData", {{kTokenKey, draw.token}}}}));
  if (has_own_secret(job))
    manifests.push_back(
        secret_called(job, own_secret_of(job.name), {{"stringData", draw.secrets}}));
  const PodFiles& files = draw.files;
  if (has_task_folders(job))
    manifests.push_back(files.by_depot
                            ? depot_job(job, files, labels_of_job(job), token_variable(job))
                            : secret_called(job, files_secret_of(job.name), files_secret(files)));
  if (is_of_volcano(job)) manifests.push_back(pod_group_of(job, labels_of_job(job)));
  for (const RoleSpec& role : job.roles) {
    MR_ASSIGN(const PodRestarts restarts, pod_restarts(role));
    manifests.push_back(job_of(job, role, restarts));
    add_files(job, files, manifests.back()["spec"]["template"]);
  }
  if (!draw.run.empty())
    for (Json& manifest : manifests) label_run(manifest, draw.run);
  if (!draw.admission.empty() && is_gang(job)) hold_back(manifests, draw.admission);
  return manifests;
}

const Json& head_of(const std::vector<Json>& manifests) {
  return *std::ranges::find_if(manifests, [](const Json& manifest) {
    return manifest["kind"] == "Job" &&
           manifest["metadata"]["annotations"][kDecidesAnnotation] == "true";
  });
}

bool may_be_scaled(const JobSpec& job) { return std::ranges::any_of(job.roles, scales); }

bool is_gang(const JobSpec& job) {
  int tasks = 0;
  for (const RoleSpec& role : job.roles) tasks += role.count;
  return tasks > 1 && job.queue.empty() && !is_of_volcano(job);
}

std::string roster_of(const JobSpec& job) {
  AbsentTasks absent;
  for (const RoleSpec& role : job.roles)
    for (int index = role.count; index < most_of(role); ++index)
      absent.emplace(str_cat(role.name, ":", index), address_of(job, role, index));
  return to_roster(absent);
}

std::string cluster_map_of(const std::string& job) { return job + "-cluster"; }

std::string to_yaml_file(const std::vector<Json>& manifests) {
  std::string text;
  for (const Json& manifest : manifests)
    str_append(&text, text.empty() ? "" : "---\n", to_yaml(manifest));
  return text;
}

std::string dns_name_of(const std::string& role) {
  std::string name;
  for (char c : role)
    name += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace millrace
