// Part of `millrace run`: in the first container of an application of YARN, the application master
// and, below it, the job's launcher (docs/design/yarn.md).
#pragma once

#include <string>

#include "millrace/launch/job.h"

namespace millrace {

// As they stand on the command line.
struct InYarn {
  std::string folder = {};         // of the job
  std::string log_directory = {};  // where logs go as well; empty: nowhere
};

// The job's exit code, when all of it has ended and YARN has been told.
int run_in_yarn(const JobSpec& job, const InYarn& flags);

}  // namespace millrace
