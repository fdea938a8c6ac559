// What a task of a cluster does that maps or reduces: takes pieces until there are no more.
#pragma once

#include <string>

#include "millrace/mapreduce/job.h"
#include "millrace/session/server.h"

namespace millrace::mapreduce {

// `server` is of a task that takes work (roles.h). Returns when there is no more. Errors: what the
// task can't go on after, such as the owner's death; its pieces go to others.
Status work_on_cluster(const Job& job, Server& server, const std::string& spill);

}  // namespace millrace::mapreduce
