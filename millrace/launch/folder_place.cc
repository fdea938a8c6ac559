#include "millrace/launch/folder_place.h"

#include <chrono>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

Status FolderPlace::submit(const JobSpec& job) {
  if (!is_submitted_name(job.name)) return invalid("the job needs a name: ", kSubmittedNameRule);
  MR_TRY(host_->check(job));
  // One of that name whose time is over makes room.
  (void)look(job.name);
  MR_ASSIGN(KeptJob kept, folders_.make(job, clock_.wall_micros()));
  const Status started = host_->start(kept);
  if (started.ok()) return {};
  return started.with(str_cat("submitting '", job.name, "'"))
      .then(remove_folder(kept.folder).ok()
                ? ""
                : str_cat("; its folder could not be removed: ", kept.folder));
}

KeptSight FolderPlace::read(const KeptJob& job) const {
  return {.journal = read_journal(job),
          .log_directory = logs_in(job.folder),
          .submitted_micros = job.submission.micros,
          .now_micros = clock_.wall_micros()};
}

Result<std::vector<FolderPlace::Seen>> FolderPlace::see(std::vector<KeptJob> jobs) {
  std::vector<Seen> seen;
  std::vector<KeptJob> open;
  std::vector<size_t> places;  // in `seen`, of those
  for (KeptJob& job : jobs) {
    seen.push_back({.job = std::move(job)});
    Seen& it = seen.back();
    it.sight = read(it.job);
    if (it.sight.journal.is_over()) continue;
    places.push_back(seen.size() - 1);
    open.push_back(it.job);
  }
  if (open.empty()) return seen;
  MR_ASSIGN(std::vector<LauncherSight> launchers, host_->see(open));
  for (size_t i = 0; i < places.size(); ++i) {
    Seen& it = seen[places[i]];
    // It may have written its end since.
    it.sight = read(it.job);
    it.sight.launcher = std::move(launchers[i]);
    if (it.sight.launcher.stage == LauncherSight::Stage::gone)
      it.sight.launcher_words = last_words(it.job);
  }
  return seen;
}

bool FolderPlace::is_over_kept_time(const Seen& seen) const {
  const std::optional<int64_t> ended = ended_at_micros(seen.sight);
  return ended &&
         clock_.wall_micros() > *ended + duration_cast<microseconds>(seen.job.job.keep).count();
}

Result<JobSight> FolderPlace::look(const std::string& name) {
  MR_ASSIGN(KeptJob job, folders_.find(name));
  std::vector<KeptJob> one;
  one.push_back(std::move(job));
  MR_ASSIGN(const std::vector<Seen> seen, see(std::move(one)));
  if (!is_over_kept_time(seen[0])) return sight_of(seen[0].job.job, seen[0].sight);
  MR_TRY(remove_folder(seen[0].job.folder));
  return not_found("there is no job '", name, "' any more: it was kept for its time");
}

Result<JobSpec> FolderPlace::job_of(const std::string& name) {
  MR_ASSIGN(KeptJob kept, folders_.find(name));
  return std::move(kept.job);
}

Result<std::vector<JobSight>> FolderPlace::list() {
  MR_ASSIGN(const std::vector<std::string> names, folders_.names());
  std::vector<KeptJob> jobs;
  std::vector<JobSight> sights;
  for (const std::string& name : names) {
    Result<KeptJob> job = folders_.find(name);
    // One that is just being made or removed, or was cut off then: stop says more.
    if (job.ok()) jobs.push_back(std::move(*job));
  }
  MR_ASSIGN(const std::vector<Seen> seen, see(std::move(jobs)));
  for (const Seen& it : seen) {
    if (is_over_kept_time(it)) {
      MR_TRY(remove_folder(it.job.folder));
    } else {
      sights.push_back(sight_of(it.job.job, it.sight));
    }
  }
  return sights;
}

Status FolderPlace::remove(const std::string& name) {
  Result<KeptJob> job = folders_.find(name);
  if (!job.ok()) return job.status();
  MR_TRY(host_->end(*job).with(str_cat("removing '", name, "'")));
  return remove_folder(job->folder);
}

AttemptOutput FolderPlace::output_of(const TaskSight& task, Follow) {
  return {.file = task.handle};
}

Result<GuestCommand> FolderPlace::guest_of(const std::string& name, const TaskSight& task,
                                           const std::vector<std::string>& command,
                                           Terminal terminal) {
  MR_ASSIGN(const KeptJob job, folders_.find(name));
  return host_->guest_of(job, task, command, terminal);
}

}  // namespace millrace
