// The folders of jobs that a launcher of ours runs on, and that are kept for people to look at: on
// this machine, or where several machines see the same files.
//
//   <root>/<place>/<job>/job.yaml       the job
//                       /submission     when it was submitted, and what its manager calls it
//                       /journal        what its launcher saw (journal.h)
//                       /journal.2      the same of its second life, if its manager began it again
//                       /wishes         other numbers of tasks that somebody wants (scaling.h)
//                       /roster         for the tasks: which of them are absent
//                       /logs/map_0.log what its tasks wrote
//                       /secrets        until the launcher has read it: the values of its secrets
//                       /launcher.log   what the launcher itself had to say
//
// Values and calls to the file system, each of which ends at once. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/journal.h"

namespace millrace {

std::string journal_in(const std::string& folder, int life = 1);
std::string logs_in(const std::string& folder);
std::string job_file_in(const std::string& folder);
std::string launcher_log_in(const std::string& folder);
std::string wishes_in(const std::string& folder);
std::string roster_in(const std::string& folder);

// Puts the text there as a whole, for whoever reads the file. Errors: UNAVAILABLE with what the
// system says.
Status write_whole_text(const std::string& path, const std::string& text);

// What is known of a job since it was submitted.
struct Submission {
  int64_t micros = 0;       // of the wall's clock; 0: not known
  std::string number = {};  // what the manager calls it; empty: not known
};

struct KeptJob {
  std::string folder = {};
  JobSpec job = {};
  Submission submission = {};
};

class JobFolders {
 public:
  // `path` need not be there.
  explicit JobFolders(std::string path) : path_(std::move(path)) {}

  // Makes the folder of a job that has a name. Errors: ALREADY_EXISTS; UNAVAILABLE with what the
  // system says.
  Result<KeptJob> make(const JobSpec& job, int64_t now_micros) const;
  // Errors: NOT_FOUND; DATA_LOSS for one that can't be read.
  Result<KeptJob> find(const std::string& name) const;
  // The names of the jobs that there are, in order.
  Result<std::vector<std::string>> names() const;

  std::string folder_of(const std::string& name) const;

 private:
  const std::string path_;
};

Status write_submission(const KeptJob& job);
// What is there of the job's last life; nothing before the launcher has begun.
Journal read_journal(const KeptJob& job);
// How long the journals of all its lives are; they only grow.
int64_t size_of_journals(const std::string& folder);
// The last line of launcher.log that says something; empty: none.
std::string last_words(const KeptJob& job);
// The end of a file, some thousand bytes at most; nothing if it can't be read.
std::string last_text(const std::string& path);
// The folder and all that is in it.
Status remove_folder(const std::string& folder);

}  // namespace millrace
