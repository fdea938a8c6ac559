#include "millrace/launch/foreign/tf_configs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/foreign/shell_script.h"

namespace millrace {
namespace {

constexpr std::string_view kSetsIt = "TF_CONFIG=";

// The first line that says something begins with a key in YAML and JSON, with a command in a
// script.
bool begins_with_key(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '{' || line.starts_with("---")) return true;
    const size_t end = line.find_first_of(" \t=:");
    return end != line.npos && line[end] == ':';
  }
  return false;
}

// `export NAME=value`, or `NAME=value` by itself.
Status read_setting(const ShellCommand& command, Import& import,
                    std::vector<NamedConfig>& configs) {
  const bool is_export = command.words[0] == "export";
  for (const std::string& word : command.words) {
    if (is_export && &word == command.words.data()) continue;
    const size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) {
      import.account.left(command.where, str_cat("'", word.substr(0, 80), "' sets no variable"));
      return {};
    }
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (name == kTaskVariable) {
      MR_ASSIGN(TfConfig config, TfConfig::parse(value).with(command.where));
      configs.push_back({.where = command.where, .config = std::move(config)});
      continue;
    }
    std::vector<EnvironmentEntry>& known = import.job.environment;
    const auto same = std::ranges::find(known, name, &EnvironmentEntry::first);
    if (same == known.end() || same->second == value) {
      if (same == known.end()) known.emplace_back(name, value);
      import.account.took(command.where, str_cat("env.", name));
    } else {
      import.account.left(command.where, str_cat(name, " is another for another task"));
    }
  }
  return {};
}

// Ports that follow each other from a first one on one machine, in the order of roles and indices.
std::optional<int> first_port_of(const ClusterSpec& cluster, const std::vector<RoleSpec>& roles) {
  std::optional<int> first;
  int next = 0;
  for (const RoleSpec& role : roles) {
    for (const auto& [index, address] : cluster.jobs().at(role.name)) {
      const Result<HostPort> parsed = HostPort::parse(address);
      if (!parsed.ok() || (parsed->host != "localhost" && parsed->host != "127.0.0.1")) return {};
      if (!first) next = *(first = parsed->port);
      if (parsed->port != next++) return {};
    }
  }
  return first;
}

int port_in(const std::string& address) {
  const Result<HostPort> parsed = HostPort::parse(address);
  return parsed.ok() ? parsed->port : 0;
}

void tell_addresses(const ClusterSpec& cluster, const std::string& where, Import& import) {
  JobSpec& job = import.job;
  job.first_port = first_port_of(cluster, job.roles);
  if (job.first_port) {
    import.account.took(str_cat(where, ": addresses"), "first_port");
    return;
  }
  std::set<std::string> hosts;
  for (const auto& [name, tasks] : cluster.jobs())
    for (const auto& [index, address] : tasks)
      if (const Result<HostPort> parsed = HostPort::parse(address); parsed.ok())
        hosts.insert(parsed->host);
  std::string list;
  for (const std::string& host : hosts) str_append(&list, list.empty() ? "" : ",", host);
  import.account.left(str_cat(where, ": addresses"),
                      str_cat("whoever runs the job finds ports; on the same machines: millrace run"
                              " --on ssh --hosts ",
                              list.substr(0, 400)));
}

}  // namespace

bool sets_tf_config(std::string_view text) {
  // There it is a word of somebody's command, or a variable in a list.
  if (begins_with_key(text)) return false;
  for (size_t at = text.find(kSetsIt); at != text.npos; at = text.find(kSetsIt, at + 1))
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '\t') return true;
  return false;
}

Status read_config_script(const SourceFile& file, Import& import,
                          std::vector<NamedConfig>& configs) {
  MR_ASSIGN(const std::vector<ShellCommand> commands, read_shell_script(file.text, file.name));
  for (const ShellCommand& command : commands) {
    MR_TRY(read_setting(command, import, configs));
    MR_TRY(import.account.check());
  }
  return {};
}

Status import_tf_configs(const std::vector<NamedConfig>& configs, Import& import) {
  if (configs.empty()) return {};
  if (!import.job.roles.empty())
    return invalid(configs[0].where, ": a second job; import one at a time");
  const ClusterSpec& cluster = configs[0].config.cluster;
  if (cluster.num_tasks() == 0) return invalid(configs[0].where, ": the cluster has no tasks");
  std::set<std::pair<std::string, int>> seen;
  for (const auto& [where, config] : configs) {
    if (config.cluster != cluster)
      return invalid(where, ": its cluster is another than that of ", configs[0].where,
                     "; import one cluster at a time");
    if (config.task_type.empty()) continue;
    const int index = config.task_index.value_or(0);
    if (!cluster.has_task(config.task_type, index))
      return invalid(where, ": its task, ", config.task_type, ":", index,
                     ", is not in the cluster");
    if (!seen.emplace(config.task_type, index).second)
      return invalid(where, ": there is a file for ", config.task_type, ":", index, " already");
    import.account.took(where, str_cat("task ", index, " of roles.", config.task_type));
  }
  std::vector<std::pair<int, RoleSpec>> roles;  // by the port of their first task
  for (const auto& [name, tasks] : cluster.jobs()) {
    if (tasks.empty()) continue;
    if (tasks.rbegin()->first != static_cast<int>(tasks.size()) - 1)
      return invalid(configs[0].where, ": job ", name, " has the tasks ",
                     cluster.task_indices(name), "; a job file has tasks 0, 1 ... of each role");
    roles.emplace_back(port_in(tasks.begin()->second),
                       RoleSpec{.name = name, .count = static_cast<int>(tasks.size())});
  }
  std::ranges::stable_sort(roles, {}, &std::pair<int, RoleSpec>::first);
  for (auto& [port, role] : roles) import.job.roles.push_back(std::move(role));
  import.account.took(configs[0].where, "the roles of its cluster");
  tell_addresses(cluster, configs[0].where, import);
  return {};
}

}  // namespace millrace
