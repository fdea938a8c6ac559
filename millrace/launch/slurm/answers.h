// What Slurm's commands answer, as what is known of a job's launcher. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/launch/journal_sight.h"

namespace millrace {

// What squeue is asked for of every job of a user, ended ones too; one line each:
//
//   12+0|PENDING|Priority||/home/a/.local/state/millrace/slurm/words
//   13|RUNNING|None|n1|(null)
//   14_1|RUNNING|None|n1|/home/a/…          of an array: its first element, and those that wait
//   14_[2-10%1]|PENDING|JobArrayTaskLimit||/home/a/…
//   14|CANCELLED|None||/home/a/…            of an array: those that will not begin any more
inline constexpr const char* kQueueFormat = "%i|%T|%r|%B|%k";

struct QueueRow {
  int64_t number = 0;
  int component = 0;  // of a heterogeneous job: which, from 0
  int element = 0;    // of an array: which, from 1, or the first of those that wait; 0: of none
  std::string state;
  std::string reason;
  std::string machine;  // where its launcher runs; empty: not yet
  std::string comment;
};

// Lines that are none are passed over.
std::vector<QueueRow> parse_queue(std::string_view text);
// What sacct says of a job in `--parsable2 --format=JobID,State`: "CANCELLED by 1000"; empty:
// nothing. Of an array, what it says of the last element.
std::string parse_accounting(std::string_view text);

// The rows of one job, or none if the manager no longer knows it; then `accounted` is what its
// accounts say, if it keeps any. `launcher_log` is asked for where Slurm says that the launcher has
// failed and no more, as it may of one whose machine it gave up a moment before.
LauncherSight launcher_sight(const std::vector<QueueRow>& rows, const std::string& accounted,
                             absl::FunctionRef<std::string()> launcher_log);

// Why Slurm has ended a job, from the last such line of what the job's script and Slurm have
// written: "Slurm's time limit"; empty: it has not.
std::string ended_by_slurm(std::string_view launcher_log);
// Why Slurm has ended a job that it begins again, from the last lines that the job's script and
// Slurm have written: "it was preempted". Where they do not say, that.
std::string requeue_reason(std::string_view launcher_log);

// It waits, for the first time or again.
bool is_pending(const QueueRow& row);
// The manager still has something to do with it.
bool is_active(const QueueRow& row);

// "50", "1:24", "2:03:04", "1-02:03:04", as squeue tells the time that is left; nothing for a job
// that has no limit.
std::optional<std::chrono::seconds> parse_time_left(std::string_view text);

}  // namespace millrace
