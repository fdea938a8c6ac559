#include "millrace/launch/plan.h"

#include <algorithm>

#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/placeholders.h"
#include "millrace/launch/secrets.h"

namespace millrace {
namespace {

bool is_safe_unquoted(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,=+@%").find(c) != std::string_view::npos;
}

std::vector<EnvironmentEntry> local_environment(const JobSpec& job, const RoleSpec& role,
                                                const TfConfigTexts& texts, const TaskPlan& task) {
  std::vector<EnvironmentEntry> entries = {
      {kTaskVariable, texts.of(task.task)},
      // Python would keep its lines to itself until the end, as it writes to a pipe.
      {"PYTHONUNBUFFERED", "1"},
      {kReportDescriptorVariable, std::to_string(kReportDescriptor)},
      {kListenAddressVariable, task.address},
  };
  if (job.ports == PortHandling::inherited)
    entries.emplace_back(kListenDescriptorVariable, std::to_string(kListenDescriptor));
  for (EnvironmentEntry& entry : environment_of(job, role)) entries.push_back(std::move(entry));
  return entries;
}

// Quoted for a shell, with $CLUSTER instead of the cluster's text, if that is in it.
std::string quoted_around(std::string_view text, std::string_view cluster) {
  const size_t at = text.find(cluster);
  if (at == std::string_view::npos) return shell_quoted(text);
  return str_cat(shell_quoted(text.substr(0, at)), "\"$CLUSTER\"",
                 shell_quoted(text.substr(at + cluster.size())));
}

// "; restart: on_failure, 10 in 300s"
std::string restarts_of(const JobSpec& job, const std::string& role) {
  const RestartPolicy& policy = std::ranges::find(job.roles, role, &RoleSpec::name)->restart;
  if (policy.when == RestartPolicy::When::never) return "";
  return str_cat("; restart: ", to_text(policy.when), ", ", to_text(policy.budget));
}

// "; secrets, not shown: DB_PASSWORD (file /x)"
std::string secrets_words(const JobSpec& job, const std::string& role) {
  const std::string text = secrets_text(job, *std::ranges::find(job.roles, role, &RoleSpec::name));
  return text.empty() ? "" : str_cat("; secrets, not shown: ", text);
}

}  // namespace

size_t count_tasks(const JobSpec& job) {
  size_t count = 0;
  for (const RoleSpec& role : job.roles) count += static_cast<size_t>(role.count);
  return count;
}

size_t count_planned(const JobSpec& job) {
  size_t count = 0;
  for (const RoleSpec& role : job.roles) count += static_cast<size_t>(most_of(role));
  return count;
}

LaunchPlan plan_launch(const JobSpec& job, const std::vector<int>& ports) {
  LaunchPlan plan;
  std::vector<std::string> deciding = deciding_roles(job);
  for (const RoleSpec& role : job.roles) {
    bool decides = std::find(deciding.begin(), deciding.end(), role.name) != deciding.end();
    std::vector<std::string> addresses;
    for (int index = 0; index < most_of(role); ++index) {
      TaskPlan task{
          .task = {role.name, 0, index},
          .name = str_cat(role.name, ":", index),
          .file_stem = str_cat(role.name, "_", index),
          .address = HostPort{job.host, ports.at(plan.tasks.size())}.to_string(),
          .argv = command_of(job, role),
          .environment = {},
          .decides = decides,
      };
      addresses.push_back(task.address);
      plan.tasks.push_back(std::move(task));
    }
    // check(job) saw the names and the host, so that nothing can be refused here.
    if (Status added = plan.cluster.add_job(role.name, addresses); !added.ok()) return {};
  }
  const TfConfigTexts texts(plan.cluster);
  size_t next = 0;
  for (const RoleSpec& role : job.roles) {
    for (int index = 0; index < most_of(role); ++index, ++next) {
      TaskPlan& task = plan.tasks[next];
      task.argv = with_placeholders(task.argv, plan.cluster, task.task);
      task.environment = local_environment(job, role, texts, task);
    }
  }
  return plan;
}

std::string describe(const LaunchPlan& plan, const JobSpec& job) {
  // As many tasks as a page shows have it in full; of more nobody could find the rest in between.
  constexpr size_t kLongCluster = 1000;
  const std::string cluster = TfConfigTexts(plan.cluster).cluster();
  const bool is_long = cluster.size() > kLongCluster;
  std::string text;
  if (is_long) text = str_cat("# What all tasks know\nCLUSTER=", shell_quoted(cluster), "\n\n");
  for (const TaskPlan& task : plan.tasks) {
    str_append(&text, "# ", task.name, task.address.empty() ? "" : " at ", task.address,
               task.decides ? "; its success decides" : "", restarts_of(job, task.task.job),
               secrets_words(job, task.task.job), "\n");
    if (!job.directory.empty()) str_append(&text, "cd ", shell_quoted(job.directory), "\n");
    for (const auto& [name, value] : task.environment)
      str_append(&text, name, "=", is_long ? quoted_around(value, cluster) : shell_quoted(value),
                 " \\\n");
    const char* separator = "";
    for (const std::string& argument : task.argv) {
      str_append(&text, separator, shell_quoted(argument));
      separator = " ";
    }
    text += "\n\n";
  }
  return text;
}

std::string shell_quoted(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_safe_unquoted))
    return std::string(text);
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace millrace
