// Jobs whose tasks this command starts on other machines.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// For people, when nothing is started: the commands of `millrace run --on ssh --hosts ...`.
// Errors: INVALID_ARGUMENT without machines, and those of ssh_reach() and describe_shipping().
Result<std::string> describe_by_ssh(const JobSpec& job, const std::vector<std::string>& hosts);

}  // namespace millrace
