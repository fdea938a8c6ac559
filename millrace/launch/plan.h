// Who gets what: from a job description and one port per task to everything that a process needs to
// be started with. Pure: binding the ports and starting the processes are the launcher's.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/launch/job.h"

namespace millrace {

// The descriptor that a task finds its bound socket at (PortHandling::inherited).
inline constexpr int kListenDescriptor = 3;
// The descriptor that it writes its record to (cluster/task_record.h).
inline constexpr int kReportDescriptor = 4;

struct TaskPlan {
  TaskName task;
  std::string name;       // "map:1"; how people read it
  std::string file_stem;  // "map_1"; for the names of its files
  std::string address;    // "127.0.0.1:40123"
  std::vector<std::string> argv;
  // To set over the launcher's own environment: TF_CONFIG, PYTHONUNBUFFERED=1,
  // MILLRACE_REPORT_FD, MILLRACE_LISTEN_ADDRESS and, for an inherited port, MILLRACE_LISTEN_FD;
  // then the job's own.
  std::vector<EnvironmentEntry> environment;
  // What its standard input begins with; it then stays open until the task is to end. Empty: none.
  std::string input = {};
  // True if the job has succeeded when this task and all others that decide have.
  bool decides = false;
};

struct LaunchPlan {
  ClusterSpec cluster;
  std::vector<TaskPlan> tasks;  // roles in the order of the job, then by index
};

// Of all tasks that the job may have. Requires check(job) to be OK and one port per task, in the
// order of the tasks.
LaunchPlan plan_launch(const JobSpec& job, const std::vector<int>& ports);

// How many tasks the job begins with.
size_t count_tasks(const JobSpec& job);
// How many it may have, and with that ports: all of them are planned (scaling.h).
size_t count_planned(const JobSpec& job);

// What `run --dry-run` prints: per task its name, environment and command, quoted so that a shell
// would take them. Where the cluster is long, it stands once before them, as CLUSTER.
std::string describe(const LaunchPlan& plan, const JobSpec& job);

// The text as one word of a POSIX shell: as it is, or in single quotes.
std::string shell_quoted(std::string_view text);

}  // namespace millrace
