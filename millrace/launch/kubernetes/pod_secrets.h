// The secrets of a job as its pods have them: values of Secrets that the cluster has already, or of
// one of the job's own, which comes and goes with it. Part of manifests.h; pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/secrets.h"

namespace millrace {

// What the job's own Secret is called.
std::string own_secret_of(const std::string& job);
// Whether it has one: some of its secrets are not of the cluster.
bool has_own_secret(const JobSpec& job);

// An entry of a container's `env`, which says where the value is and not what.
nlohmann::ordered_json secret_variable(const JobSpec& job, const RoleSecret& secret);

// The Secrets of the cluster that the job is to find there, each once.
std::vector<std::string> cluster_secrets_of(const JobSpec& job);
// FAILED_PRECONDITION that names what of these is not among the objects, and what to do.
Status check_cluster_secrets(const JobSpec& job,
                             const std::vector<nlohmann::ordered_json>& secrets);

// For people who see the objects without the values.
std::vector<std::string> secret_notes(const JobSpec& job);

}  // namespace millrace
