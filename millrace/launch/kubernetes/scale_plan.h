// What is to be changed of a job's objects so that its roles have other numbers of tasks: patches,
// from what the cluster has of the job. Pure; kubernetes_place.h sends them.
//
// A role's sizes stand on its Job (role_sizes.h) and are changed first, under the condition that
// nobody else has: what follows is made of them. Then the roster, so that tasks learn who goes and
// whom to wait for; then, when those that go have gone, how many pods the Job is to have.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

using ClusterObjects = std::vector<nlohmann::ordered_json>;

// The roles as they are now, `count` being what they are to have, and the bounds. Errors:
// FAILED_PRECONDITION for a job whose size something else than we decides about.
Result<JobSpec> scaled_job(const std::string& name, const ClusterObjects& objects);

// Null if there is none.
const nlohmann::ordered_json* job_of_role(const ClusterObjects& objects, const std::string& role);
const nlohmann::ordered_json* cluster_map_in(const ClusterObjects& objects);

// JSON patches of a Job.
std::string sizes_patch(const nlohmann::ordered_json& job, int count, int64_t now);
// So many pods, if its sizes still are those.
std::string pods_patch(const nlohmann::ordered_json& job, int count);
// A merge patch of the ConfigMap, if it still is that one.
std::string roster_patch(const nlohmann::ordered_json& map, const JobSpec& job);

// Of Jobs and pods: some pod runs that is beyond its role's size. Until its end has been counted a
// Job would remove it, and what it wrote.
bool some_leave(const ClusterObjects& objects);

// The Job has as many pods as its sizes say, and counts none as completed that is beyond.
bool is_settled(const nlohmann::ordered_json& job);
bool has_finished(const nlohmann::ordered_json& job);

}  // namespace millrace
