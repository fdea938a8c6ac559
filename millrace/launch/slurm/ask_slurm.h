// Slurm's commands, asked and heard to their end. Blocks.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/local_tries.h"

namespace millrace {

// What a command writes. Errors: FAILED_PRECONDITION if there is no such command here, those of
// slurm_fault(), and DEADLINE_EXCEEDED.
Result<std::string> ask_slurm(const std::vector<std::string>& words, Tries tries,
                              Clock::Duration time_limit, const Clock& clock);

}  // namespace millrace
