// Which jobs of a cluster stand by for which, as whoever starts the tasks tells them
// (docs/design/standby.md):
//
//   MILLRACE_WITNESS=/job:chief/task:0   the task that says who owns the states that two tasks hold
//   MILLRACE_STANDBYS=spare=ps           spare:0 stands by for ps:0, spare:1 for ps:1
//
// Pure: session/runtime.h reads the variables, launch/job.h writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/device_name.h"

namespace millrace {

inline constexpr const char* kWitnessVariable = "MILLRACE_WITNESS";
inline constexpr const char* kStandbysVariable = "MILLRACE_STANDBYS";

// Each job that stands by, and the one for whose tasks of the same index its tasks do.
using StandbyJobs = std::map<std::string, std::string, std::less<>>;

// "spare=ps,reserve=files"
std::string to_text(const StandbyJobs& jobs);
// Errors: INVALID_ARGUMENT for what is no list of two names of jobs each, and for a job that is
// named twice before "=". Empty: none stands by.
Result<StandbyJobs> parse_standby_jobs(std::string_view text);

// "/job:chief/task:0". Errors: INVALID_ARGUMENT for what names no task, or a device.
Result<TaskName> parse_task(std::string_view text);

}  // namespace millrace
