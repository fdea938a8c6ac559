// YARN as a place for jobs (folder_place.h): application.h's application goes to the
// ResourceManager by HTTP, and `millrace run --on yarn-am` in its first container is the launcher,
// which writes into the job's folder. All machines see the folder, or the job has a staging: then
// it goes there and comes back by staged_launches.h. The ResourceManager tells of the launcher
// until it has begun, and when it has ended without a word. yarn_web.h is how it is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/launch/folder_place.h"
#include "millrace/launch/yarn/answers.h"
#include "millrace/launch/yarn/hadoop_conf.h"
#include "millrace/launch/yarn/staged_launches.h"
#include "millrace/launch/yarn/yarn_web.h"

namespace millrace {

struct YarnOptions {
  YarnAddresses addresses = {};
  std::string user = {};                           // who asks, where nobody has to prove it
  std::string directory = {};                      // where the job is submitted
  std::vector<EnvironmentEntry> environment = {};  // of its launcher and its tasks
  StagedLaunchesOptions staged = {};               // of jobs whose machines share no folder
  // Hears what a job that is submitted waits for, as long as this process has to stay for it.
  std::function<void(const std::string& words)> progress = {};
  // Of one call of curl.
  Clock::Duration time_limit = std::chrono::seconds(30);
};

class YarnHost final : public LauncherHost {
 public:
  YarnHost(YarnOptions options, const Clock& clock, Random& random)
      : options_(std::move(options)),
        clock_(clock),
        random_(random),
        web_(options_.addresses, options_.user, options_.time_limit, clock),
        staged_(options_.staged, clock, random) {}

  Status check(const JobSpec& job) override;
  Status start(KeptJob& job) override;
  Result<std::vector<LauncherSight>> see(const std::vector<KeptJob>& jobs) override;
  // Asks the launcher to end the tasks within the job's grace; then YARN does.
  Status end(const KeptJob& job) override;
  Status clear(const KeptJob& job) override { return staged_.remove(job); }
  Result<std::string> bring_outputs(const KeptJob& job) override;
  // Its launcher stays a while for who takes what it leaves.
  bool wants_company(const KeptJob& job) override { return is_by_submitter(job.job); }
  void want(const std::string& log) override;
  Status wish(const KeptJob& job, const ScaleWish& wish) override;
  Status can_scale() override { return {}; }
  // By the door that the task has (local_guest_door.h).
  Result<GuestCommand> guest_of(const KeptJob& job, const TaskSight& task,
                                const std::vector<std::string>& command,
                                Terminal terminal) override;

 private:
  // Errors: NOT_FOUND if YARN does not know it, and is not about to.
  Result<ApplicationState> look_at(const std::string& application);
  Status kill(const std::string& application);
  // SIGTERM to the launcher.
  Status ask_to_end(const ApplicationState& application);
  YarnLaunch launch_of(const KeptJob& job) const;
  std::vector<EnvironmentEntry> environment_of_staged(const StagedJob& job) const;
  Status write_racks(const KeptJob& job);
  // What the launcher of a staged job has written, into its folder here; `state`: as it was seen.
  Status bring(const KeptJob& job, ApplicationState state);
  // What of it nobody has had from a launcher that has ended, as far as YARN has it.
  void bring_kept_by_yarn(const KeptJob& job, const ApplicationState& state);
  // Of a job whose files are served from here: returns when its launcher has them. Errors: with
  // what became of it, and nothing is left; CANCELLED by a signal.
  Status see_off(const KeptJob& job);
  // Ends what may have come of a submission that was not answered.
  Status undo(const std::string& application);

  const YarnOptions options_;
  const Clock& clock_;
  Random& random_;
  YarnWeb web_;
  StagedLaunches staged_;
};

}  // namespace millrace
