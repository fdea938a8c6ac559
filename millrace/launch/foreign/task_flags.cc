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
constexpr std::string_view kJobFlag = "--job_name";

// The flags of a command, as one word or two; calls change(name, value) and puts in what it gives.
template <class Change>
void change_flags(std::vector<std::string>& command, const Change& change) {
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (!word.starts_with("--")) continue;
    const size_t equals = word.find('=');
    if (equals != word.npos) {
      const std::string_view name = word.substr(0, equals);
      command[i] = str_cat(name, "=", change(name, word.substr(equals + 1)));
    } else if (i + 1 < command.size() && !command[i + 1].starts_with('-')) {
      command[i + 1] = change(word, std::string_view(command[i + 1]));
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
  change_flags(command, [&](std::string_view flag, std::string_view value) {
    if (flag == kJobFlag && !value.starts_with('{')) {
      identity.job = value;
      return std::string("{job_name}");
    }
    const auto index = flag == "--task_index" ? task_number(value) : std::nullopt;
    if (!index) return std::string(value);
    identity.index = index;
    return std::string("{task_index}");
  });
  return identity;
}

void take_flags(Import& import) {
  std::set<std::string> flags;
  for (const RoleSpec& role : import.job.roles) flags.insert(str_cat("--", role.name, kHostsEnd));
  std::set<std::string> told;
  const auto generalize = [&](std::vector<std::string>& command, std::string_view role) {
    change_flags(command, [&](std::string_view flag, std::string_view value) {
      if (flag == kJobFlag && value == role) return std::string("{job_name}");
      const std::string name(flag);
      if (!flags.contains(name) || value.starts_with('{')) return std::string(value);
      std::string placeholder = str_cat("{", flag.substr(2), "}");
      if (told.insert(name).second)
        import.account.took(str_cat(flag, "=", value.substr(0, 80)),
                            str_cat(placeholder, ", where the tasks will be"));
      return placeholder;
    });
  };
  generalize(import.job.command, "");
  for (RoleSpec& role : import.job.roles) generalize(role.command, role.name);
}

Status gather_tasks(std::vector<LoneTask> tasks, Import& import) {
  std::vector<Gathered> roles;
  int64_t number = 0;
  for (LoneTask& task : tasks) {
    number += task.role.count;
    if (number > kMostTasks)
      return invalid(task.where, ": with it there are ", number, " tasks; at most ", kMostTasks);
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
