// Roles: what the tasks of a cluster do in a MapReduce, by the names of their jobs. One task of
// `files` owns queues and the book, divides the input and publishes the output; tasks of `map` and
// `reduce`, or of `worker` (both), take work.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/mapreduce/piece.h"

namespace millrace::mapreduce {

inline constexpr std::string_view kOwnerJob = "files";

// The kinds of work that tasks of a job take, in that order; none for other jobs.
std::vector<PieceKind> kinds_taken(std::string_view job);
// Tasks that take work of a kind.
int num_takers(const ClusterSpec& cluster, PieceKind kind);
// "map:0" ... of all that take work.
std::set<std::string> workers_of(const ClusterSpec& cluster);

// Errors: INVALID_ARGUMENT for a cluster that can't make a job, or a task of job `own` that has
// nothing to do in it.
Status check_cluster(const ClusterSpec& cluster, std::string_view own);

}  // namespace millrace::mapreduce
