// A place where a launcher of ours supervises the job and keeps its journal and its logs in a
// folder (job_folder.h): this machine, Slurm, YARN. What the places differ in is how a launcher
// comes to run, what is said of it, and how it is ended; the rest is here.
//
// A job that has ended is kept for its `keep`, and goes when somebody asks for jobs after that.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/job_place.h"
#include "millrace/launch/journal_sight.h"
#include "millrace/launch/local_scaling.h"

namespace millrace {

// How launchers come to run in one place, and end there.
class LauncherHost {
 public:
  virtual ~LauncherHost() = default;

  // INVALID_ARGUMENT for a job that the place can't run.
  virtual Status check(const JobSpec& job) = 0;
  // Starts the job's launcher, and notes in the submission what it is called there. When it fails,
  // there is no launcher. Errors for people.
  virtual Status start(KeptJob& job) = 0;
  // What is said of the launchers, in the order of the jobs.
  virtual Result<std::vector<LauncherSight>> see(const std::vector<KeptJob>& jobs) = 0;
  // Ends the launcher, and with it all that it runs; OK when it is gone, or was.
  virtual Status end(const KeptJob& job) = 0;
  // Removes what there is of the job beside its folder; nothing runs of it any more.
  virtual Status clear(const KeptJob&) { return {}; }
  // As of JobPlace::bring_outputs(); the job's launcher has ended, or is about to.
  virtual Result<std::string> bring_outputs(const KeptJob&) { return std::string(); }
  // Whether somebody here is to look at the job until it has ended, as JobPlace::wants_looks() is.
  virtual bool wants_company(const KeptJob&) { return false; }
  // Somebody reads this log of a job's folder: where the launcher writes another one, what there is
  // of it is brought here, now and with each see().
  virtual void want(const std::string& /*log*/) {}
  // Says a wish to the job's launcher, which answers in its journal. Errors: as of append_wish().
  virtual Status wish(const KeptJob& job, const ScaleWish& wish) {
    return append_wish(job.folder, wish);
  }
  // The place may begin this job again as a whole, after its launcher has said in this journal,
  // which tells of no success, that it is over.
  virtual bool may_begin_again(const JobSpec&, const Journal&) { return false; }
  // OK if launchers there heed wishes (scaling.h). Errors: UNIMPLEMENTED, with why and what to do.
  virtual Status can_scale() = 0;
  // As of JobPlace::guest_of().
  virtual Result<GuestCommand> guest_of(const KeptJob& job, const TaskSight& task,
                                        const std::vector<std::string>& command,
                                        Terminal terminal) = 0;
};

class FolderPlace final : public JobPlace {
 public:
  FolderPlace(JobFolders folders, std::unique_ptr<LauncherHost> host, const Clock& clock)
      : folders_(std::move(folders)), host_(std::move(host)), clock_(clock) {}

  Status submit(const JobSpec& job) override;
  Result<JobSight> look(const std::string& name) override;
  // Its launcher has written.
  bool has_news(const std::string& name) override;
  bool wants_company(const std::string& name) const override;
  Result<JobSpec> job_of(const std::string& name) override;
  Result<std::vector<JobSight>> list() override;
  // What the job has made is brought before.
  Status remove(const std::string& name) override;
  Result<std::string> bring_outputs(const std::string& name) override;
  // The launcher does.
  Status end_rest(const std::string&) override { return {}; }
  Result<std::vector<ScaledRole>> scale(const std::string& name,
                                        const std::vector<RoleCount>& counts,
                                        const std::string& by) override;
  Result<AttemptOutput> output_of(const TaskSight& task, Follow follow) override;
  Result<GuestCommand> guest_of(const std::string& name, const TaskSight& task,
                                const std::vector<std::string>& command,
                                Terminal terminal) override;
  // At its machine; where that is not said, it is this one.
  Result<PortWay> way_to(const std::string& name, const TaskSight& task, int port,
                         int local) override;

 private:
  struct Seen {
    KeptJob job;
    KeptSight sight;
  };
  KeptSight read(const KeptJob& job) const;
  // Notes how long the job's journals are; true if they have grown since that was noted.
  bool note_size(const KeptJob& job);
  Result<std::vector<Seen>> see(std::vector<KeptJob> jobs);
  bool is_over_kept_time(const Seen& seen) const;
  // All that is left of a job that has ended.
  Status remove_rest(const KeptJob& job);
  // What the launcher answers to a wish.
  Status await_answer(const KeptJob& job, const std::string& wish);

  const JobFolders folders_;
  const std::unique_ptr<LauncherHost> host_;
  const Clock& clock_;
  std::map<std::string, int64_t> sizes_;  // of jobs' journals, at the last look
};

}  // namespace millrace
