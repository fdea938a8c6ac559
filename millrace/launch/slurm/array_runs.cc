#include "millrace/launch/slurm/array_runs.h"

#include <algorithm>
#include <charconv>

#include "millrace/base/str_cat.h"
#include "millrace/launch/journal_sight.h"
#include "millrace/launch/slurm/ask_slurm.h"

namespace millrace {
namespace {

constexpr std::chrono::seconds kForAnswer{30};

Result<std::string> ask(const std::vector<std::string>& words, const Clock& clock) {
  return ask_slurm(words, Tries::several, kForAnswer, clock);
}

}  // namespace

ArrayRun array_run_of(const JobSpec& job, std::string_view array, std::string_view element) {
  ArrayRun run{.array = std::string(array)};
  const char* end = element.data() + element.size();
  const auto [stop, fault] = std::from_chars(element.data(), end, run.number);
  const bool is_one = fault == std::errc() && stop == end && run.number >= 1;
  return job.slurm.runs > 1 && !array.empty() && is_one ? run : ArrayRun();
}

std::string end_of_run(const JobSpec& job, const Journal& journal, std::string_view launcher_log) {
  const std::string by_slurm = ended_by_slurm(launcher_log);
  if (!journal.start || !journal.is_over())
    return by_slurm.empty() ? "its launcher ended without a word" : by_slurm;
  const JobReport report = report_of(job, journal);
  // Who was interrupted knows of a signal only.
  return report.end == JobEnd::interrupted && !by_slurm.empty() ? by_slurm : report.cause;
}

std::string word_of_next_run(const JobSpec& job, const std::vector<QueueRow>& rows,
                             const Journal& journal, std::string_view launcher_log) {
  if (!journal.start) return "";
  const bool waits = std::ranges::any_of(rows, [](const QueueRow& row) { return is_pending(row); });
  const bool begins = std::ranges::any_of(rows, [&](const QueueRow& row) {
    return is_active(row) && !is_pending(row) && row.element > journal.start->run;
  });
  if (!waits && !begins) return "";
  return str_cat("run ", journal.start->run, " of ", job.slurm.runs,
                 " has ended: ", end_of_run(job, journal, launcher_log), "; the next is ",
                 begins ? "being started" : "queued");
}

int run_that_still_ends(const ArrayRun& own, const std::vector<QueueRow>& rows) {
  const auto other = std::ranges::find_if(rows, [&](const QueueRow& row) {
    return is_active(row) && !is_pending(row) && row.element > 0 && row.element != own.number;
  });
  return other == rows.end() ? 0 : other->element;
}

Status await_run_before(const ArrayRun& own, Clock::Duration patience, const Clock& clock) {
  const Clock::Time until = clock.now() + patience;
  for (;; pause(kBetweenLooks)) {
    MR_ASSIGN(const std::string text, ask({"squeue", "--noheader", str_cat("--jobs=", own.array),
                                           "--states=all", str_cat("--format=", kQueueFormat)},
                                          clock));
    const int other = run_that_still_ends(own, parse_queue(text));
    if (other == 0) return {};
    if (clock.now() >= until)
      return error(Code::deadline_exceeded, "run ", other,
                   " of it is still ending (squeue --jobs=", own.array, "_", other, ")");
  }
}

Status call_off_other_runs(const std::string& array, const Clock& clock) {
  const Status done = ask({"scancel", "--state=PENDING", array}, clock).status();
  // None waits.
  return done.code() == Code::not_found ? Status() : done;
}

}  // namespace millrace
