#include "millrace/launch/placeholders.h"

#include <optional>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kHosts = "_hosts";

std::optional<std::string> value_of(std::string_view name, const ClusterSpec& cluster,
                                    const TaskName& task) {
  if (name == "job_name") return task.job;
  if (name == "task_index") return std::to_string(task.task);
  if (!name.ends_with(kHosts)) return std::nullopt;
  auto job = cluster.jobs().find(name.substr(0, name.size() - kHosts.size()));
  if (job == cluster.jobs().end()) return std::nullopt;
  std::string hosts;
  for (const auto& [index, address] : job->second)
    str_append(&hosts, hosts.empty() ? "" : ",", address);
  return hosts;
}

}  // namespace

std::vector<std::string> with_placeholders(const std::vector<std::string>& command,
                                           const ClusterSpec& cluster, const TaskName& task) {
  std::vector<std::string> filled;
  for (const std::string& word : command) {
    std::string& text = filled.emplace_back();
    std::string_view rest = word;
    while (!rest.empty()) {
      const size_t open = std::min(rest.find('{'), rest.size());
      text += rest.substr(0, open);
      rest.remove_prefix(open);
      const size_t close = rest.find('}');
      std::optional<std::string> value;
      if (close != std::string_view::npos)
        value = value_of(rest.substr(1, close - 1), cluster, task);
      if (value) {
        text += *value;
        rest.remove_prefix(close + 1);
      } else if (!rest.empty()) {
        text += rest[0];
        rest.remove_prefix(1);
      }
    }
  }
  return filled;
}

}  // namespace millrace
