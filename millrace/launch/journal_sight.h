// A job that a launcher of ours runs somewhere else, as its journal and its manager tell of it: the
// events go through the state machine that the launcher has, so that who looks an hour later sees
// the same sentences. Pure.
#pragma once

#include <string>
#include <vector>

#include "millrace/launch/job.h"
#include "millrace/launch/job_sight.h"
#include "millrace/launch/journal.h"

namespace millrace {

// What the place says of a job's launcher.
struct LauncherSight {
  enum class Stage { pending, running, gone };
  Stage stage = Stage::running;
  // Pending: what for, of each role in the order of the job, or one for all.
  std::vector<std::string> waits = {};
  bool is_stuck = false;  // waiting does not help
  // Gone: what took it away, if anything did: "n1 failed". Of no interest if it ended by itself.
  std::string why = {};
  bool cancelled = false;  // somebody wanted the job to end
  // Pending once more, or about to be: "it was preempted, and is queued again"; what for is in
  // `waits`.
  std::string again = {};
};

// What was seen of one job at one moment.
struct KeptSight {
  Journal journal = {};
  // The manager may begin the job again as a whole, whatever the journal says of its end.
  bool may_begin_again = false;
  // It is to do so: the journal is of a life that is over, and the next has not begun to write.
  bool is_between_lives = false;
  LauncherSight launcher = {};
  std::string log_directory = {};   // handles of attempts are files in it
  std::string launcher_words = {};  // the last line that the launcher wrote
  int64_t submitted_micros = 0;     // 0: not known
  int64_t now_micros = 0;
};

// What the launcher saw, of a journal that has a start.
JobReport report_of(const JobSpec& job, const Journal& journal);

// The job is over, and has succeeded, as its launcher saw it.
bool has_succeeded(const JobSpec& job, const Journal& journal);

// "begun again 2 times, last: it was preempted"; empty in the first life. Of a job that is to run
// several times: "run 2 of 10; before it: map:1: exit code 3".
std::string begun_again_text(const JournalStart& start);

JobSight sight_of(const JobSpec& job, const KeptSight& seen);

// When the job ended, by the wall's clock; nothing while it has not, or where nothing tells.
std::optional<int64_t> ended_at_micros(const KeptSight& seen);

}  // namespace millrace
