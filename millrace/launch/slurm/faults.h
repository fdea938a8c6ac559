// What Slurm's commands say when they fail, as a status for people. Pure.
#pragma once

#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

// `program`: "sbatch"; `said`: its standard error. Errors: UNAVAILABLE for what may pass,
// UNAUTHENTICATED, PERMISSION_DENIED, FAILED_PRECONDITION for no cluster, RESOURCE_EXHAUSTED for a
// limit, INVALID_ARGUMENT for what the cluster can't give, NOT_FOUND for a job, UNKNOWN.
Status slurm_fault(std::string_view program, std::string_view said);

}  // namespace millrace
