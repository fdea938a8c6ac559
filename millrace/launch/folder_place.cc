#include "millrace/launch/folder_place.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/scaling.h"

namespace millrace {
namespace {

// A launcher answers at once, unless its machine has much else to do.
constexpr std::chrono::seconds kForAnswer{30};
constexpr std::chrono::milliseconds kBetweenReads{20};

}  // namespace

using std::chrono::duration_cast;
using std::chrono::microseconds;

Status FolderPlace::submit(const JobSpec& job) {
  if (!is_submitted_name(job.name)) return invalid("the job needs a name: ", kSubmittedNameRule);
  MR_TRY(host_->check(job));
  MR_ASSIGN(const SecretValues secrets, read_secrets(job));
  // One of that name whose time is over makes room.
  (void)look(job.name);
  const JobSpec kept_as = host_->can_scale().ok() ? job : of_fixed_size(job);
  MR_ASSIGN(KeptJob kept, folders_.make(kept_as, clock_.wall_micros()));
  Status started = write_secrets(kept.folder, secrets);
  // What starts the launcher may pass its whole environment on, and write it down.
  hide_sources(job);
  if (started.ok()) started = host_->start(kept);
  if (started.ok()) return {};
  return started.with(str_cat("submitting '", job.name, "'"))
      .then(remove_rest(kept).ok() ? ""
                                   : str_cat("; its folder could not be removed: ", kept.folder));
}

Status FolderPlace::remove_rest(const KeptJob& job) {
  MR_TRY(host_->clear(job));
  return remove_folder(job.folder);
}

KeptSight FolderPlace::read(const KeptJob& job) const {
  Journal journal = read_journal(job);
  const bool may_begin_again =
      host_->may_begin_again(job.job, journal) && !has_succeeded(job.job, journal);
  return {.journal = std::move(journal),
          .may_begin_again = may_begin_again,
          .log_directory = logs_in(job.folder),
          .submitted_micros = job.submission.micros,
          .now_micros = clock_.wall_micros()};
}

bool FolderPlace::note_size(const KeptJob& job) {
  const int64_t size = size_of_journals(job.folder);
  const auto [known, is_new] = sizes_.try_emplace(job.job.name, size);
  return !is_new && std::exchange(known->second, size) < size;
}

bool FolderPlace::has_news(const std::string& name) {
  const auto known = sizes_.find(name);
  return known != sizes_.end() && size_of_journals(folders_.folder_of(name)) > known->second;
}

Result<std::vector<FolderPlace::Seen>> FolderPlace::see(std::vector<KeptJob> jobs) {
  std::vector<Seen> seen;
  std::vector<KeptJob> open;
  std::vector<size_t> places;  // in `seen`, of those
  for (KeptJob& job : jobs) {
    seen.push_back({.job = std::move(job)});
    Seen& it = seen.back();
    const bool has_written = note_size(it.job);
    it.sight = read(it.job);
    if (it.sight.journal.is_over() && !it.sight.may_begin_again) continue;
    // Nobody need ask whether a launcher is there that writes.
    if (has_written && !it.sight.journal.is_over()) continue;
    places.push_back(seen.size() - 1);
    open.push_back(it.job);
  }
  if (open.empty()) return seen;
  MR_ASSIGN(std::vector<LauncherSight> launchers, host_->see(open));
  for (size_t i = 0; i < places.size(); ++i) {
    Seen& it = seen[places[i]];
    // It may have written its end since, or begun.
    const std::optional<JournalStart> before = it.sight.journal.start;
    note_size(it.job);
    it.sight = read(it.job);
    it.sight.launcher = std::move(launchers[i]);
    const std::optional<JournalStart>& now = it.sight.journal.start;
    const LauncherSight& launcher = it.sight.launcher;
    const bool has_ended =
        launcher.stage == LauncherSight::Stage::pending || it.sight.journal.is_over();
    // A job that is removed at this moment has none any more.
    it.sight.is_between_lives = it.sight.may_begin_again && before && now &&
                                before->life == now->life && has_ended && !launcher.again.empty();
    if (it.sight.launcher.stage != LauncherSight::Stage::gone) continue;
    it.sight.launcher_words = last_words(it.job);
    remove_secrets(it.job.folder);
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
  MR_TRY(remove_rest(seen[0].job));
  return not_found("there is no job '", name, "' any more: it was kept for its time");
}

bool FolderPlace::wants_company(const std::string& name) const {
  const Result<KeptJob> job = folders_.find(name);
  return job.ok() && host_->wants_company(*job);
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
      MR_TRY(remove_rest(it.job));
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
  const Status brought = host_->bring_outputs(*job).status();
  // What is lost can't be waited for.
  if (!brought.ok() && brought.code() != Code::data_loss)
    return brought.with(str_cat("removing '", name, "': what its tasks have made"));
  return remove_rest(*job);
}

Result<std::string> FolderPlace::bring_outputs(const std::string& name) {
  MR_ASSIGN(const KeptJob job, folders_.find(name));
  return host_->bring_outputs(job);
}

Status FolderPlace::await_answer(const KeptJob& job, const std::string& wish) {
  const Clock::Time until = clock_.now() + kForAnswer;
  Clock::Time next_look = clock_.now() + kBetweenLooks;
  for (;; pause(kBetweenReads)) {
    if (const auto answer = answer_to(wish, read_journal(job))) return *answer;
    const Clock::Time now = clock_.now();
    if (now >= until)
      return error(Code::deadline_exceeded, "its launcher has not answered in ", kForAnswer.count(),
                   " s; `millrace status ", job.job.name, "` shows whether it does so later");
    if (now < next_look) continue;
    next_look = now + kBetweenLooks;
    MR_ASSIGN(const JobSight sight, look(job.job.name));
    if (sight.stage == JobStage::ended) {
      // It may have answered before that.
      if (const auto answer = answer_to(wish, read_journal(job))) return *answer;
      return failed_precondition("the job has ended meanwhile: ", sentence(sight));
    }
  }
}

Result<std::vector<ScaledRole>> FolderPlace::scale(const std::string& name,
                                                   const std::vector<RoleCount>& counts,
                                                   const std::string& by) {
  MR_ASSIGN(const KeptJob job, folders_.find(name));
  MR_TRY(host_->can_scale());
  MR_TRY(check_scaling(job.job, counts));
  MR_ASSIGN(const JobSight sight, look(name));
  if (sight.stage == JobStage::ended || sight.stage == JobStage::ending)
    return failed_precondition("only a job that runs can be scaled; ", sentence(sight));
  if (!read_journal(job).start)
    return failed_precondition("its launcher has not begun yet; try again when it runs");
  std::vector<ScaledRole> roles;
  for (const auto& [role, count] : counts) {
    const auto is_there = [&, prefix = str_cat(role, ":")](const TaskSight& task) {
      return task.stage != TaskStage::absent && task.name.starts_with(prefix);
    };
    roles.push_back({.name = role,
                     .before = static_cast<int>(std::ranges::count_if(sight.tasks, is_there)),
                     .after = count});
  }
  const ScaleWish wish{
      .id = str_cat(getpid(), "-", clock_.wall_micros()), .by = by, .counts = counts};
  MR_TRY(host_->wish(job, wish));
  MR_TRY(await_answer(job, wish.id));
  return roles;
}

Result<AttemptOutput> FolderPlace::output_of(const TaskSight& task, Follow) {
  host_->want(task.handle);
  return AttemptOutput{.file = task.handle};
}

Result<GuestCommand> FolderPlace::guest_of(const std::string& name, const TaskSight& task,
                                           const std::vector<std::string>& command,
                                           Terminal terminal) {
  MR_ASSIGN(const KeptJob job, folders_.find(name));
  return host_->guest_of(job, task, command, terminal);
}

Result<PortWay> FolderPlace::way_to(const std::string& name, const TaskSight& task, int, int) {
  if (!task.where.empty()) return PortWay{.host = task.where};
  // Of a task of this machine nobody says where it is.
  MR_ASSIGN(const KeptJob job, folders_.find(name));
  return PortWay{.host = job.job.host};
}

}  // namespace millrace
