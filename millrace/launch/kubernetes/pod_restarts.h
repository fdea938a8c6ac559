// A role's restart policy as Kubernetes can carry it out: a pod that fails is followed by another
// one of its index, so often, after some exit codes and not after others. And what it can't, for
// people. Pure; values.
//
//   attempts, budget   backoffLimitPerIndex: so many restarts of each task, in the job's whole life
//   which ends         podFailurePolicy: exit codes; 128 and its number for a signal
//   pauses             Kubernetes' own
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

struct PodRestarts {
  int restarts = 0;  // of one task, at most
  // Exit codes: after these alone, or after all but these.
  bool after_listed = false;
  std::vector<int> codes = {};
  bool after_success = false;  // too
  // After a pod was taken away: with its machine, for another one.
  bool after_disruption = true;
};

// Errors: INVALID_ARGUMENT for a policy that pods can't have.
Result<PodRestarts> pod_restarts(const RoleSpec& role);

// A Job's podFailurePolicy. Some role's restarts are not 0.
nlohmann::ordered_json pod_failure_policy(const PodRestarts& restarts);
// The words for `millrace join`, which has to know as well whether its pod is followed by another.
std::vector<std::string> restart_words(const PodRestarts& restarts);

// What the job asks for and Kubernetes does differently: a sentence each.
std::vector<std::string> restart_notes(const JobSpec& job);

bool may_restart(const JobSpec& job);

}  // namespace millrace
