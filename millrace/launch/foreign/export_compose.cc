// Part of export_job.h: what docker compose takes.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/foreign/export_job.h"
#include "millrace/launch/foreign/task_words.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/yaml_text.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

// Compose puts variables in for '$'.
std::string compose_literal(std::string text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '$' ? 2 : 1, c);
  return escaped;
}

std::string compose_restart(const RoleSpec& role) {
  switch (role.restart.when) {
    case RestartPolicy::When::never:
      return "no";
    case RestartPolicy::When::on_failure:
      return role.restart.attempts ? str_cat("on-failure:", *role.restart.attempts - 1)
                                   : "on-failure";
    case RestartPolicy::When::always:
      return "always";
  }
  return "";
}

std::string service_name(const RoleSpec& role, int index) {
  return str_cat(dns_name_of(role.name), "-", index);
}

Json compose_service(const JobSpec& job, const RoleSpec& role, const ClusterSpec& cluster,
                     int index) {
  const std::string number = std::to_string(index);
  Json service = {{"image", image_of(job, role)},
                  {"command", exported_command(job, role, cluster, number, compose_literal)}};
  Json environment = {{kTaskVariable, exported_config(cluster, role, number)}};
  for (const auto& [name, value] : environment_of(job, role))
    environment[name] = compose_literal(value);
  service["environment"] = std::move(environment);
  if (!job.directory.empty()) service["working_dir"] = job.directory;
  for (const auto& [where, which] : job.volumes)
    service["volumes"].push_back(str_cat(which, ":", where));
  if (role.resources.cpus > 0) service["cpus"] = role.resources.cpus;
  if (role.resources.memory > 0) service["mem_limit"] = std::to_string(role.resources.memory);
  if (role.resources.gpus > 0)
    service["deploy"]["resources"]["reservations"]["devices"] = Json::array(
        {{{"driver", "nvidia"}, {"count", role.resources.gpus}, {"capabilities", {"gpu"}}}});
  if (role.restart.when != RestartPolicy::When::never) service["restart"] = compose_restart(role);
  service["stop_grace_period"] =
      str_cat(std::chrono::ceil<std::chrono::seconds>(job.grace).count(), "s");
  return service;
}

}  // namespace

Result<ExportedJob> export_compose(const JobSpec& job) {
  MR_TRY(check_export(job, "compose file"));
  MR_TRY(check_exported_secrets(job, "compose file", SecretWords::none));
  MR_TRY(check_images(job, "compose file"));
  // Each service has the whole cluster in its TF_CONFIG.
  if (count_tasks(job) > static_cast<size_t>(kMostComposeTasks))
    return invalid("the job has ", count_tasks(job), " tasks, and a compose file of ours at most ",
                   kMostComposeTasks, "; it is for one machine");
  MR_ASSIGN(const ClusterSpec cluster, exported_cluster(job, [](const RoleSpec& role, int index) {
              return str_cat(service_name(role, index), ":", kConventionalPort);
            }));
  ExportedJob exported;
  Json file = {{"name", job.name}};
  for (const RoleSpec& role : job.roles) {
    for (int index = 0; index < role.count; ++index) {
      const std::string name = service_name(role, index);
      if (file.contains("services") && file["services"].contains(name))
        return invalid("two tasks are called '", name,
                       "' in a compose file; roles' names differ by more than case and "
                       "underscores there");
      file["services"][name] = compose_service(job, role, cluster, index);
    }
    if (!role.nodes.empty())
      exported.notes.push_back(str_cat("roles.", role.name, ".nodes: compose has one machine"));
  }
  for (const auto& [where, which] : job.volumes)
    if (which.find('/') == std::string::npos) file["volumes"][which] = Json::object();
  const std::string decider =
      service_name(*std::ranges::find(job.roles, deciding_roles(job)[0], &RoleSpec::name), 0);
  exported.notes.push_back(
      str_cat("until: compose ends what is left when one service has ended: "
              "docker compose up --exit-code-from ",
              decider));
  if (job.time_limit) exported.notes.push_back("time_limit: compose has none");
  if (!job.queue.empty()) exported.notes.push_back("queue: compose has none");
  note_restarts(job, exported);
  note_wishes(job, exported);
  exported.text = to_yaml(file);
  return exported;
}

}  // namespace millrace
