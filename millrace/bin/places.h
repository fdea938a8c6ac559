// The places where jobs run on when the command that submitted them has ended, as one list, and the
// flags that say which. A place that joins (launch/job_place.h) is one entry in places.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/launch/follow_job.h"
#include "millrace/launch/job.h"
#include "millrace/launch/job_place.h"

namespace CLI {
class App;
}

namespace millrace {

// As they stand on the command line.
struct PlaceFlags {
  std::string where;  // empty: not said
  std::string context;
  std::string name_space;
};

// After a job was submitted: leaves a process behind, if the job begins only when somebody looks at
// it now and then; that ends when the job's tasks run. Says so if the job waits.
void leave_company(const JobPlace& place, const std::string& name, const PlaceFlags& flags);

// --on and what goes with it; `flags` outlives the parsing.
void add_place_flags(CLI::App& verb, PlaceFlags& flags);
// The same without --on, for a verb that has one of its own.
void add_place_details(CLI::App& verb, PlaceFlags& flags);

// What submitting takes beside the job.
struct SubmitFlags {
  PlaceFlags place;
  std::string name;
  std::string image;
  std::string patience = "1m";
};
// Without --on.
void add_submit_flags(CLI::App& verb, SubmitFlags& flags);

// Where jobs are kept whose launcher is ours, unless $MILLRACE_JOBS says otherwise.
inline constexpr const char* kJobsVariable = "MILLRACE_JOBS";

// Of the environment; empty if it is not set.
std::string variable(const char* name);

// A name of this machine that others may know; "localhost" if it has none.
std::string host_name();

// Where files that travel with jobs are kept for a while on this machine (launch/shipping).
std::string scratch_base();
// The path of this very program. Errors: FAILED_PRECONDITION with what the system says.
Result<std::string> own_program();

bool is_place(std::string_view name);
// "k8s, slurm, yarn, local": for messages.
std::string place_names();

// Errors: INVALID_ARGUMENT for a place that there isn't, or none; FAILED_PRECONDITION if nothing
// says where it may keep jobs.
Result<std::unique_ptr<JobPlace>> place_of(const PlaceFlags& flags, Random& random,
                                           const Clock& clock);

// The task that is called so. Errors: NOT_FOUND, with those that there are; FAILED_PRECONDITION for
// one that does not run, with why.
Result<TaskSight> running_task(const JobSight& job, const std::string& name);

// The job with what the flags say of it; without a name it gets one.
JobSpec submitted_job(JobSpec job, const SubmitFlags& flags, Random& random);

// Of a job that was followed to its end: brings here what its tasks have made, where the place has
// not done so, and says where it is. The exit code is the job's, unless that could not be.
int code_with_outputs(std::string_view verb, JobPlace& place, const FollowedJob& followed);

// Submits the job, shows what its tasks write, and returns when it is over: with its exit code.
int run_there(const JobSpec& job, const PlaceFlags& place, const SubmitFlags& flags,
              const std::string& log_directory);

}  // namespace millrace
