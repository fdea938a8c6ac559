// How a job and each of its tasks ended, and the text that people read at the end. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/launch/exit_reason.h"

namespace millrace {

enum class JobEnd { succeeded, failed, interrupted };

struct EarlierAttempt {
  int number = 1;
  std::string text = {};  // "exit code 3"
  std::chrono::milliseconds time = {};
};

struct TaskSummary {
  std::string name = {};
  ExitReason reason = {};
  std::string text = {};  // what people read: reason.text, and for what was stopped, why
  std::optional<std::chrono::milliseconds> time = {};  // not set if it was never started
  std::optional<int64_t> peak_memory = {};             // bytes
  // What is said above is of this one; the last few before it.
  int attempt = 1;
  std::vector<EarlierAttempt> earlier = {};
  bool was_there = true;  // false: its role never had so many tasks
};

struct JobReport {
  JobEnd end = JobEnd::succeeded;
  // "", or why it did not succeed: "map:1: exit code 3", "interrupted by SIGINT (signal 2)".
  std::string cause = {};
  std::chrono::milliseconds time = {};
  std::vector<TaskSummary> tasks = {};
  int num_restarts = 0;
  std::vector<std::string> lost = {};  // tasks that failed, and were allowed to
  // Of a job that its manager has begun again: "begun again once: it was preempted", "run 2 of 10;
  // before it: exit code 3"; what is said above is of its last life.
  std::string begun_again = {};
};

// How the job went: "job succeeded in 12 s", "job failed after 3 min 20 s: map:1: exit code 3".
std::string sentence(const JobReport& report);

// The table (task, exit reason, time, peak memory; error lines below those who failed), and the
// job's sentence. Ends with a newline.
std::string render(const JobReport& report);

// The exit code of `millrace run`: 0 succeeded, 1 failed, 130 interrupted.
int exit_code(const JobReport& report);

// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace millrace
