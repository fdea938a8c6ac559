// What the task `files` of a cluster does: divides the input, keeps the book, publishes the output.
#pragma once

#include <string>

#include "millrace/mapreduce/job.h"
#include "millrace/session/server.h"

namespace millrace::mapreduce {

// `server` is of the owner's task; `cluster` is one that check_cluster() (roles.h) lets through.
// Returns when the job is done and the other tasks have heard of it, or have not for some seconds.
// Errors: why the job can't be done; nothing is published then.
Result<Made> own_on_cluster(const Job& job, Server& server, const ClusterSpec& cluster);

}  // namespace millrace::mapreduce
