#include "millrace/launch/foreign/task_flags.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kHostsEnd = "_hosts";

// The flag `name` of a command, as one word or two; calls change(value) and puts in what it gives.
template <class Change>
void change_flag(std::vector<std::string>& command, std::string_view name, const Change& change) {
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (word == name && i + 1 < command.size() && !command[i + 1].starts_with('-')) {
      command[i + 1] = change(command[i + 1]);
    } else if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      command[i] = str_cat(name, "=", change(word.substr(name.size() + 1)));
    }
  }
}

std::optional<int> task_number(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end || number < 0 || number >= kMostTasks) return {};
  return number;
}

// What one task of a role has and another has not; "" if they are alike.
std::string difference_of(const RoleSpec& one, const RoleSpec& other) {
  if (one.command != other.command) return "command";
  if (one.image != other.image) return "image";
  if (one.environment != other.environment) return "environment";
  if (one.resources != other.resources || one.nodes != other.nodes) return "resources";
  if (one.restart != other.restart) return "restart";
  return "";
}

struct Gathered {
  RoleSpec role;
  std::string where;  // of the first
  std::set<int> indices = {};
};

Status add_task(Gathered& gathered, const LoneTask& task) {
  if (const std::string what = difference_of(gathered.role, task.role); !what.empty())
    return invalid(task.where, ": its ", what, " is another than that of ", gathered.where,
                   ", and the tasks of a role are alike; give it a role of its own");
  const int first = task.identity.index.value_or(static_cast<int>(gathered.indices.size()));
  for (int index = first; index < first + task.role.count; ++index) {
    if (!gathered.indices.insert(index).second)
      return invalid(task.where, ": there is a task ", gathered.role.name, ":", index, " already");
  }
  return {};
}

}  // namespace

ToldTask take_identity(std::vector<std::string>& command) {
  ToldTask identity;
  change_flag(command, "--job_name", [&](std::string_view name) {
    if (name.starts_with('{')) return std::string(name);
    identity.job = name;
    return std::string("{job_name}");
  });
  change_flag(command, "--task_index", [&](std::string_view text) {
    const std::optional<int> index = task_number(text);
    if (!index) return std::string(text);
    identity.index = index;
    return std::string("{task_index}");
  });
  return identity;
}

void take_flags(Import& import) {
  std::vector<std::string> names;
  for (const RoleSpec& role : import.job.roles) names.push_back(role.name);
  std::set<std::string> told;
  const auto generalize = [&](std::vector<std::string>& command) {
    for (const std::string& name : names) {
      const std::string flag = str_cat("--", name, kHostsEnd);
      const std::string placeholder = str_cat("{", name, kHostsEnd, "}");
      change_flag(command, flag, [&](std::string_view hosts) {
        if (hosts.starts_with('{')) return std::string(hosts);
        if (told.insert(flag).second)
          import.account.took(str_cat(flag, "=", hosts.substr(0, 80)),
                              str_cat(placeholder, ", where the tasks will be"));
        return placeholder;
      });
    }
  };
  generalize(import.job.command);
  for (RoleSpec& role : import.job.roles) {
    generalize(role.command);
    change_flag(role.command, "--job_name", [&](std::string_view name) {
      return name == role.name ? std::string("{job_name}") : std::string(name);
    });
  }
}

Status gather_tasks(std::vector<LoneTask> tasks, Import& import) {
  std::vector<Gathered> roles;
  for (LoneTask& task : tasks) {
    if (!task.identity.job.empty()) task.role.name = imported_role_name(task.identity.job);
    if (task.role.name.empty()) return invalid(task.where, ": no letter for the name of a role");
    const auto known = std::ranges::find_if(
        roles, [&](const Gathered& it) { return it.role.name == task.role.name; });
    if (known != roles.end() && task.identity.job.empty())
      return invalid(task.where, ": there is a role '", task.role.name, "' already");
    Gathered& gathered = known != roles.end()
                             ? *known
                             : roles.emplace_back(Gathered{.role = task.role, .where = task.where});
    MR_TRY(add_task(gathered, task));
  }
  for (Gathered& gathered : roles) {
    const int count = static_cast<int>(gathered.indices.size());
    if (*gathered.indices.rbegin() != count - 1)
      return invalid(gathered.where, ": role ", gathered.role.name, " has a task ",
                     *gathered.indices.rbegin(), " and ", count,
                     " tasks in all; a job file has tasks 0, 1 ... of each role");
    gathered.role.count = count;
    import.job.roles.push_back(std::move(gathered.role));
  }
  return {};
}

}  // namespace millrace
