// What who submits a job does for machines that share no folder: brings the job's files to HDFS,
// what its launcher writes into the job's folder here, and at the end removes what was brought. Of
// a job that has no file `staged` in its folder nothing is done. Single-threaded; blocks, within
// time limits.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/io/remote/http.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/yarn/folder_client.h"
#include "millrace/launch/yarn/hdfs_staging.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {

struct StagedLaunchesOptions {
  std::string directory = {};            // where the job's files are looked for
  std::string search = {};               // a PATH, for programs
  std::string program = {};              // `millrace` itself
  remote::Environment environment = {};  // tells who asks HDFS
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

  // Brings there all that goes along. When it fails, nothing is left there. Errors: NOT_FOUND for
  // a file that is none; those of make_program_bundle() and HdfsStaging. YARN cancels the token
  // when the application ends, and remove() where none has come of it.
  Result<StagedLaunch> send(const KeptJob& job);

  // The launcher's journal and its words, and the logs that somebody has wanted, as far as they are
  // had; `at`: where its folder is served. A launcher that is over has left them in HDFS.
  enum class Launcher : uint8_t { pending, running, over };
  Status bring(const KeptJob& job, Launcher launcher, const std::string& at);

  // From now on this log of some job's folder is brought, too. The job, as far as bring() has to
  // know it, if it is a staged one.
  std::optional<KeptJob> want(const std::string& log);

  // Says a wish to the launcher. Errors: as of append_wish().
  Status wish(const KeptJob& job, std::string_view line, const std::string& at);

  // What the tasks of a job have made, whose launcher has left it in HDFS: into the job's
  // `output_dir`. Says for people what came now. Errors: as of JobPlace::bring_outputs().
  Result<std::string> bring_outputs(const KeptJob& job);

  Status remove(const KeptJob& job);

  static bool is_staged(const std::string& folder);

 private:
  Result<HdfsStaging*> staging();
  Result<StagedLaunch> send_to(const KeptJob& job, const std::string& folder);
  Status bring_kept(const StagedJob& staged, const std::string& folder,
                    const std::vector<std::string>& names);
  // The job's, if this process got it. What is cancelled already is fine.
  void cancel_token(const std::string& folder);

  const StagedLaunchesOptions options_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<HdfsStaging> staging_;
  std::map<std::string, HadoopToken> tokens_;  // by the job's folder in HDFS
  FolderClient client_;
  std::map<std::string, std::set<std::string>> wanted_;  // by folder: names of logs
};

}  // namespace millrace
