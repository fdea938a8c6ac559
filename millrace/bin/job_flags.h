// The flags that say what a job is, for every verb that takes one: a job file, or roles and a
// command, or a file and what differs from it.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace CLI {
class App;
}

namespace millrace {

// As they stand on the command line.
struct JobFlags {
  std::string file;
  std::vector<std::string> jobs;
  std::vector<std::string> until;
  std::vector<std::string> restarts;
  std::vector<std::string> environment;
  bool once = false;
  std::string state, state_keeps, witness;
  std::string directory;
  std::string timeout;
  std::string grace;
};

// Declares them at the verb; `flags` outlives its parsing. The verb takes what follows "--" as the
// command, and its usage says so.
void add_job_flags(CLI::App& verb, JobFlags& flags);

// A file that describes a job, as it is. Errors: NOT_FOUND if it can't be read. What is longer than
// any may be is cut a byte behind that, so that whoever parses it refuses it.
Result<std::string> read_job_text(const std::string& path);

// The job of a file, of flags, or of a file with flags over it; `extras` is what the verb could not
// make sense of, and `command` stood after "--". Passes check(). Errors: INVALID_ARGUMENT;
// NOT_FOUND for a file that can't be read.
Result<JobSpec> job_of(const JobFlags& flags, const std::vector<std::string>& extras,
                       const std::vector<std::string>& command);

}  // namespace millrace
