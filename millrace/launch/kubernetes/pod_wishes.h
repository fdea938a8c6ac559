// What a job asks of Kubernetes alone (place_wishes.h), as its pods and objects have it; and its
// group, where Volcano finds machines. Part of manifests.h; pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// {"metadata": {"labels": …}, "spec": …} of a role's pods, with what was wished for.
void add_wishes(const JobSpec& job, const RoleSpec& role, nlohmann::ordered_json& pod_template);

// Volcano finds machines for all of the job's pods together, and has its queue.
bool is_of_volcano(const JobSpec& job);
nlohmann::ordered_json pod_group_of(const JobSpec& job, const nlohmann::ordered_json& labels);

// INVALID_ARGUMENT for what can't go together.
Status check_pod_wishes(const JobSpec& job);

}  // namespace millrace
