// What a launcher saw of its job, and when: what it told its supervision.h, in a file that others
// read. Whoever feeds the same to a Supervision sees what the launcher saw, and the same sentences;
// also when the launcher has been killed since (journal_sight.h). One line of JSON per event:
//
//   {"millrace_journal":1,"at":81000000,"begun":1767225600000000,"seed":5,"late":true}
//   {"millrace_journal":1,…,"life":2,"why":"it was preempted","attempts":[1,1,2]}
//   {"millrace_journal":1,…,"run":2,"runs":10,"life":2,"why":"time limit of 3.0 s",…}
//   {"at":81001000,"started":0}
//   {"at":83000000,"came":0,"address":"10.0.0.8:40123","machine":"n1","guests":40124}
//   {"at":84000000,"left":3}
//   {"at":97000000,"scaled":2,"to":4,"by":"process 4711 of anna","wish":"5f0c"}
//   {"at":99000000,"ended":[{"task":0,"code":3,"last":"ValueError: bad record"}]}
//   {"at":99900000,"over":true}
//
// A job that its manager begins again as a whole has another journal for each life, of which the
// last one counts; its first line tells how many attempts its tasks had before.
//
// Times are nanoseconds of the launcher's clock. A pure format; local_journal.h writes it to a
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/launch/job.h"
#include "millrace/launch/supervision.h"

namespace millrace {

// With what a launcher began.
struct JournalStart {
  Clock::Time at = {};
  int64_t wall_micros = 0;
  uint64_t seed = 0;  // of the pauses before restarts
  bool late = false;  // tasks run elsewhere, and come (TaskCame) before they begin
  // The job's, or an earlier one of the manager's.
  std::optional<Clock::Duration> time_limit = {};
  std::optional<TimeWarning> warning = {};
  int life = 1;  // of the job, which its manager may begin again
  // Of a job that is to run several times (slurm.runs): which of how many; 0: of one that is not.
  int run = 0;
  int runs = 0;
  // In a later life: why it began, "it was preempted", and each task's attempts in those before.
  std::string why = {};
  std::vector<int> attempts = {};
};

// A task that runs elsewhere has told where it is; empty: it has gone away again, before all were
// there.
struct TaskCame {
  size_t task;
  std::string address;
  std::string machine = {};  // what its manager calls the one that it is on; empty: not known
  int guests = 0;            // of Arrival
};
// A task that runs elsewhere and was absent has said where it can be, and left; it comes again, to
// that address, when it is wanted.
struct TaskLeft {
  size_t task;
};
// A wish to scale the job (scaling.h) that is not fulfilled.
struct WishRefused {
  std::string wish;
  std::string why;
};
// Nothing of the job is left; the last line.
struct LaunchOver {};

struct JournalEntry {
  Clock::Time at = {};
  std::variant<SupervisionEvent, TaskCame, TaskLeft, WishRefused, LaunchOver> what = {};
};

struct Journal {
  std::optional<JournalStart> start = {};  // not set: the launcher has not begun
  std::vector<JournalEntry> entries = {};

  bool is_over() const {
    return !entries.empty() && std::holds_alternative<LaunchOver>(entries.back().what);
  }
};

// Each with its line end.
std::string to_line(const JournalStart& start);
std::string to_line(const JournalEntry& entry);

// `num_tasks`: that the job may have. Up to the first line that is not whole or makes no sense: it
// is being written, or the launcher was killed while it was.
Journal parse_journal(std::string_view text, size_t num_tasks);

// How many attempts each task has had, with those of earlier lives.
std::vector<int> attempts_in(const Journal& journal, size_t num_tasks);

// Of each task that the job may have, its name, role, whether it decides, and whether it is there
// from the start; in the order of the job.
std::vector<SupervisedTask> supervised_tasks(const JobSpec& job);
// As the launcher has it, and whoever reads its journal. `random` is seeded with the start's seed.
Supervision supervision_of(const JobSpec& job, const JournalStart& start, Random& random);

}  // namespace millrace
