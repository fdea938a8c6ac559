#include "millrace/launch/slurm/slurm_place.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "millrace/launch/local_command.h"
#include "millrace/launch/slurm/array_runs.h"
#include "millrace/launch/slurm/ask_slurm.h"
#include "millrace/launch/slurm/batch.h"
#include "millrace/launch/slurm/srun.h"

namespace millrace {
namespace {

using std::chrono::seconds;

// How long, after the job's grace, the launcher may take to end, and then Slurm.
constexpr seconds kAfterGrace{15};
constexpr seconds kToBeGone{120};

std::string script_in(const std::string& folder) { return folder + "/batch.sh"; }

// Those of the job: by its number, or, where that got lost, by the folder in its comment; of those,
// the last that was submitted.
std::vector<QueueRow> rows_of(const KeptJob& job, const std::vector<QueueRow>& rows) {
  int64_t number = 0;
  const std::string& known = job.submission.number;
  std::from_chars(known.data(), known.data() + known.size(), number);
  if (known.empty())
    for (const QueueRow& row : rows)
      if (row.comment == job.folder) number = std::max(number, row.number);
  std::vector<QueueRow> own;
  std::ranges::copy_if(rows, std::back_inserter(own),
                       [&](const QueueRow& row) { return number != 0 && row.number == number; });
  return own;
}

// Why the job is not over although its last launcher may be; "" if it is, or has none yet.
std::string begins_again(const KeptJob& job, const std::vector<QueueRow>& rows,
                         const LauncherSight& sight) {
  const bool requeues = sight.stage == LauncherSight::Stage::pending && job.job.slurm.requeue;
  if (job.job.slurm.runs <= 1 && !requeues) return "";
  const std::string log = last_text(launcher_log_in(job.folder));
  if (job.job.slurm.runs > 1) return word_of_next_run(job.job, rows, read_journal(job), log);
  return str_cat(requeue_reason(log), ", and is queued again");
}

Status write_script(const std::string& path, const std::string& script) {
  std::ofstream file(path, std::ios::binary);
  file << script;
  file.close();
  if (!file) return unavailable("can't write '", path, "'");
  return {};
}

}  // namespace

Status SlurmHost::check(const JobSpec& job) {
  MR_TRY(slurm_batch_script(job).status());
  return check_configuration();
}

// Without the file that they were told of, the commands look for it for a minute.
Status SlurmHost::check_configuration() const {
  std::error_code ignored;
  const std::string& path = options_.configuration;
  if (path.empty() || std::filesystem::exists(path, ignored)) return {};
  return failed_precondition("Slurm's configuration can't be read: SLURM_CONF is '", path,
                             "', and there is no such file");
}

Result<std::string> SlurmHost::ask(const std::vector<std::string>& words, Tries tries) {
  MR_TRY(check_configuration());
  return ask_slurm(words, tries, options_.time_limit, clock_);
}

Status SlurmHost::start(KeptJob& job) {
  MR_ASSIGN(const std::string script, slurm_batch_script(job.job, job.folder));
  MR_TRY(write_script(script_in(job.folder), script));
  // Once only: of a call that was not answered nobody knows what it has made.
  const Result<std::string> answer =
      ask({"sbatch", "--parsable", script_in(job.folder)}, Tries::one);
  if (!answer.ok()) {
    if (!may_pass(answer.status())) return answer.status();
    const Status undone = undo(job);
    if (undone.ok()) return answer.status();
    return answer.status().then(str_cat("; whether it was submitted all the same can't be said (",
                                        undone.message(), "): squeue --me shows it"));
  }
  // "12" or "12;cluster"
  job.submission.number = answer->substr(0, answer->find_first_of(";\n"));
  Status written = write_submission(job);
  if (written.ok()) return {};
  const Status undone = ask({"scancel", job.submission.number}, Tries::several).status();
  if (undone.ok()) return written;
  return written.then(str_cat("; it runs as job ", job.submission.number,
                              " and could not be ended (", undone.message(), "): scancel ",
                              job.submission.number, " ends it"));
}

Status SlurmHost::undo(const KeptJob& job) {
  MR_ASSIGN(const std::vector<QueueRow> rows, queue());
  const std::vector<QueueRow> own = rows_of(job, rows);
  if (std::ranges::none_of(own, is_active)) return {};
  // All components of it, or all elements.
  return ask({"scancel", std::to_string(own[0].number)}, Tries::several).status();
}

Result<std::vector<QueueRow>> SlurmHost::queue() {
  MR_ASSIGN(const std::string text,
            ask({"squeue", "--noheader", "--all", str_cat("--user=", options_.user), "--states=all",
                 str_cat("--format=", kQueueFormat)},
                Tries::several));
  return parse_queue(text);
}

// Many clusters keep no accounts.
std::string SlurmHost::accounted(const std::string& number) {
  if (number.empty()) return "";
  const Result<CommandOutput> answer =
      run_command({"sacct", "--noheader", "--parsable2", "--allocations",
                   str_cat("--jobs=", number), "--format=JobID,State"},
                  "", options_.time_limit, clock_);
  return answer.ok() && answer->code == 0 ? parse_accounting(answer->out) : "";
}

Result<std::vector<LauncherSight>> SlurmHost::see(const std::vector<KeptJob>& jobs) {
  MR_ASSIGN(const std::vector<QueueRow> rows, queue());
  std::vector<LauncherSight> sights;
  for (const KeptJob& job : jobs) {
    const std::vector<QueueRow> own = rows_of(job, rows);
    sights.push_back(launcher_sight(own,
                                    own.empty() ? accounted(job.submission.number) : std::string(),
                                    [&] { return last_text(launcher_log_in(job.folder)); }));
    sights.back().again = begins_again(job, own, sights.back());
  }
  return sights;
}

Result<std::string> SlurmHost::number_of_run(const std::string& array) {
  MR_ASSIGN(std::string text, ask({"squeue", "--noheader", str_cat("--jobs=", array),
                                   "--states=RUNNING", "--format=%A"},
                                  Tries::several));
  text = text.substr(0, text.find_first_of(" \n"));
  if (text.empty()) return failed_precondition("no run of job ", array, " is there just now");
  return text;
}

Result<GuestCommand> SlurmHost::guest_of(const KeptJob& job, const TaskSight& task,
                                         const std::vector<std::string>& command,
                                         Terminal terminal) {
  if (job.submission.number.empty())
    return failed_precondition("what Slurm calls job '", job.job.name,
                               "' is not known: squeue --me shows it");
  std::string number = job.submission.number;
  if (job.job.slurm.runs > 1) {
    MR_ASSIGN(number, number_of_run(number));
  }
  return GuestCommand{.words =
                          guest_step(job.job, number, read_journal(job), task, command, terminal)};
}

Status SlurmHost::end(const KeptJob& job) {
  const Clock::Time start = clock_.now();
  const Clock::Time by_slurm = start + time_to_end(job.job) + kAfterGrace;
  int sent = 0;
  for (;; pause(kBetweenLooks)) {
    MR_ASSIGN(const std::vector<QueueRow> rows, queue());
    const std::vector<QueueRow> own = rows_of(job, rows);
    if (std::ranges::none_of(own, is_active)) return {};
    const std::string number = std::to_string(own[0].number);
    const auto running = std::ranges::find_if(own, [](const QueueRow& row) {
      return is_active(row) && !is_pending(row) && !row.machine.empty();
    });
    const Clock::Time now = clock_.now();
    if (now >= by_slurm + kToBeGone)
      return error(Code::deadline_exceeded, "job ", number,
                   " is still there: squeue --job=", number, " shows what it waits for");
    const int due = running == own.end() || now >= by_slurm ? 2 : 1;
    if (sent >= due) continue;
    sent = due;
    std::vector<std::string> words = {"scancel", number};
    // The launcher knows what else is to be ended, and how; and no other run is to follow it.
    if (due == 1) {
      words = {"scancel", "--batch", "--signal=TERM", number};
      if (running->element > 0) {
        MR_TRY(call_off_other_runs(number, clock_));
        str_append(&words.back(), "_", running->element);
      }
    }
    Status done = ask(words, Tries::several).status();
    // It may have ended since.
    if (!done.ok() && done.code() != Code::not_found) return done;
  }
}

}  // namespace millrace
