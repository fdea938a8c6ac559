// What who submits a job does for machines that share no folder: brings the job's files to HDFS,
// what its launcher writes into the job's folder here, and at the end removes what was brought. Of
// a job that has no file `staged` in its folder nothing is done. Single-threaded; blocks, within
// time limits.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/io/local_files.h"
#include "millrace/io/remote/http.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/shipping/packed_outputs.h"
#include "millrace/launch/yarn/folder_client.h"
#include "millrace/launch/yarn/hdfs_staging.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {

struct StagedLaunchesOptions {
  std::string directory = {};            // where the job's files are looked for
  std::string search = {};               // a PATH, for programs
  std::string program = {};              // `millrace` itself
  remote::Environment environment = {};  // tells who asks HDFS
  // By which name or number the cluster's machines reach this one, for jobs without HDFS.
  std::string host = {};
  // Where YARN has Kerberos: how the job's token of HDFS is asked for.
  std::optional<TokenTerms> tokens = {};
};

// What the first container needs to begin.
struct StagedLaunch {
  StagedJob job = {};
  std::vector<LocalResource> resources = {};
  // By which it and YARN come to what is in HDFS, where that knows Kerberos. A secret.
  std::optional<HadoopToken> token = {};
};

class StagedLaunches {
 public:
  StagedLaunches(StagedLaunchesOptions options, const Clock& clock, Random& random)
      : options_(std::move(options)), clock_(clock), random_(random) {}

  // Brings there all that goes along; or serves it, for a job without HDFS. When it fails, nothing
  // is left there. Errors: NOT_FOUND for a file that is none; those of make_program_bundle() and
  // HdfsStaging. YARN cancels the token when the application ends, and remove() where none has come
  // of it.
  Result<StagedLaunch> send(const KeptJob& job);

  // The launcher's journal and its words, and the logs that somebody has wanted, as far as they are
  // had; `at`: where its folder is served. A launcher that is over has left them in HDFS.
  enum class Launcher : uint8_t { pending, running, over };
  Status bring(const KeptJob& job, Launcher launcher, const std::string& at);

  // Of what bring() brings of a launcher that is over: what nobody has had, since it could not
  // leave it or nobody came for it; each name until had_elsewhere().
  std::vector<std::string> missing(const KeptJob& job) const;
  void had_elsewhere(const KeptJob& job, const std::vector<std::string>& names) const;
  // Who opens files below such a path: of this machine, or of HDFS. Errors: UNIMPLEMENTED.
  Result<Files*> files_at(const std::string& path);

  // From now on this log of some job's folder is brought, too. The job, if it is a staged one.
  std::optional<KeptJob> want(const std::string& log);

  // Says a wish to the launcher. Errors: as of append_wish().
  Status wish(const KeptJob& job, std::string_view line, const std::string& at);

  // What goes along with a job without HDFS is served here from send() on, by a process that ends
  // with this one: until its launcher has it.
  void stop_serving();
  void forget_sent(const KeptJob& job);
  // Of such a job: its launcher has ended, and nobody here has taken what it left.
  static bool is_lost(const std::string& folder);

  // What the tasks of a job have made, whose launcher has left it in HDFS: into the job's
  // `output_dir`. Says for people what came now. Errors: as of JobPlace::bring_outputs().
  Result<std::string> bring_outputs(const KeptJob& job);

  Status remove(const KeptJob& job);

  static bool is_staged(const std::string& folder);

  ~StagedLaunches() { stop_serving(); }
  StagedLaunches(const StagedLaunches&) = delete;
  StagedLaunches& operator=(const StagedLaunches&) = delete;

 private:
  Result<HdfsStaging*> staging();
  Result<StagedLaunch> send_to(const KeptJob& job, const std::string& folder);
  // Of a job without HDFS (staged_by_submitter.cc).
  Result<StagedLaunch> serve(const KeptJob& job);
  Status link_sent(const KeptJob& job, StagedLaunch& launch);
  Status take(const KeptJob& job, const StagedJob& staged, const std::string& at);
  Status take_all(const KeptJob& job, const FolderClient::Server& server);
  Result<std::string> taken_outputs(const KeptJob& job);
  Status put_outputs(const KeptJob& job, const std::vector<PackedOutputs>& packed,
                     const std::function<Status(const std::string& name)>& bring_pack);

  // What bring() brings, the journal first: what it says was written is there.
  std::vector<std::string> names_of(const KeptJob& job) const;
  Status bring_kept(const StagedJob& staged, const std::string& folder,
                    const std::vector<std::string>& names);
  // The job's, if this process got it. What is cancelled already is fine.
  void cancel_token(const std::string& folder);

  const StagedLaunchesOptions options_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<HdfsStaging> staging_;
  LocalFiles local_;
  std::map<std::string, HadoopToken> tokens_;  // by the job's folder in HDFS
  FolderClient client_;
  pid_t server_ = 0;                                     // 0: none
  std::map<std::string, std::set<std::string>> wanted_;  // by folder: names of logs
};

}  // namespace millrace
