// Stands for a container of YARN where its launcher runs: a process that asks the application
// master (local_master.h) for the container, repeats what its program writes, and ends when that
// has ended, with its exit code. SIGTERM goes on to the program. When this process is killed, the
// container is.
//
// The program's lines go through files in the job's folder, which all machines see:
//
//   FILES.sh   what the container runs      FILES.out, FILES.err   what the program writes
//
// Blocks; called from a process with one thread.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

struct ErrandOptions {
  std::string master = {};  // the name of its socket
  std::string files = {};
  ContainerWish wish = {};
  std::vector<std::string> command = {};
  std::string image = {};   // of the container (container_image.h); empty: none
  std::string mounts = {};  // that it is to have besides what it needs for the files
  // Where the folder of the files is served, if the container does not see it: then `millrace
  // yarn-inside` (local_inside.h) is what runs there, and writes the files from there.
  std::string served_at = {};
};

// Returns the exit code, or kErrandFailed (container_end.h) with the reason on standard error.
// Errors: UNAVAILABLE if the master can't be reached, or the files not be written.
Result<int> run_errand(const ErrandOptions& options);

}  // namespace millrace
