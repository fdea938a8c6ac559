// What to run: the description of one job, before anything is known about ports and processes.
//
//   JobSpec job{.roles = {{"files", 1}, {"reduce", 1}, {"map", 2}}, .until = {"map"},
//               .command = {"python3", "word_count.py"}};
//   MR_TRY(check(job));
//
// A value. Which machines, which ports and how processes are started is up to the launchers.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// One job of the cluster: `count` tasks that run the same command.
struct RoleSpec {
  std::string name;
  int count = 1;
  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;
};

// Who holds a task's port when its program starts.
enum class PortHandling {
  // The program inherits the bound socket (MILLRACE_LISTEN_FD), so that nobody else can take it.
  inherited,
  // The port is free again just before the program starts: for programs that bind by themselves.
  released,
};

using EnvironmentEntry = std::pair<std::string, std::string>;  // name, value

struct JobSpec {
  std::vector<RoleSpec> roles = {};
  // The job has succeeded when every task of these roles has. Empty: see deciding_roles().
  std::vector<std::string> until = {};
  std::vector<std::string> command = {};           // program and arguments, the same for every task
  std::vector<EnvironmentEntry> environment = {};  // for every task, over what the launcher has
  std::string directory = {};  // where the tasks run; empty: where the launcher runs
  std::string host = "127.0.0.1";
  std::optional<int> first_port = std::nullopt;  // then one after the other; not set: free ones
  PortHandling ports = PortHandling::inherited;
  // From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  // The job fails when it takes longer.
  std::optional<std::chrono::milliseconds> time_limit = std::nullopt;
};

inline constexpr int kMostTasks = 4096;

// INVALID_ARGUMENT that says which part can't be and what is allowed. A job that passes can be
// planned. Programs and directories are not looked for.
Status check(const JobSpec& job);

// The roles whose success is the job's: `until`; if that is empty, those of chief, master and
// worker that there are; if there are none, all.
std::vector<std::string> deciding_roles(const JobSpec& job);

// "map=2" or "map". Errors: INVALID_ARGUMENT.
Result<RoleSpec> parse_role(std::string_view text);
// "NAME=value". Errors: INVALID_ARGUMENT.
Result<EnvironmentEntry> parse_environment_entry(std::string_view text);
// "90", "1.5", "90s", "10m", "2h", "500ms". Errors: INVALID_ARGUMENT.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace millrace
