#include "millrace/mapreduce/roles.h"

#include <array>
#include <utility>

namespace millrace::mapreduce {

std::vector<PieceKind> kinds_taken(std::string_view job) {
  if (job == "map") return {PieceKind::map};
  if (job == "reduce") return {PieceKind::reduce, PieceKind::publish};
  if (job == "worker") return {kPieceKinds.begin(), kPieceKinds.end()};
  return {};
}

int num_takers(const ClusterSpec& cluster, PieceKind kind) {
  int count = 0;
  for (const auto& [job, tasks] : cluster.jobs())
    for (const PieceKind taken : kinds_taken(job))
      if (taken == kind) count += static_cast<int>(tasks.size());
  return count;
}

std::set<std::string> workers_of(const ClusterSpec& cluster) {
  std::set<std::string> names;
  for (const auto& [job, tasks] : cluster.jobs()) {
    if (kinds_taken(job).empty()) continue;
    for (const auto& [index, _] : tasks) names.insert(str_cat(job, ":", index));
  }
  return names;
}

Status check_cluster(const ClusterSpec& cluster, std::string_view own) {
  if (own != kOwnerJob && kinds_taken(own).empty())
    return invalid("a task of job '", own, "' has nothing to do in a MapReduce: the jobs are '",
                   kOwnerJob, "' (one task), 'map' and 'reduce', or 'worker' for both");
  constexpr std::array kKinds = {std::pair{PieceKind::map, std::string_view("map")},
                                 std::pair{PieceKind::reduce, std::string_view("reduce")}};
  for (const auto& [kind, name] : kKinds) {
    if (num_takers(cluster, kind) != 0) continue;
    std::string jobs;
    for (const auto& [job, _] : cluster.jobs()) str_append(&jobs, jobs.empty() ? "" : ", ", job);
    return invalid("nobody would ", name, ": the cluster has the jobs ", jobs,
                   "; it needs tasks of '", name, "' or 'worker'");
  }
  if (cluster.num_tasks(kOwnerJob) != 1)
    return invalid("the cluster needs exactly one task of job '", kOwnerJob, "'");
  return {};
}

}  // namespace millrace::mapreduce
