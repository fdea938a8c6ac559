// What to run: the description of one job, before anything is known about ports and processes.
//
//   JobSpec job{.roles = {{"files", 1}, {"reduce", 1}, {"map", 2}}, .until = {"map"},
//               .command = {"python3", "word_count.py"}};
//   MR_TRY(check(job));
//
// Or from a file (job_file.h). A value. Which machines, which ports and how processes are started
// is up to the launchers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/place_wishes.h"
#include "millrace/launch/ports.h"
#include "millrace/launch/restart_policy.h"
#include "millrace/launch/secret_source.h"

namespace millrace {

using EnvironmentEntry = std::pair<std::string, std::string>;  // name, value
using RoleCount = std::pair<std::string, int>;  // a role, how many tasks it is to have

// What one task asks of the machine that it will run on. Zero: nothing in particular.
struct Resources {
  double cpus = 0;     // cores; parts of one where the manager knows them
  int64_t memory = 0;  // bytes
  int gpus = 0;
  friend bool operator==(const Resources&, const Resources&) = default;
};

// One job of the cluster: `count` tasks that run the same command.
struct RoleSpec {
  std::string name = {};
  int count = 1;
  // Between which numbers it may be scaled while the job runs (scaling.h). Both left out: not at
  // all; one of them: from 1, or up to count.
  std::optional<int> least = std::nullopt;
  std::optional<int> most = std::nullopt;
  std::vector<std::string> command = {};           // empty: the job's
  std::vector<EnvironmentEntry> environment = {};  // over the job's
  SecretSources secrets = {};                      // over the job's
  Resources resources = {};
  std::map<std::string, std::string> nodes = {};  // labels that the machine must have
  std::string image = {};                         // empty: the job's
  std::vector<std::string> outputs = {};          // empty: the job's
  RestartPolicy restart = {};
  MayLose may_lose = {};
  // The role for whose tasks of the same index these stand by; empty: for none.
  std::string stands_by_for = {};
  // What its program serves beside its own port, by names for people: {"web", 6006}.
  NamedPorts ports = {};
  KubernetesWishes kubernetes = {};  // over the job's
  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;
};

// Who holds a task's port when its program starts.
enum class PortHandling {
  // The program inherits the bound socket (MILLRACE_LISTEN_FD), so that nobody else can take it.
  inherited,
  // The port is free again just before the program starts: for programs that bind by themselves.
  released,
};

struct JobSpec {
  std::string name = {};  // empty: whoever submits it chooses one
  std::vector<RoleSpec> roles = {};
  // The job has succeeded when every task of these roles has. Empty: see deciding_roles().
  std::vector<std::string> until = {};
  std::vector<std::string> command = {};  // program and arguments of every role without its own
  std::vector<EnvironmentEntry> environment = {};  // for every task, over what the launcher has
  SecretSources secrets = {};                      // of every task (secrets.h)
  bool once = false;  // its sessions count once (docs/design/once.md): MILLRACE_ONCE=1
  // Where its tasks keep their variables and queues (docs/design/durable.md): MILLRACE_STATE.
  // Empty: they go with the tasks.
  std::string state = {};
  // What they keep there, "all" or "asked": MILLRACE_STATE_KEEPS. Empty: all.
  std::string state_keeps = {};
  // The task that says who owns the states that two tasks have (docs/design/standby.md), as
  // "/job:chief/task:0": MILLRACE_WITNESS, and MILLRACE_STANDBYS. Empty: none.
  std::string witness = {};
  std::string directory = {};  // where the tasks run; empty: where the launcher runs
  std::string host = "127.0.0.1";
  std::optional<int> first_port = std::nullopt;  // then one after the other; not set: free ones
  PortHandling ports = PortHandling::inherited;
  // From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  // The job fails when it takes longer.
  std::optional<std::chrono::milliseconds> time_limit = std::nullopt;
  // What managers of clusters ask for, and this machine does not.
  std::string image = {};                           // of the container
  std::string queue = {};                           // Kubernetes: Kueue's; Slurm: the partition
  std::map<std::string, std::string> volumes = {};  // where -> which: "/data" -> a claim, a path
  // Where machines share no folder: what goes along to every task, which then works in a folder of
  // its own (launch/shipping), and what comes back from that. Empty: every machine sees the same
  // files.
  std::vector<std::string> files = {};
  std::vector<std::string> outputs =
      {};                       // patterns of paths: "model/*"; of roles without their own
  std::string output_dir = {};  // where they are collected; empty: kOutputs
  // On YARN: the folder of HDFS that the files go through.
  std::string staging = {};
  KubernetesWishes kubernetes = {};
  SlurmWishes slurm = {};
  YarnWishes yarn = {};
  // How long a job that has ended is kept for people to look at.
  std::chrono::milliseconds keep = std::chrono::hours(24);
};

inline constexpr int kMostTasks = 4096;
inline constexpr const char* kOutputs = "outputs";

// INVALID_ARGUMENT that says which part can't be and what is allowed. A job that passes can be
// planned. Programs and directories are not looked for.
Status check(const JobSpec& job);

// True if the number of the role's tasks may change while the job runs; from and to which number.
bool scales(const RoleSpec& role);
int least_of(const RoleSpec& role);
int most_of(const RoleSpec& role);
// The job with `count` tasks of each role from end to end: for whoever can't scale it.
JobSpec of_fixed_size(JobSpec job);

// True if each task works in a folder of its own, with the job's files.
bool has_task_folders(const JobSpec& job);
// What comes back from the tasks of a role: its own patterns, or the job's.
const std::vector<std::string>& outputs_of(const JobSpec& job, const RoleSpec& role);
// From the word to end to the end by force: the grace, and what bringing outputs back may take.
std::chrono::milliseconds time_to_end(const JobSpec& job);

// The command of a role: its own, or the job's.
const std::vector<std::string>& command_of(const JobSpec& job, const RoleSpec& role);
// The environment of a role's tasks: what `once`, `state`, `state_keeps` and `witness` mean, the
// job's, then its own.
std::vector<EnvironmentEntry> environment_of(const JobSpec& job, const RoleSpec& role);

// The roles whose success is the job's: `until`; if that is empty, those of chief, master and
// worker that there are; if there are none, all.
std::vector<std::string> deciding_roles(const JobSpec& job);

// What managers let a job be called: lower-case letters, digits and dashes, a letter first and no
// dash last, at most 40; so that names made of it (a role, an index behind it) are names in DNS.
bool is_submitted_name(std::string_view text);
inline constexpr std::string_view kSubmittedNameRule =
    "lower-case letters, digits and dashes, a letter first, at most 40";

// "map=2" or "map". Errors: INVALID_ARGUMENT.
Result<RoleSpec> parse_role(std::string_view text);
// "map=100": the role, and how it is restarted; "map": on failure. Sets that of the job's role.
// Errors: INVALID_ARGUMENT.
Status set_restart(JobSpec& job, std::string_view text);
// INVALID_ARGUMENT that names the role if one is to be restarted or may lose tasks: for places that
// do not do so. `where`: "on Slurm".
Status check_never_restarts(const JobSpec& job, std::string_view where);
// "NAME=value". Errors: INVALID_ARGUMENT.
Result<EnvironmentEntry> parse_environment_entry(std::string_view text);
// "90", "1.5", "90s", "10m", "2h", "500ms". Errors: INVALID_ARGUMENT.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
// The same in the largest unit that it is a whole number of: "24h", "90s".
std::string duration_text_of(std::chrono::milliseconds duration);
// "512Mi", "2Gi", "1.5G", "300M", "1024": bytes. Errors: INVALID_ARGUMENT.
Result<int64_t> parse_bytes(std::string_view text);

}  // namespace millrace
