// A job in one process, without a cluster: the same pieces, taken by several threads from one book.
#pragma once

#include <string>

#include "millrace/base/host.h"
#include "millrace/mapreduce/beside_queue.h"
#include "millrace/mapreduce/job.h"

namespace millrace::mapreduce {

// Makes a job here, on `threads` threads of its own besides the caller's, which waits for them.
// `spill` is the folder for what does not fit into memory. Errors: why the job can't be done;
// nothing is published then, and nothing is left. `queue` is that of the job's output; null: files.
Result<Made> run_alone(const Job& job, const Host& host, int threads, const std::string& spill,
                       BesideQueue* queue = nullptr);

}  // namespace millrace::mapreduce
