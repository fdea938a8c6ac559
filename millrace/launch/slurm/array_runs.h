// A job that runs several times, one after the other, until it has succeeded (slurm.runs): its runs
// are the elements of an array of Slurm's, `--array=1-10%1`, and its lives (docs/design/places.md).
// Pure, but for the two that ask Slurm, and block.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/launch/job.h"
#include "millrace/launch/journal.h"
#include "millrace/launch/slurm/answers.h"

namespace millrace {

// Which run a launcher is in.
struct ArrayRun {
  std::string array = {};  // the number of the whole
  int number = 0;          // from 1; 0: the job runs once
};

// As Slurm tells it in the environment (SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID).
ArrayRun array_run_of(const JobSpec& job, std::string_view array, std::string_view element);

// How the run ended that this journal is of, without success: "time limit of 3.0 s", "map:1: exit
// code 3"; what Slurm has ended by its last words in the launcher's log.
std::string end_of_run(const JobSpec& job, const Journal& journal, std::string_view launcher_log);

// "run 1 of 10 has ended: time limit of 3.0 s; the next is queued", of what Slurm says of a job
// whose last journal this is; "" if no other run follows it.
std::string word_of_next_run(const JobSpec& job, const std::vector<QueueRow>& rows,
                             const Journal& journal, std::string_view launcher_log);

// Another run than this one of which something runs yet, of what Slurm says of the array; 0: none.
int run_that_still_ends(const ArrayRun& own, const std::vector<QueueRow>& rows);

// Until the run before has gone. Slurm begins the next one when it has decided to end that, and it
// may have its grace yet: two runs at once would write to the same files. Returns who is there
// still after `patience`, or what Slurm says when it does not answer; for people.
Status await_run_before(const ArrayRun& own, Clock::Duration patience, const Clock& clock);

// Those that wait, if there are any: after a success nobody needs them. Tries several times.
// Errors: what Slurm says.
Status call_off_other_runs(const std::string& array, const Clock& clock);

}  // namespace millrace
