// Part of export_job.h: what YARN's services take.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/foreign/export_job.h"
#include "millrace/launch/foreign/task_words.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/plan.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kIndexText = "${COMPONENT_ID}";
constexpr std::string_view kStandIns = ".YARN_USER.YARN_DOMAIN:";
constexpr int64_t kServiceMegabyte = 1 << 20;
// What YARN gives a component that asks for nothing is nobody's rule; ours on YARN is the same.
constexpr int64_t kUsualServiceMegabytes = 1024;
constexpr const char* kStateReport = "yarn.service.container-state-report-as-service-state";

std::string service_restart(const RoleSpec& role) {
  switch (role.restart.when) {
    case RestartPolicy::When::never:
      return "NEVER";
    case RestartPolicy::When::on_failure:
      return "ON_FAILURE";
    case RestartPolicy::When::always:
      return "ALWAYS";
  }
  return "";
}

Json service_resource(const Resources& asked) {
  const int64_t megabytes = asked.memory > 0
                                ? (asked.memory + kServiceMegabyte - 1) / kServiceMegabyte
                                : kUsualServiceMegabytes;
  Json resource = {{"cpus", std::max(1, static_cast<int>(std::ceil(asked.cpus)))},
                   {"memory", std::to_string(megabytes)}};
  if (asked.gpus > 0) resource["additional"] = {{"yarn.io/gpu", {{"value", asked.gpus}}}};
  return resource;
}

// A ClusterSpec holds hosts, and YARN knows the ends of their names.
std::string with_yarn_names(std::string text) {
  for (size_t at = text.find(kStandIns); at != text.npos; at = text.find(kStandIns, at))
    text.replace(at, kStandIns.size(), ".${USER}.${DOMAIN}:");
  return text;
}

// A line for a shell, in which YARN still puts in what is its own.
std::string launch_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& given : command) {
    const std::string word = with_yarn_names(given);
    // What YARN puts in holds nothing that a shell reads.
    const bool is_plain =
        word.find("${") != word.npos && word.find_first_of(" '\"\\;&|<>()`*?") == word.npos;
    str_append(&line, line.empty() ? "" : " ", is_plain ? word : shell_quoted(word));
  }
  return line;
}

Json component_of(const JobSpec& job, const RoleSpec& role, const ClusterSpec& cluster) {
  const auto as_it_is = [](std::string word) { return word; };
  Json component = {
      {"name", dns_name_of(role.name)},
      {"number_of_containers", role.count},
      {"launch_command", launch_line(exported_command(job, role, cluster, kIndexText, as_it_is))},
      {"resource", service_resource(role.resources)},
      {"restart_policy", service_restart(role)}};
  Json env = {{kTaskVariable, with_yarn_names(exported_config(cluster, role, kIndexText))}};
  for (const auto& [name, value] : environment_of(job, role)) env[name] = value;
  component["configuration"] = {{"env", std::move(env)}};
  const std::vector<std::string> deciding = deciding_roles(job);
  if (role.count == 1 && deciding.size() == 1 && deciding[0] == role.name)
    component["configuration"]["properties"] = {{kStateReport, "true"}};
  if (!role.image.empty()) component["artifact"] = {{"id", role.image}, {"type", "DOCKER"}};
  if (!role.nodes.empty()) {
    Json labels = Json::array();
    for (const auto& [label, value] : role.nodes) labels.push_back(value.empty() ? label : value);
    component["placement_policy"] = {
        {"constraints",
         Json::array(
             {{{"type", "AFFINITY"}, {"scope", "NODE"}, {"node_partitions", std::move(labels)}}})}};
  }
  return component;
}

}  // namespace

Result<ExportedJob> export_yarn_service(const JobSpec& job) {
  MR_TRY(check_export(job, "service of YARN"));
  MR_TRY(check_exported_secrets(job, "service of YARN", SecretWords::none));
  if (!job.volumes.empty())
    return invalid(
        "volumes: a component of YARN sees the file systems of its machine; leave them "
        "out");
  // YARN gives no ports. No two tasks of the job have the same, wherever they run.
  std::map<std::string, int> first;
  int next = job.first_port.value_or(kConventionalPort);
  for (const RoleSpec& role : job.roles) {
    if (!first.emplace(dns_name_of(role.name), next).second)
      return invalid("two roles are called '", dns_name_of(role.name),
                     "' on YARN; names differ by more than case and underscores there");
    next += role.count;
  }
  if (next > 65536) return invalid("ports up to ", next - 1, " are needed; 65535 is the last");
  MR_ASSIGN(const ClusterSpec cluster, exported_cluster(job, [&](const RoleSpec& role, int index) {
              return str_cat(dns_name_of(role.name), "-", index, ".", job.name, kStandIns,
                             first[dns_name_of(role.name)] + index);
            }));
  ExportedJob exported;
  Json service = {{"name", job.name}, {"version", "1"}};
  if (!job.queue.empty()) service["queue"] = job.queue;
  if (job.time_limit)
    service["lifetime"] = std::chrono::ceil<std::chrono::seconds>(*job.time_limit).count();
  if (!job.image.empty()) service["artifact"] = {{"id", job.image}, {"type", "DOCKER"}};
  for (const RoleSpec& role : job.roles)
    service["components"].push_back(component_of(job, role, cluster));
  exported.text = service.dump(2) + "\n";
  const std::vector<std::string> deciding = deciding_roles(job);
  const auto decider = std::ranges::find(job.roles, deciding[0], &RoleSpec::name);
  if (deciding.size() != 1 || decider->count != 1)
    exported.notes.push_back(
        "until: a service of YARN ends when all components have, or when one "
        "that has a single container does; stop the others by hand");
  if (!job.directory.empty())
    exported.notes.push_back("directory: YARN gives each container one; let the command change it");
  exported.notes.push_back(
      "the tasks' names are of YARN's DNS (hadoop.registry.dns.enabled), and "
      "each task has to bind its own port");
  note_restarts(job, exported);
  note_wishes(job, exported);
  return exported;
}

}  // namespace millrace
