// Slurm as a place for jobs (folder_place.h): batch.h's script goes to sbatch, and `millrace run
// --on srun` in it is the launcher, which writes into the job's folder. All machines see the
// folder. squeue tells of the launcher until it has begun, and when it has ended without a word;
// scancel ends it. The commands bring the logins; they have to be on the PATH. Every call of them
// has a time limit; what may pass is tried again a few times.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/launch/folder_place.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/slurm/answers.h"

namespace millrace {

struct SlurmOptions {
  // "1000": whose jobs are asked for.
  std::string user = {};
  // Where Slurm's configuration is said to be (SLURM_CONF); empty: not said.
  std::string configuration = {};
  // Of one call of a command.
  Clock::Duration time_limit = std::chrono::seconds(30);
};

class SlurmHost final : public LauncherHost {
 public:
  SlurmHost(SlurmOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  Status check(const JobSpec& job) override;
  Status start(KeptJob& job) override;
  Result<std::vector<LauncherSight>> see(const std::vector<KeptJob>& jobs) override;
  // Asks the launcher to end the tasks within the job's grace; then Slurm does.
  Status end(const KeptJob& job) override;
  // Unless that was its last run, which Slurm does not queue again.
  bool may_begin_again(const JobSpec& job, const Journal& journal) override {
    const bool runs_again =
        job.slurm.runs > 1 && (!journal.start || journal.start->run < job.slurm.runs);
    return job.slurm.requeue || runs_again;
  }
  // Within the allocation, which is large enough for all that the job may have.
  Status can_scale() override { return {}; }
  // A step of its own on the task's machine, in what the job has been given (--overlap); its
  // environment has TF_CONFIG, as far as the job's tasks have told where they are.
  Result<GuestCommand> guest_of(const KeptJob& job, const TaskSight& task,
                                const std::vector<std::string>& command,
                                Terminal terminal) override;

 private:
  Status check_configuration() const;
  Result<std::string> ask(const std::vector<std::string>& words, Tries tries);
  Result<std::vector<QueueRow>> queue();
  std::string accounted(const std::string& number);
  // Of the run that is there now, of a job that runs several times.
  Result<std::string> number_of_run(const std::string& array);
  // Ends what may have come of a submission that was not answered.
  Status undo(const KeptJob& job);

  const SlurmOptions options_;
  const Clock& clock_;
};

}  // namespace millrace
