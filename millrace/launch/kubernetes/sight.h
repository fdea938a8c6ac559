// What the objects of a cluster tell of a job: which tasks run, what the others wait for, how each
// ended and with that the job. The same rules as on this machine (supervision.h): the ends of the
// tasks, in their order, go through the same state machine. Pure, without memory: each look is
// judged by itself, so that whoever comes later sees the same.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job_sight.h"

namespace millrace {

// `objects`: the items of the job's Jobs and Pods, in any order. `events`: those that tell why Jobs
// can't make their pods; may be empty. `now`: seconds since the Unix epoch. Errors: NOT_FOUND if
// there is no Job among the objects.
Result<JobSight> sight_of(const std::string& name,
                          const std::vector<nlohmann::ordered_json>& objects,
                          const std::vector<nlohmann::ordered_json>& events, int64_t now);

// The same for each job that there are objects of, by name.
std::vector<JobSight> sights_of(const std::vector<nlohmann::ordered_json>& objects, int64_t now);

// Some task has no pod yet, which events may explain.
bool lacks_pods(const JobSight& sight);

}  // namespace millrace
