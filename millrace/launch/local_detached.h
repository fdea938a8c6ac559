// This machine as a place for jobs (folder_place.h): the launcher runs in a session of its own, and
// goes on when whoever submitted the job, or its terminal, is gone. That it lives is seen by the
// lock on its journal.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/launch/folder_place.h"

namespace millrace {

class DetachedHost final : public LauncherHost {
 public:
  // `launch`: the command that runs a job; a job's folder and its file are its last words.
  DetachedHost(std::vector<std::string> launch, const Clock& clock)
      : launch_(std::move(launch)), clock_(clock) {}

  Status check(const JobSpec& job) override;
  // Returns when the launcher has begun. From a process with one thread: it forks.
  Status start(KeptJob& job) override;
  Result<std::vector<LauncherSight>> see(const std::vector<KeptJob>& jobs) override;
  // SIGTERM, again after the job's grace, then SIGKILL; waits for the end.
  Status end(const KeptJob& job) override;
  // It does.
  Status can_scale() override { return {}; }
  // With the environment and the directory of the task's process.
  Result<GuestCommand> guest_of(const KeptJob& job, const TaskSight& task,
                                const std::vector<std::string>& command,
                                Terminal terminal) override;

 private:
  Result<pid_t> fork_launcher(const KeptJob& job) const;

  const std::vector<std::string> launch_;
  const Clock& clock_;
};

}  // namespace millrace
