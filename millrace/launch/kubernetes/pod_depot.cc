#include "millrace/launch/kubernetes/pod_depot.h"

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/pod_files.h"
#include "millrace/launch/kubernetes/pod_wishes.h"
#include "millrace/launch/kubernetes/pod_words.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFilesPort = 2224;
// For what is being written when the rest is full: the machine would evict the pod.
constexpr uint64_t kSpareBytes = uint64_t{1} << 30;

Json depot_command(const JobSpec& job, const PodFiles& files) {
  Json words = {"millrace",   "depot",      "serve",
                "--folder",   kDepotFolder, "--list",
                files.digest, "--port",     std::to_string(kFilesPort)};
  for (const RoleSpec& role : job.roles)
    if (!outputs_of(job, role).empty())
      words.insert(words.end(), {"--collect", str_cat(role.name, "=", most_of(role))});
  words.insert(words.end(), {"--most", std::to_string(kMostOutputs)});
  return words;
}

uint64_t size_of(const PodFiles& files) {
  uint64_t bytes = kSpareBytes;
  for (const ShippedFile& file : files.manifest.files) bytes += file.size;
  return files.manifest.outputs.empty() ? bytes : bytes + kMostOutputs;
}

Json container_of(const JobSpec& job, const PodFiles& files, const Json& token_variable) {
  const std::string image = job.image.empty() ? job.roles[0].image : job.image;
  return {{"name", kDepot},
          {"image", image},
          {"command", depot_command(job, files)},
          {"env", Json::array({token_variable})},
          {"ports", Json::array({{{"name", "files"}, {"containerPort", kFilesPort}}})},
          // Little, so that it finds a place beside tasks; with limits, which quotas may ask for.
          {"resources",
           {{"requests", {{"cpu", "50m"}, {"memory", "64Mi"}}},
            {"limits", {{"cpu", "1"}, {"memory", "256Mi"}}}}},
          {"volumeMounts", Json::array({{{"name", "depot"}, {"mountPath", kDepotFolder}}})},
          {"terminationMessagePolicy", "FallbackToLogsOnError"},
          {"securityContext", restricted_container()}};
}

}  // namespace

std::string depot_of(const std::string& job) { return str_cat(job, "-", kDepot); }

std::string depot_address(const std::string& job) {
  return str_cat(depot_of(job), "-0.", job, ":", kFilesPort);
}

Json depot_job(const JobSpec& job, const PodFiles& files, Json labels, const Json& token_variable) {
  labels[kComponentLabel] = kDepot;
  labels[kPartLabel] = kDepot;
  Json pod = {
      {"restartPolicy", "Never"},
      {"subdomain", job.name},
      {"automountServiceAccountToken", false},
      {"securityContext", restricted_pod()},
      {"containers", Json::array({container_of(job, files, token_variable)})},
      {"volumes", Json::array({{{"name", "depot"},
                                {"emptyDir", {{"sizeLimit", std::to_string(size_of(files))}}}}})}};
  // What it is to hold would go with it.
  const Json annotations = {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}};
  Json pod_template = {{"metadata", {{"labels", labels}, {"annotations", annotations}}},
                       {"spec", std::move(pod)}};
  JobSpec own{.name = job.name};
  own.kubernetes.tolerations = job.kubernetes.tolerations;
  own.kubernetes.priority = job.kubernetes.priority;
  own.kubernetes.pull_secrets = job.kubernetes.pull_secrets;
  own.kubernetes.annotations = job.kubernetes.annotations;
  add_wishes(own, {}, pod_template);
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", depot_of(job.name)},
            {"labels", labels},
            {"annotations", {{kDecidesAnnotation, "false"}}}}},
          {"spec",
           {{"completionMode", "Indexed"},
            {"completions", 1},
            {"parallelism", 1},
            {"backoffLimit", 0},
            {"podReplacementPolicy", "Failed"},
            {"template", std::move(pod_template)}}}};
}

bool is_of_depot(const Json& object) {
  return object_text(object, {"metadata", "labels", kPartLabel}) == kDepot;
}

}  // namespace millrace
