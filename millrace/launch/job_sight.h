// A job that runs somewhere else, as it can be seen from here: its tasks, what they wait for, and
// how it ended. Every place where jobs run (job_place.h) answers with one; what people are shown is
// the same for all. A value; pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "millrace/launch/job_report.h"
#include "millrace/launch/ports.h"

namespace millrace {

// Absent: its role may have it, and does not have so many now (scaling.h).
enum class TaskStage { pending, running, ended, absent };

struct TaskSight {
  std::string name = {};  // "map:1"
  TaskStage stage = TaskStage::pending;
  // Why it does not run yet, or why it ended: "image 'words:2' can't be pulled: …", "exit code 3".
  std::string text = {};
  std::string where = {};   // the machine; empty: none yet
  std::string handle = {};  // what the place calls this attempt; its output is found by it
  int attempt = 1;          // of this task, from 1
  NamedPorts ports = {};    // that its program serves
  // A pending task that can't come to run by waiting: its image is not there, say.
  bool is_stuck = false;
};

enum class JobStage {
  pending,  // not all tasks run
  running,
  ending,  // how it ended is decided; some tasks are still there
  ended,
};

struct JobSight {
  std::string name = {};
  JobStage stage = JobStage::pending;
  JobReport report = {};                // from `ending` on it is decided
  std::vector<TaskSight> tasks = {};    // in the order of the job
  std::vector<TaskSight> earlier = {};  // attempts that others have followed
  std::chrono::milliseconds age = {};   // since it was submitted
  std::chrono::milliseconds grace = {};
};

// What `status` shows: a table of the tasks, and the job's sentence.
std::string render(const JobSight& sight);
// What `list` shows.
std::string render(const std::vector<JobSight>& jobs);

// "words: 2 of 3 tasks run; map:1 waits: no machine has room …"
std::string sentence(const JobSight& sight);

// For people who follow the job, what is new: "map:1 waits: …", "all 3 tasks run".
std::vector<std::string> news(const JobSight& before, const JobSight& now);

// 0 it succeeded, 1 it failed, 130 interrupted.
int exit_code(const JobSight& sight);

}  // namespace millrace
