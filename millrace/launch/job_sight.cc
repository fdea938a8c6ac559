#include "millrace/launch/job_sight.h"

#include <algorithm>
#include <array>
#include <map>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr size_t kMostWaits = 3;  // shown of many that wait for the same kind of thing

template <size_t N>
std::string table_of(const std::vector<std::array<std::string, N>>& rows) {
  std::array<size_t, N> widths{};
  for (const auto& row : rows)
    for (size_t i = 0; i < N; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < N; ++i) {
      text += row[i];
      if (i + 1 < N) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

size_t count(const JobSight& sight, TaskStage stage) {
  return static_cast<size_t>(std::ranges::count(sight.tasks, stage, &TaskSight::stage));
}

// Those that the job is to have.
size_t count_wanted(const JobSight& sight) {
  return sight.tasks.size() - count(sight, TaskStage::absent);
}

// Of one that was never there nothing is shown.
bool was_there(const TaskSight& task) {
  return task.stage != TaskStage::absent || !task.handle.empty();
}

std::string words_of(const TaskSight& task) {
  if (task.stage == TaskStage::running) {
    const std::string ports = to_text(task.ports);
    return ports.empty() ? "runs" : str_cat("runs; serves ", ports);
  }
  if (task.stage == TaskStage::ended || task.stage == TaskStage::absent) return task.text;
  return task.text.empty() ? "pending" : str_cat("pending: ", task.text);
}

// "map:1 and 3 more wait: no machine has room", for each reason that there is.
std::vector<std::string> waits_of(const JobSight& sight) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const TaskSight& task : sight.tasks)
    if (task.stage == TaskStage::pending && !task.text.empty())
      by_reason[task.text].push_back(task.name);
  std::vector<std::string> lines;
  for (const auto& [reason, names] : by_reason) {
    const size_t more = names.size() - 1;
    lines.push_back(more == 0 ? str_cat(names[0], " waits: ", reason)
                              : str_cat(names[0], " and ", more, " more wait: ", reason));
    if (lines.size() == kMostWaits) break;
  }
  return lines;
}

std::string_view word_of(const JobSight& sight) {
  if (sight.stage == JobStage::pending) return "pending";
  if (sight.stage == JobStage::running) return "running";
  if (sight.report.end == JobEnd::succeeded) return "succeeded";
  return sight.report.end == JobEnd::failed ? "failed" : "stopped";
}

std::string ended_sentence(const JobReport& report) {
  std::string time = duration_text(report.time);
  if (!report.begun_again.empty()) str_append(&time, " (", report.begun_again, ")");
  if (report.end == JobEnd::succeeded) return str_cat("succeeded in ", time);
  return str_cat(report.end == JobEnd::failed ? "failed" : "ended", " after ", time, ": ",
                 report.cause);
}

}  // namespace

std::string sentence(const JobSight& sight) {
  const size_t running = count(sight, TaskStage::running);
  std::string text = str_cat(sight.name, ": ");
  if (sight.stage == JobStage::pending || sight.stage == JobStage::running) {
    str_append(&text, running, " of ", count_wanted(sight), " tasks run");
    if (!sight.report.begun_again.empty()) str_append(&text, " (", sight.report.begun_again, ")");
    for (const std::string& wait : waits_of(sight)) str_append(&text, "; ", wait);
    return text;
  }
  str_append(&text, ended_sentence(sight.report));
  if (sight.stage == JobStage::ending)
    str_append(&text, "; ", running, running == 1 ? " task still runs" : " tasks still run");
  return text;
}

std::string render(const JobSight& sight) {
  std::vector<std::array<std::string, 4>> rows = {{"task", "where", "attempt", "state"}};
  for (const TaskSight& task : sight.tasks)
    if (was_there(task))
      rows.push_back({task.name, task.where.empty() ? "-" : task.where,
                      std::to_string(task.attempt), words_of(task)});
  return str_cat(table_of(rows), sentence(sight), "\n");
}

std::string render(const std::vector<JobSight>& jobs) {
  std::vector<std::array<std::string, 4>> rows = {{"job", "state", "age", "tasks"}};
  for (const JobSight& job : jobs)
    rows.push_back({job.name, std::string(word_of(job)), duration_text(job.age),
                    str_cat(count(job, TaskStage::running), " of ", count_wanted(job), " run")});
  return table_of(rows);
}

std::vector<std::string> news(const JobSight& before, const JobSight& now) {
  std::vector<std::string> lines;
  if (now.stage == JobStage::pending) {
    const std::vector<std::string> known = waits_of(before);
    for (const std::string& wait : waits_of(now))
      if (std::ranges::find(known, wait) == known.end()) lines.push_back(wait);
  }
  if (now.stage == JobStage::running && before.stage == JobStage::pending)
    lines.push_back(count_wanted(now) == 1 ? "the task runs"
                                           : str_cat("all ", count_wanted(now), " tasks run"));
  for (size_t i = 0; i < now.tasks.size(); ++i) {
    const TaskSight& task = now.tasks[i];
    const bool is_gone = task.stage == TaskStage::absent && was_there(task);
    if (is_gone && i < before.tasks.size() && before.tasks[i].stage != TaskStage::absent)
      lines.push_back(str_cat(task.name, " is gone: ", task.text));
    if (task.attempt > 1 && (i >= before.tasks.size() || before.tasks[i].attempt < task.attempt))
      lines.push_back(str_cat(task.name, " is started again: attempt ", task.attempt));
  }
  return lines;
}

int exit_code(const JobSight& sight) { return exit_code(sight.report); }

}  // namespace millrace
