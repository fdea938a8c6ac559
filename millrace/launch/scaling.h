// Other numbers of tasks for a job that runs: what is wished for, whether it may be, and how it is
// handed to the job's launcher (docs/design/scaling.md). Pure.
//
// The launcher of a job that is kept in a folder (job_folder.h) makes the file `wishes` there and
// reads what is appended to it, a line of JSON each:
//
//   {"wish":"5f0c21","by":"process 4711 of anna","counts":{"map":4}}
//
// It answers in its journal: with a RoleScaled for each role, or WishRefused. For the tasks it
// keeps `roster`, the absent ones (cluster/roster.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/journal.h"

namespace millrace {

struct ScaleWish {
  std::string id = {};  // by which the answer is found
  std::string by = {};  // who asks, for people
  std::vector<RoleCount> counts = {};
};

// Longer lines are no wishes.
inline constexpr size_t kLongestWish = 16'384;

// With its line end.
std::string to_line(const ScaleWish& wish);
// Nothing for a line that is none.
std::optional<ScaleWish> parse_scale_wish(std::string_view line);

// "map=4". Errors: INVALID_ARGUMENT.
Result<RoleCount> parse_role_count(std::string_view text);

// Whether the job may have so many tasks. Errors: INVALID_ARGUMENT for a role that there isn't,
// with those that there are, that is named twice, or that can't be scaled so far, with what to
// write into the job file; and for no role at all.
Status check_scaling(const JobSpec& job, const std::vector<RoleCount>& counts);

// What the launcher has answered: nothing yet; OK; why not (FAILED_PRECONDITION).
std::optional<Status> answer_to(const std::string& wish, const Journal& journal);

}  // namespace millrace
