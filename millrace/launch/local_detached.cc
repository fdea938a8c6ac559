#include "millrace/launch/local_detached.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "millrace/launch/local_company.h"
#include "millrace/launch/local_guest.h"
#include "millrace/launch/local_journal.h"
#include "millrace/launch/secrets.h"
#include "millrace/launch/supervision.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr int kLookMilliseconds = 20;
// Of a launcher: ports to bind, a journal to begin.
constexpr Clock::Duration kToBegin = seconds(30);
constexpr int64_t kToBeginMicros = 30'000'000;
constexpr Clock::Duration kAfterKill = seconds(10);

// Its launcher may not have a journal yet, or not the lock on it.
bool is_beginning(const KeptJob& job, const Clock& clock) {
  std::error_code ignored;
  return std::filesystem::exists(job.folder, ignored) && !read_journal(job).start &&
         clock.wall_micros() < job.submission.micros + kToBeginMicros;
}

void rest() { poll(nullptr, 0, kLookMilliseconds); }

}  // namespace

Status DetachedHost::check(const JobSpec& job) {
  MR_TRY(millrace::check(job));
  return check_no_cluster_secrets(job, "here");
}

Result<pid_t> DetachedHost::fork_launcher(const KeptJob& job) const {
  std::vector<std::string> command = launch_;
  command.insert(command.end(), {job.folder, job_file_in(job.folder)});
  const std::string path = launcher_log_in(job.folder);
  const Descriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.is_open()) return unavailable("can't write '", path, "': ", strerror(errno));
  return start_detached(std::move(command), log.number());
}

Status DetachedHost::start(KeptJob& job) {
  MR_ASSIGN(const pid_t launcher, fork_launcher(job));
  const Clock::Time until = clock_.now() + kToBegin;
  while (!read_journal(job).start) {
    int status = 0;
    if (waitpid(launcher, &status, WNOHANG) == launcher) {
      // A launcher that was quick has begun, and ended, since.
      if (read_journal(job).start) return {};
      const std::string words = last_words(job);
      return failed_precondition(
          "its launcher could not begin",
          words.empty() ? str_cat(" (wait status ", status, ")") : str_cat(": ", words));
    }
    if (clock_.now() > until) {
      kill(launcher, SIGKILL);
      while (waitpid(launcher, &status, 0) < 0 && errno == EINTR) continue;
      return error(Code::deadline_exceeded, "its launcher has not begun in time");
    }
    rest();
  }
  return {};
}

Result<std::vector<LauncherSight>> DetachedHost::see(const std::vector<KeptJob>& jobs) {
  std::vector<LauncherSight> sights;
  for (const KeptJob& job : jobs) {
    const bool begins = is_beginning(job, clock_);
    const Result<pid_t> holder = journal_holder(journal_in(job.folder));
    if (!holder.ok() && holder.status().code() != Code::not_found) return holder.status();
    const bool is_held = holder.ok() && *holder != 0;
    if (is_held || begins) {
      sights.push_back({.stage = LauncherSight::Stage::running});
    } else if (holder.ok()) {
      sights.push_back({.stage = LauncherSight::Stage::gone, .why = "its launcher was killed"});
    } else {
      sights.push_back({.stage = LauncherSight::Stage::gone});
    }
  }
  return sights;
}

Status DetachedHost::end(const KeptJob& job) {
  const std::string path = journal_in(job.folder);
  const Clock::Time start = clock_.now();
  const Clock::Time again = start + time_to_end(job.job) + seconds(1);
  const Clock::Time at_last = again + kPatience;
  int sent = 0;
  for (;; rest()) {
    // Without its folder it would make one anew, and nobody would know of it.
    if (clock_.now() < start + kToBegin && is_beginning(job, clock_)) continue;
    const Result<pid_t> holder = journal_holder(path);
    if (!holder.ok() && holder.status().code() != Code::not_found) return holder.status();
    if (!holder.ok() || *holder == 0) return {};
    if (*holder < 0)
      return failed_precondition("its launcher runs where this command does not see it");
    const Clock::Time now = clock_.now();
    const int due = now >= at_last ? 3 : now >= again ? 2 : 1;
    if (now >= at_last + kAfterKill)
      return error(Code::deadline_exceeded, "its launcher, process ", *holder, ", does not end");
    if (sent >= due) continue;
    sent = due;
    if (kill(*holder, due == 3 ? SIGKILL : SIGTERM) != 0 && errno == EPERM)
      return error(Code::permission_denied, "process ", *holder, " is somebody else's");
  }
}

Result<GuestCommand> DetachedHost::guest_of(const KeptJob& job, const TaskSight& task,
                                            const std::vector<std::string>& command, Terminal) {
  MR_ASSIGN(const pid_t launcher, journal_holder(journal_in(job.folder)));
  if (launcher < 0)
    return failed_precondition("its launcher runs where this command does not see it");
  if (launcher == 0) return failed_precondition("its launcher is gone");
  return guest_beside(launcher, task.name, task.attempt, command);
}

}  // namespace millrace
