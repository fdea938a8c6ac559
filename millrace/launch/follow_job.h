// Stays with a job that runs in a place of its own (job_place.h): shows what its tasks write and
// what it waits for, and knows when it is over. The shell around looks at the job; one poll loop,
// no threads. Takes SIGINT, SIGTERM and SIGHUP for as long as it runs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/job_place.h"

namespace millrace {

struct FollowOptions {
  // How long: until all has been shown that is there now; until all tasks run, or the job has
  // ended; until it has ended.
  enum class How { once, until_it_runs, to_the_end };
  How how = How::to_the_end;

  enum class Output { hidden, shown };
  Output output = Output::shown;
  std::vector<std::string> tasks = {};  // whose output; empty: all
  std::string log_directory = {};       // where it goes as well: map_0.log; empty: nowhere

  // Who owns the job ends what is left of it when its end is decided, removes it when it can't come
  // to run, and when it is interrupted. Others only look on.
  enum class Part { onlooker, owner };
  Part part = Part::onlooker;

  // How long a job may be stuck: an image that is not there, a quota that is too small.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
  // How long to stay; not set: to the end.
  std::optional<std::chrono::milliseconds> time_limit = std::nullopt;
};

struct FollowedJob {
  enum class Why { over, interrupted, time_limit };
  Why why = Why::over;
  JobSight sight = {};
};

// Errors: what the place says, if it says so again and again; of a log directory that can't be
// written.
Result<FollowedJob> follow_job(JobPlace& place, const std::string& name,
                               const FollowOptions& options, const Clock& clock);

}  // namespace millrace
